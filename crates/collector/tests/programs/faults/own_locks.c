/* Has a pthread_mutex_lock of its own, which counts. */
#define _GNU_SOURCE
#include "work.h"
#include <dlfcn.h>
#include <pthread.h>

static int taken, sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int pthread_mutex_lock(pthread_mutex_t *lock) {
    if (lock == &mutex)
        __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
    while (pthread_mutex_trylock(lock))
        ;
    return 0;
}

static void *adds(void *argument) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        sum++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    MPI_Init(&argc, &argv);
    steps(10, "before");
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", taken, sum);
    MPI_Finalize();
    return 0;
}
