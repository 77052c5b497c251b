/* The first thread and those that it makes relax strips of a field, and meet at a barrier after each sweep. The first strip
 * is wider than the others. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SWEEPS = 40, ROWS = 960, LENGTH = 2500, MOST = 64 };

struct strip {
    int first, last;
    double sum;
};

static pthread_barrier_t swept;

__attribute__((noinline)) static double read_field(void) {
    double x = 0;
    for (int i = 1; i <= 1000000; i++)
        x += 1.0 / (i + x);
    return x;
}

static void *relax(void *arg) {
    struct strip *strip = arg;
    double x = strip->sum;
    for (int s = 0; s < SWEEPS; s++) {
        for (int row = strip->first; row < strip->last; row++)
            for (int i = 1; i <= LENGTH; i++)
                x += 1.0 / (row + i + x);
        pthread_barrier_wait(&swept);
    }
    strip->sum = x;
    return NULL;
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 0.6;
    const int threads = argc > 2 ? atoi(argv[2]) : 2;
    pthread_t others[MOST];
    struct strip strips[MOST];
    /* One thread has all rows anyway. */
    const int more = threads > 1 ? (int)(dose * ROWS / threads) : 0;
    const double start = read_field();
    pthread_barrier_init(&swept, NULL, threads);
    for (int t = 0, row = 0; t < threads && t < MOST; t++) {
        const int rest = threads > 1 ? (ROWS - ROWS / threads - more) / (threads - 1) : 0;
        const int rows = t == 0 ? ROWS / threads + more : rest;
        strips[t] = (struct strip){row, row + rows, start};
        row += rows;
    }
    for (int t = 1; t < threads && t < MOST; t++)
        pthread_create(&others[t], NULL, relax, &strips[t]);
    relax(&strips[0]);
    for (int t = 1; t < threads && t < MOST; t++)
        pthread_join(others[t], NULL);
    printf("sum %g\n", strips[0].sum);
    return 0;
}
