/* Regions in teams of OpenMP, in threads of the program's own, in a child process, and past the end of the recording. */
#include "headwater.h"
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 100

static volatile double x;

__attribute__((noinline)) static void work(int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += i * 0.5;
    x = sum;
}

static void *made(void *none) {
    for (int i = 0; i < TIMES; i++) {
        HEADWATER_REGION("made");
        work(1000);
    }
    return none;
}

static int in_child(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        /* What the parent began ends here, too, and not for the parent. */
        HEADWATER_END("around");
        for (int i = 0; i < TIMES; i++) {
            HEADWATER_REGION("child");
            work(1000);
        }
        _exit(7);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    int rank, provided;
    char line[32];
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    HEADWATER_BEGIN("team");
#pragma omp parallel num_threads(2)
    for (int i = 0; i < TIMES; i++) {
        HEADWATER_REGION("member");
        work(1000);
    }
    HEADWATER_END("team");
    HEADWATER_BEGIN("maker");
    pthread_create(&thread, NULL, made, NULL);
    pthread_join(thread, NULL);
    HEADWATER_END("maker");
    HEADWATER_BEGIN("around");
    int code = in_child();
    MPI_Barrier(MPI_COMM_WORLD);
    HEADWATER_END("around");
    HEADWATER_BEGIN("past the end");
    MPI_Finalize();
    HEADWATER_END("past the end");
    HEADWATER_BEGIN("afterwards");
    HEADWATER_END("afterwards");
    if (rank == 1) {
        int length = snprintf(line, sizeof line, "done %d\n", code);
        write(1, line, length);
    }
    return 0;
}
