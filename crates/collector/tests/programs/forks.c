/* Children that no handler of `fork` is told of, and some that have their parent's memory: each sleeps, and nobody else
 * does. Those with memory of their own also open a library and take it out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern pid_t _Fork(void) __attribute__((weak));

static char stack[64 << 10] __attribute__((aligned(16)));

__attribute__((noinline)) static int sleeps_in_child(void *none) {
    struct timespec while_ = {0, 2000000};
    for (int i = 0; i < 5; i++)
        nanosleep(&while_, NULL);
    _exit(3);
}

static int closes_and_sleeps(void *library) {
    void *opened = dlopen(library, RTLD_NOW);
    if (opened && dlclose(opened) != 0)
        _exit(4);
    return sleeps_in_child(NULL);
}

static char library[] = "libanl.so.1";

static int wait_for(pid_t child) {
    int status = 0;
    if (child == 0)
        closes_and_sleeps(library);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv) {
    int rank, ends[5] = {0};
    char line[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        pid_t child;
        ends[0] = wait_for(_Fork ? _Fork() : fork());
        ends[1] = wait_for(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        ends[2] = wait_for(clone(closes_and_sleeps, stack + sizeof stack, SIGCHLD, library));
        ends[3] = wait_for(clone(sleeps_in_child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
        child = vfork();
        if (child == 0)
            sleeps_in_child(NULL);
        ends[4] = wait_for(child);
        snprintf(line, sizeof line, "%d %d %d %d %d\n", ends[0], ends[1], ends[2], ends[3], ends[4]);
        fputs(line, stdout);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
