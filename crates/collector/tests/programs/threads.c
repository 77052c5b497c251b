/* Threads that call MPI at the same time: each posts a receive and sends, and another one waits for what it
 * posted. Every message has as many doubles as its tag says. With an argument the level of threads is the
 * lowest, and one thread after the other does the same. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 400 };

static int rank, in_turn;
static pthread_barrier_t all;
static MPI_Request posted[THREADS];
static double in[THREADS][THREADS];
static double sums[THREADS];

/* Functions of their own, so that each has a call path of its own. */
#define EXCHANGE(n)                                                                                        \
    static void exchange##n(int round) {                                                                  \
        double out[n + 1];                                                                                \
        for (int i = 0; i <= n; i++)                                                                      \
            out[i] = round + i;                                                                           \
        int from = round % 2 ? MPI_ANY_SOURCE : !rank;                                                    \
        MPI_Irecv(in[n], n + 1, MPI_DOUBLE, from, n, MPI_COMM_WORLD, &posted[n]);                         \
        MPI_Send(out, n + 1, MPI_DOUBLE, !rank, n, MPI_COMM_WORLD);                                       \
    }
EXCHANGE(0)
EXCHANGE(1)
EXCHANGE(2)
EXCHANGE(3)

static void (*const exchange[THREADS])(int) = {exchange0, exchange1, exchange2, exchange3};

static void finish(int other) {
    MPI_Wait(&posted[other], MPI_STATUS_IGNORE);
    for (int i = 0; i <= other; i++)
        sums[other] += in[other][i];
}

static void *body(void *argument) {
    int me = *(int *)argument;
    for (int round = 0; round < ROUNDS; round++) {
        exchange[me](round);
        pthread_barrier_wait(&all);
        finish((me + 1) % THREADS);
        pthread_barrier_wait(&all);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level, size, numbers[THREADS];
    in_turn = argc > 1;
    MPI_Init_thread(&argc, &argv, in_turn ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!in_turn && level != MPI_THREAD_MULTIPLE) {
        fputs("no threads here\n", stdout);
        MPI_Finalize();
        return 0;
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        numbers[i] = i;
    for (int i = 0; i < THREADS && !in_turn; i++)
        pthread_create(&threads[i], NULL, body, &numbers[i]);
    for (int i = 0; i < THREADS && !in_turn; i++)
        pthread_join(threads[i], NULL);
    for (int round = 0; round < ROUNDS && in_turn; round++)
        for (int i = 0; i < THREADS; i++) {
            exchange[i](round);
            finish(i);
        }
    double sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += sums[i];
    printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
