/* Threads that come, wait and end in every way there is; the argument says which. */
#define _GNU_SOURCE
#include "work.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, robust;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static sem_t semaphore;
static volatile int cleaned, go;
static int sum;

static void clean(void *what) { cleaned += (int)(long)what; }
static void unlock(void *lock) {
    cleaned += 100;
    pthread_mutex_unlock(lock);
}

static void *in_condition(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return argument;
}
static void *in_semaphore(void *argument) {
    pthread_cleanup_push(clean, (void *)1);
    sem_wait(&semaphore);
    pthread_cleanup_pop(1);
    return argument;
}
static void *in_join(void *argument) {
    pthread_cleanup_push(clean, (void *)10);
    pthread_join(*(pthread_t *)argument, NULL);
    pthread_cleanup_pop(1);
    return argument;
}
static void *in_computing(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        work_x = work_x + 1;
    return argument;
}
/* Cancelled where it never comes by a point at which that counts: it ends as if it were not. */
static void *returns(void *argument) {
    while (!go)
        work_x = work_x + 1;
    return argument;
}
static void *refuses(void *argument) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    usleep(1000);
    return argument;
}
static void cancel(void) {
    void *results[4];
    pthread_t threads[4];
    pthread_create(&threads[0], NULL, returns, (void *)5);
    pthread_create(&threads[1], NULL, refuses, (void *)6);
    pthread_cancel(threads[1]);
    usleep(20000);
    pthread_cancel(threads[0]);
    go = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &results[i]);
        printf("%ld ", (long)results[i]);
    }
    pthread_create(&threads[0], NULL, in_condition, NULL);
    pthread_create(&threads[1], NULL, in_semaphore, NULL);
    pthread_create(&threads[2], NULL, in_join, &threads[0]);
    pthread_create(&threads[3], NULL, in_computing, NULL);
    usleep(100000);
    for (int i = 3; i >= 0; i--) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], &results[i]);
        printf("%d", results[i] == PTHREAD_CANCELED);
    }
    printf(" cleaned %d\n", cleaned);
}

static int deep(int n) {
    if (n == 0)
        pthread_exit((void *)42);
    return deep(n - 1) + 1;
}
static void *exits(void *argument) {
    pthread_cleanup_push(clean, (void *)7);
    pthread_setspecific(key, &cleaned);
    compute(3000000);
    deep(20);
    pthread_cleanup_pop(0);
    return argument;
}
static void destroy(void *value) {
    pthread_mutex_lock(&mutex);
    *(volatile int *)value += 1000;
    pthread_mutex_unlock(&mutex);
}

static void *forks(void *argument) {
    pthread_t thread;
    int status;
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
        pthread_exit(argument);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return argument;
}

/* The child has timers of its own, whose numbers may be those that its parent's had: all are there when the thread
 * that was its parent's has ended. */
static timer_t timers[8];
static pthread_t forked;
static void *looks_at_timers(void *argument) {
    struct itimerspec left;
    int there = 0;
    pthread_join(forked, NULL);
    for (int i = 0; i < 8; i++)
        there += timer_gettime(timers[i], &left) == 0;
    _exit(there);
    return argument;
}
static void *forks_with_timers(void *argument) {
    pthread_t thread;
    int status;
    pid_t child = fork();
    if (child == 0) {
        forked = pthread_self();
        struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
        for (int i = 0; i < 8; i++)
            timer_create(CLOCK_MONOTONIC, &quiet, &timers[i]);
        pthread_create(&thread, NULL, looks_at_timers, NULL);
        pthread_exit(argument);
    }
    waitpid(child, &status, 0);
    printf("timers %d\n", WEXITSTATUS(status));
    return argument;
}

static void *adds(void *argument) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        sum += (int)(long)argument;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}
static void many(int threads, int rounds) {
    pthread_t all[64];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < threads; i++)
            pthread_create(&all[i], NULL, adds, (void *)(long)(i % 3));
        for (int i = 0; i < threads; i++)
            pthread_join(all[i], NULL);
    }
    printf("sum %d\n", sum);
}

static void *waits_to_go(void *argument) {
    while (!go)
        sched_yield();
    return adds(argument);
}
static void *stays(void *argument) {
    for (;;)
        pause();
    return argument;
}

static void *dies_with_lock(void *argument) {
    pthread_mutex_lock(&robust);
    return argument;
}
static void verdicts(void) {
    pthread_mutexattr_t kind;
    pthread_mutex_t checked, recursive;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t thread;
    struct timespec soon;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    printf("%d %d", pthread_mutex_lock(&checked), pthread_mutex_lock(&checked) == EDEADLK);
    printf(" %d %d", pthread_mutex_lock(&recursive), pthread_mutex_lock(&recursive));
    pthread_mutex_unlock(&recursive);
    pthread_create(&thread, NULL, dies_with_lock, NULL);
    pthread_join(thread, NULL);
    printf(" %d", pthread_mutex_lock(&robust) == EOWNERDEAD);
    pthread_mutex_unlock(&robust);
    printf(" %d", pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    printf(" %d", pthread_rwlock_wrlock(&rwlock) | (pthread_rwlock_wrlock(&rwlock) == EDEADLK) << 1);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 50000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    printf(" %d", pthread_mutex_timedlock(&checked, &soon) == EDEADLK);
    errno = 0;
    printf(" %d %d", sem_timedwait(&semaphore, &soon), errno == ETIMEDOUT);
    pthread_mutex_lock(&mutex);
    printf(" %d", pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    soon.tv_sec += 1;
    soon.tv_nsec = 0;
    printf(" %d", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    errno = 77;
    sem_post(&semaphore);
    printf(" %d %d\n", sem_wait(&semaphore), errno);
}

static void given_back(int result) {
    printf(" %d", result);
    if (result == 0)
        pthread_mutex_unlock(&mutex);
}
/* Times that are none, for locks that are free and for those that are not. */
static void *untimely(void *argument) {
    static const struct timespec NONE = {0, 1000000000};
    const struct timespec *none = &NONE;
    pthread_rwlock_t *rwlock = argument;
    struct timespec good;
    clock_gettime(CLOCK_MONOTONIC, &good);
    good.tv_sec += 5;
    given_back(pthread_mutex_timedlock(&mutex, none));
    given_back(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, none));
    given_back(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC_COARSE, &good));
    printf(" %d", pthread_rwlock_timedrdlock(rwlock, none));
    printf(" %d", pthread_rwlock_timedwrlock(rwlock, none));
    printf(" %d", pthread_rwlock_clockrdlock(rwlock, CLOCK_MONOTONIC_COARSE, &good));
    printf(" %d", pthread_rwlock_clockwrlock(rwlock, CLOCK_MONOTONIC, none));
    printf(" %d %d", sem_timedwait(&semaphore, none), errno);
    printf(" %d %d", sem_clockwait(&semaphore, CLOCK_MONOTONIC_COARSE, &good), errno);
    return argument;
}
static void all_untimely(void) {
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t thread;
    struct timespec none = {0, -1};
    sem_post(&semaphore);
    for (int held = 0; held < 2; held++) {
        if (held) {
            pthread_mutex_lock(&mutex);
            pthread_rwlock_wrlock(&rwlock);
            while (sem_trywait(&semaphore) == 0)
                ;
        }
        pthread_create(&thread, NULL, untimely, &rwlock);
        pthread_join(thread, NULL);
        printf(".");
    }
    printf(" %d", pthread_cond_timedwait(&condition, &mutex, &none));
    printf(" %d\n", pthread_timedjoin_np(pthread_self(), NULL, &none));
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t thread, other;
    pthread_attr_t small;
    void *result = NULL;
    int given;
    sem_init(&semaphore, 0, 0);
    pthread_key_create(&key, destroy);
    if (!strcmp(mode, "early"))
        pthread_create(&thread, NULL, waits_to_go, (void *)1);
    if (!strcmp(mode, "early")) {
        pthread_create(&other, NULL, adds, (void *)2);
        pthread_join(other, NULL);
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    steps(10, "before");
    if (!strcmp(mode, "early")) {
        go = 1;
        pthread_join(thread, &result);
        printf("%ld %d\n", (long)result, sum);
    }
    if (!strcmp(mode, "cancel"))
        cancel();
    if (!strcmp(mode, "exits")) {
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, &result);
        printf("%ld cleaned %d\n", (long)result, cleaned);
    }
    if (!strcmp(mode, "forks")) {
        pthread_create(&thread, NULL, forks, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(mode, "timers")) {
        pthread_create(&thread, NULL, forks_with_timers, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(mode, "untimely"))
        all_untimely();
    if (!strcmp(mode, "many"))
        many(64, 1);
    if (!strcmp(mode, "rounds"))
        many(4, 200);
    if (!strcmp(mode, "verdicts"))
        verdicts();
    if (!strcmp(mode, "small")) {
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
        pthread_create(&thread, &small, adds, (void *)3);
        pthread_join(thread, &result);
        printf("%ld %d\n", (long)result, sum);
    }
    if (!strcmp(mode, "stays"))
        pthread_create(&thread, NULL, stays, NULL);
    steps(10, "after");
    MPI_Finalize();
    return 0;
}
