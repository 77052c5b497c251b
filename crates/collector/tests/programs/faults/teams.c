/* What may befall a program in the middle of a parallel region. */
#define _GNU_SOURCE
#include "work.h"
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int total;

static void both(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp atomic
        total++;
    }
}

static void *thread(void *unused) {
    both();
    return unused;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    static jmp_buf back;
    MPI_Init(&argc, &argv);
    steps(10, "before");
    both();
    if (!strcmp(what, "fork")) {
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            if (fork() == 0)
                _exit(7);
#pragma omp barrier
        }
        int status;
        wait(&status);
        total += WEXITSTATUS(status);
    } else if (!strcmp(what, "fork-region")) {
        /* Of a child with a team of its own only this is certain: that it may begin one. */
        if (fork() == 0) {
#pragma omp parallel num_threads(1)
            total++;
            _exit(total);
        }
        int status;
        wait(&status);
        total += WEXITSTATUS(status);
    } else if (!strcmp(what, "threads")) {
        /* Each has a team of its own, whose threads end with it. */
        for (int i = 0; i < 10; i++) {
            pthread_t one, other;
            pthread_create(&one, NULL, thread, NULL);
            pthread_create(&other, NULL, thread, NULL);
            pthread_join(one, NULL);
            pthread_join(other, NULL);
        }
    } else if (!strcmp(what, "jump")) {
        /* Out of a region of one thread, many times. */
        volatile int times = 0;
        setjmp(back);
        if (times++ < 50) {
#pragma omp parallel num_threads(1)
            longjmp(back, 1);
        }
        both();
    } else if (!strcmp(what, "exit")) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1)
            _exit(3);
        else
            pause();
    } else if (!strcmp(what, "kill")) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1)
            kill(getpid(), SIGKILL);
        else
            pause();
    }
    printf("%d\n", total);
    steps(10, "after");
    MPI_Finalize();
    return 0;
}
