/* The first thread makes three others and meets them at a barrier. It works three times as long as they do. Helpers that it
 * makes before and after meet nobody, and it waits for one of them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { OTHERS = 3, STEPS = 5 };

static pthread_barrier_t barrier;
static sem_t ready;

static void work(long ms) {
    struct timespec now, start;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void steps(long ms) {
    for (int s = 0; s < STEPS; s++) {
        work(ms);
        pthread_barrier_wait(&barrier);
    }
    work(ms);
}

static void *routine(void *unused) {
    steps(4);
    return unused;
}

static void *helper(void *unused) {
    usleep(20000);
    sem_post(&ready);
    return unused;
}

int main(void) {
    pthread_t others[OTHERS], one;
    pthread_barrier_init(&barrier, NULL, OTHERS + 1);
    sem_init(&ready, 0, 0);
    work(20);
    for (int i = 0; i < 2 * OTHERS; i++) {
        pthread_create(&one, NULL, helper, NULL);
        pthread_join(one, NULL);
        sem_wait(&ready);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < OTHERS; i++)
            pthread_create(&others[i], NULL, routine, NULL);
        pthread_create(&one, NULL, helper, NULL);
        sem_wait(&ready);
        steps(12);
        pthread_join(one, NULL);
        for (int i = 0; i < OTHERS; i++)
            pthread_join(others[i], NULL);
    }
    printf("%d\n", OTHERS);
    return 0;
}
