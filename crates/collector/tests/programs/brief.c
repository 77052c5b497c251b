/* Threads that live for a few milliseconds, made and joined in each of many steps by one call. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, STEPS = 120 };
static double sums[THREADS];

__attribute__((noinline)) static double spin(int n) {
    volatile double x = 0;
    for (int i = 0; i < n; i++)
        x += i;
    return x;
}
static void *body(void *argument) {
    *(double *)argument += spin(600000);
    return NULL;
}
int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    for (int step = 0; step < STEPS; step++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, body, &sums[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        if (step % 30 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("%g\n", sums[0] + sums[1]);
    MPI_Finalize();
    return 0;
}
