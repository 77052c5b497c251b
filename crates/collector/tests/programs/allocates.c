/* Threads that allocate from one arena at the same time: glibc's lock of it is nobody's to see. */
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocates, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fputs("all was given back\n", stdout);
    MPI_Finalize();
    return 0;
}
