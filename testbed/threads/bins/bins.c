/* Workers add to a shared vector, each addition under the one lock (after the pthreads example of PerFlow's artifact). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADDITIONS = 24000, CELLS = 128, WORK = 2400, MOST = 64 };

struct part {
    int first, last;
    double dose;
};

static double cells[CELLS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static double value(int i, int terms) {
    double x = 1 + i % 11;
    for (int k = 1; k <= terms; k++)
        x += x / (k * (double)k);
    return x;
}

__attribute__((noinline)) static void add(int i, double x, int terms) {
    pthread_mutex_lock(&lock);
    for (int k = 1; k <= terms; k++)
        x += x / (k * (double)k);
    cells[i % CELLS] += x;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    const struct part *part = arg;
    for (int i = part->first; i < part->last; i++)
        add(i, value(i, (int)(WORK * (1 - part->dose))), (int)(WORK * part->dose));
    return NULL;
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 0.7;
    const int workers = argc > 2 ? atoi(argv[2]) : 2;
    pthread_t threads[MOST];
    struct part parts[MOST];
    for (int w = 0; w < workers && w < MOST; w++) {
        parts[w] = (struct part){w * ADDITIONS / workers, (w + 1) * ADDITIONS / workers, dose};
        pthread_create(&threads[w], NULL, work, &parts[w]);
    }
    for (int w = 0; w < workers && w < MOST; w++)
        pthread_join(threads[w], NULL);
    printf("cells %g\n", cells[5]);
    return 0;
}
