/* Threads that come, call MPI at the same time in every way that the collector keeps something of, and go:
 * messages with and without wildcards, requests that other threads complete or that are started again, probes,
 * communicators and datatypes made and freed, and computation between them to be sampled. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, GENERATIONS = 3, ROUNDS = 20 };

static int rank;
static pthread_barrier_t all;
static MPI_Comm own[THREADS];
static MPI_Request posted[THREADS];
static int in[THREADS];

static void compute(int n) {
    volatile double x = 1;
    for (int i = 0; i < n; i++)
        x = x * 1.0000001 + 0.1;
}

static void round_of(int me, int round) {
    int out = round, got = 0, flag = 0;
    MPI_Status status;
    MPI_Request again[2];
    MPI_Comm mine;
    MPI_Datatype pair;
    MPI_Irecv(&in[me], 1, MPI_INT, round % 2 ? MPI_ANY_SOURCE : !rank, me, MPI_COMM_WORLD, &posted[me]);
    MPI_Send(&out, 1, MPI_INT, !rank, me, MPI_COMM_WORLD);
    pthread_barrier_wait(&all);
    MPI_Wait(&posted[(me + 1) % THREADS], MPI_STATUS_IGNORE);
    pthread_barrier_wait(&all);
    compute(20000);
    MPI_Type_contiguous(2 + me, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_free(&pair);
    MPI_Send_init(&out, 1, MPI_INT, !rank, 100 + me, MPI_COMM_WORLD, &again[0]);
    MPI_Recv_init(&got, 1, MPI_INT, !rank, 100 + me, MPI_COMM_WORLD, &again[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, again);
        MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&again[0]);
    MPI_Request_free(&again[1]);
    MPI_Isend(&out, 1, MPI_INT, !rank, 200 + me, own[me], &again[0]);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 200 + me, own[me], &flag, &status);
    MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 200 + me, own[me], MPI_STATUS_IGNORE);
    MPI_Wait(&again[0], MPI_STATUS_IGNORE);
    MPI_Allreduce(&out, &got, 1, MPI_INT, MPI_SUM, own[me]);
    if (me == 0 && round % 10 == 0) {
        MPI_Comm_dup(own[me], &mine);
        MPI_Barrier(mine);
        MPI_Comm_free(&mine);
    }
}

static void *body(void *argument) {
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++)
        round_of(me, round);
    return NULL;
}

int main(int argc, char **argv) {
    int level;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (level != MPI_THREAD_MULTIPLE) {
        puts("no threads here");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int generation = 0; generation < GENERATIONS; generation++) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, body, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    MPI_Finalize();
    return 0;
}
