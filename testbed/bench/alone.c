/* A program without MPI that prints what its loop took. What it does is its first argument, how often the second, and how
 * much it computes each time the third:
 *   compute  one thread computes: seconds
 *   locks    eight threads compute, and take one of four locks for a moment each time: seconds
 *   threads  threads that compute are made and joined in turn: nanoseconds each
 *   regions  one thread begins and ends a region each time: nanoseconds each */
#include "headwater.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, LOCKS = 4 };

static pthread_mutex_t locks[LOCKS];
static double sums[LOCKS];
static volatile double used;
static long times, points;

static double compute(double x) {
    for (long i = 0; i < points; i++)
        x = 0.5 * x + i % 7;
    return x;
}

static void *with_locks(void *argument) {
    long me = (long)argument;
    double x = me;
    for (long step = 0; step < times; step++) {
        x = compute(x);
        long which = (step + me) % LOCKS;
        pthread_mutex_lock(&locks[which]);
        sums[which] += x;
        pthread_mutex_unlock(&locks[which]);
    }
    return NULL;
}

static void *once(void *sum) {
    *(double *)sum = compute(*(double *)sum);
    return NULL;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 1;
    const char *what = argv[1];
    pthread_t threads[THREADS];
    double sum = 0, unit = 1;
    times = atol(argv[2]);
    points = atol(argv[3]);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    double begin = seconds();
    if (!strcmp(what, "locks")) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, with_locks, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    } else if (!strcmp(what, "threads")) {
        for (long i = 0; i < times; i++) {
            pthread_create(&threads[0], NULL, once, &sum);
            pthread_join(threads[0], NULL);
        }
        unit = 1e9 / times;
    } else if (!strcmp(what, "regions")) {
        for (long i = 0; i < times; i++) {
            HEADWATER_BEGIN("region");
            sum = compute(sum);
            HEADWATER_END("region");
        }
        unit = 1e9 / times;
    } else {
        for (long i = 0; i < times; i++)
            sum = compute(sum);
    }
    double took = seconds() - begin;
    /* A compiler leaves out what nobody uses. */
    used = sum + sums[0] + sums[1] + sums[2] + sums[3];
    printf("%.9f\n", took * unit);
    return 0;
}
