/* Threads that one call makes in turn: many that end at once, and then one that computes for long. */
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) static double compute(long n) {
    volatile double x = 1;
    for (long k = 1; k <= n; k++)
        x += 1.0 / (k + x);
    return x;
}

static void *work(void *arg) {
    double *sum = arg;
    *sum = compute((long)*sum);
    return NULL;
}

int main(void) {
    double sum = 0;
    /* A compiler that knew it would make two calls of the one. */
    volatile int last = 300;
    for (int i = 0; i <= last; i++) {
        pthread_t thread;
        sum = i == last ? 40000000 : 3000;
        pthread_create(&thread, NULL, work, &sum);
        pthread_join(thread, NULL);
    }
    printf("%d\n", sum > 1);
    return 0;
}
