/* The first thread works with two that it made, from one of their barriers to the next, and has three times as much. */
#include <mpi.h>
#include <pthread.h>
#include <time.h>

enum { ROUNDS = 3, WORKERS = 2 };

static pthread_barrier_t begin, end;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void work(double seconds) {
    volatile double x = 0;
    for (double end = cpu() + seconds; cpu() < end;)
        for (int i = 0; i < 1000; i++)
            x += i;
}

static void *body(void *none) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&begin);
        work(0.01);
        pthread_barrier_wait(&end);
    }
    return none;
}

int main(int argc, char **argv) {
    int level;
    pthread_t workers[WORKERS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    pthread_barrier_init(&begin, NULL, WORKERS + 1);
    pthread_barrier_init(&end, NULL, WORKERS + 1);
    /* One call makes all of them: what the compiler does not know it does not unroll. */
    volatile int wanted = WORKERS;
    for (int i = 0; i < wanted; i++)
        pthread_create(&workers[i], NULL, body, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        work(0.02);
        MPI_Barrier(MPI_COMM_WORLD);
        pthread_barrier_wait(&begin);
        work(0.03);
        pthread_barrier_wait(&end);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    MPI_Finalize();
    return 0;
}
