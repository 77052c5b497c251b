/* Eight threads of one rank that compute, and now and then take one of a few locks for a moment; takes the
 * number of steps of each thread. With a second argument, one thread takes a lock that nobody else wants, so many times;
 * what that takes is printed, in nanoseconds a lock. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 8
#define LOCKS 4

static pthread_mutex_t locks[LOCKS];
static double sums[LOCKS];
static int steps = 100000;

static void *work(void *argument) {
    long me = (long)argument;
    double x = 1 + me;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 8000; i++)
            x = 0.5 * x + i % 7;
        int which = (step + me) % LOCKS;
        pthread_mutex_lock(&locks[which]);
        sums[which] += x;
        pthread_mutex_unlock(&locks[which]);
    }
    return NULL;
}

/* Locks alone, in a thread of its own: a program with one thread may lock for nothing. */
static void *uncontended(void *each) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int step = 0; step < steps; step++) {
        pthread_mutex_lock(&locks[0]);
        sums[0] += step;
        pthread_mutex_unlock(&locks[0]);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    *(double *)each = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / steps;
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (argc > 1)
        steps = atoi(argv[1]);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    if (argc > 2) {
        double each;
        pthread_create(&threads[0], NULL, uncontended, &each);
        pthread_join(threads[0], NULL);
        printf("%.9f\n", each);
        MPI_Finalize();
        return 0;
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%g\n", sums[0] + sums[1] + sums[2] + sums[3]);
    MPI_Finalize();
    return 0;
}
