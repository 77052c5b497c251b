/* Threads that allocate from one arena at the same time: glibc's lock of it is nobody's to see. */
#define _GNU_SOURCE
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

static void *allocates(void *argument) {
    for (int i = 0; i < 8000000; i++)
{ void *volatile at = malloc(2000 + i % 7 * 100); free(at); }
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int level;
    mallopt(M_ARENA_MAX, 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    /* On all cores: where the launcher has bound the rank to one, threads hardly meet at the lock. */
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocates, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fputs("all was given back\n", stdout);
    MPI_Finalize();
    return 0;
}
