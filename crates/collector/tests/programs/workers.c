/* Threads that call no MPI: one from before MPI_Init, the others made in two rounds by one call. With an argument the
 * process is killed while they work. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4 };
static volatile int go;
static double sums[THREADS + 1];

__attribute__((noinline)) static double spin_long(int n) {
    volatile double x = 0;
    for (int i = 0; i < n; i++)
        x += i;
    return x;
}
static void *early(void *argument) {
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        ;
    sums[THREADS] = spin_long(60000000);
    return argument;
}
static void *body(void *argument) {
    int me = *(int *)argument;
    sums[me] += spin_long(20000000 * (me + 1));
    return NULL;
}
static void make(pthread_t *threads, int *numbers) {
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, body, &numbers[i]);
    }
}
int main(int argc, char **argv) {
    pthread_t threads[THREADS], first;
    int numbers[THREADS], level;
    pthread_create(&first, NULL, early, NULL);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    for (int round = 0; round < 2; round++) {
        make(threads, numbers);
        if (argc > 1) {
            pthread_join(threads[0], NULL);
            usleep(100000);
            kill(getpid(), SIGKILL);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    pthread_join(first, NULL);
    double sum = 0;
    for (int i = 0; i <= THREADS; i++)
        sum += sums[i];
    printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
