/* Threads that wait for one another, in every way that the libc has: each for half a second at the most. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t both;
static sem_t semaphore;
static int word, ready;

static void nap(void) {
    struct timespec t = {0, 30000000};
    nanosleep(&t, NULL);
}
static void meet(void) { pthread_barrier_wait(&both); }

/* The holder has it for a while, and the other one comes meanwhile. */
#define HELD(name, take, release)                                                                          \
    static void hold_##name(void) {                                                                        \
        take;                                                                                              \
        meet();                                                                                            \
        nap();                                                                                             \
        release;                                                                                           \
        meet();                                                                                            \
    }                                                                                                      \
    static void want_##name(void) {                                                                        \
        meet();                                                                                            \
        take;                                                                                              \
        release;                                                                                           \
        meet();                                                                                            \
    }
/* What is refused is no wait. */
static void ask_until_no_time(void) {
    static const struct timespec none = {0, -1};
    for (int i = 0; i < 1000; i++)
        if (pthread_mutex_timedlock(&mutex, &none) == 0)
            pthread_mutex_unlock(&mutex);
}
HELD(mutex, ask_until_no_time(); pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex))
HELD(write, pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock))
HELD(spin, pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
static void want_read(void) {
    meet();
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    meet();
}

/* One lets the other go on. */
static void let_condition(void) {
    meet();
    nap();
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}
static void want_condition(void) {
    meet();
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}
static void let_semaphore(void) {
    meet();
    nap();
    sem_post(&semaphore);
}
static void want_semaphore(void) {
    meet();
    sem_wait(&semaphore);
}
static void let_futex(void) {
    meet();
    nap();
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void want_futex(void) {
    meet();
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *holder(void *argument) {
    hold_mutex();
    hold_write();
    hold_write();
    hold_spin();
    let_condition();
    let_semaphore();
    let_futex();
    nap();
    return argument;
}
static void *waiter(void *argument) {
    want_mutex();
    want_write();
    want_read();
    want_spin();
    want_condition();
    want_semaphore();
    want_futex();
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, holder, NULL);
    pthread_create(&threads[1], NULL, waiter, NULL);
    pthread_join(threads[1], NULL);
    pthread_join(threads[0], NULL);
    fputs("all were waited for\n", stdout);
    MPI_Finalize();
    return 0;
}
