/* Threads meet at a barrier after each step. The first of them also keeps the books of all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 60, PIECES = 960, WORK = 2000, MOST = 64 };

struct part {
    int number, of;
    double dose, sum;
};

static pthread_barrier_t barrier;

__attribute__((noinline)) static double piece(int i, double x) {
    for (int k = 1; k <= WORK; k++)
        x += 1.0 / (k + x + i);
    return x;
}

__attribute__((noinline)) static double books(int pieces, double x) {
    for (int i = 0; i < pieces; i++)
        for (int k = 1; k <= WORK; k++)
            x += 1.0 / (k + x + i);
    return x;
}

static void *work(void *arg) {
    struct part *part = arg;
    for (int s = 0; s < STEPS; s++) {
        for (int i = part->number; i < PIECES; i += part->of)
            part->sum = piece(i, part->sum);
        if (part->number == 0)
            part->sum = books((int)(PIECES * part->dose), part->sum);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 0.2;
    const int workers = argc > 2 ? atoi(argv[2]) : 2;
    pthread_t threads[MOST];
    struct part parts[MOST];
    pthread_barrier_init(&barrier, NULL, workers);
    for (int w = 0; w < workers && w < MOST; w++) {
        parts[w] = (struct part){w, workers, dose, 1};
        pthread_create(&threads[w], NULL, work, &parts[w]);
    }
    for (int w = 0; w < workers && w < MOST; w++)
        pthread_join(threads[w], NULL);
    printf("sum %g\n", parts[0].sum);
    return 0;
}
