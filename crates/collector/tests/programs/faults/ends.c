/* Ends in the way that the argument says, in the middle of its steps. */
#define _GNU_SOURCE
#include "work.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *mode;

static void at_exit(void) {
    fputs("at exit\n", stdout);
}

static void *end(void *nothing) {
    compute(20000000);
    if (strstr(mode, "_exit"))
        _exit(11);
    if (strstr(mode, "quick"))
        quick_exit(12);
    if (strstr(mode, "exit"))
        exit(13);
    if (strstr(mode, "abort"))
        abort();
    if (strstr(mode, "Abort"))
        MPI_Abort(MPI_COMM_WORLD, 14);
    if (strstr(mode, "kill"))
        kill(getpid(), SIGKILL);
    if (strstr(mode, "term"))
        kill(getpid(), SIGTERM);
    if (strstr(mode, "trap"))
        raise(SIGTRAP);
    if (strstr(mode, "segv"))
        *(volatile int *)8 = 1;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int given;
    mode = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    atexit(at_exit);
    steps(30, "before");
    if (!strncmp(mode, "thread", 6)) {
        pthread_create(&thread, NULL, end, NULL);
        if (strstr(mode, "gone"))
            pthread_exit(NULL);
        for (;;)
            compute(100000);
    }
    end(NULL);
    if (!strcmp(mode, "return"))
        return 3;
    MPI_Finalize();
    return 0;
}
