/* Threads in turn while a child process traces each system call and each signal of them, as a debugger does. Where it
 * may not, they run without. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 120 };

static void trace(pid_t traced, int ready) {
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
    int seized = ptrace(PTRACE_SEIZE, traced, 0, options) == 0 && ptrace(PTRACE_INTERRUPT, traced, 0, 0) == 0;
    if (write(ready, "", 1) != 1 || !seized)
        return;
    int status;
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status))
            continue;
        int signal = WSTOPSIG(status);
        int ours = signal == (SIGTRAP | 0x80) || status >> 16;
        ptrace(PTRACE_SYSCALL, tid, 0, (long)(ours ? 0 : signal));
    }
}

static void *body(void *argument) {
    volatile double x = 0;
    for (int i = 0; i < 100000; i++)
        x += i;
    *(double *)argument += x;
    return NULL;
}

int main(void) {
    int wait[2], ready[2];
    char byte;
    if (pipe(wait) || pipe(ready))
        return 1;
    pid_t own = getpid(), child = fork();
    if (child == 0) {
        if (read(wait[0], &byte, 1) == 1)
            trace(own, ready[1]);
        _exit(0);
    }
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
    if (write(wait[1], "", 1) != 1 || read(ready[0], &byte, 1) != 1)
        return 1;
    double sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, body, &sum);
        pthread_join(thread, NULL);
    }
    printf("%g\n", sum);
    return 0;
}
