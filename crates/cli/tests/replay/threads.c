/* Threads that call MPI. Ranks: two or more. With "own", each thread makes its datatype. With "without-blocking",
 * communicators are made so. With "in-turn", threads call collectives on the same communicator, the order of which a
 * trace does not have. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 3, COUNT = 64, ROUNDS = 50 };

static int rank, size, own, idup;
static MPI_Datatype types[THREADS];
static MPI_Comm comm[THREADS];
static MPI_Request from_main;
static double in[4], out[4];

static MPI_Datatype make_type(int count) {
    MPI_Datatype type;
    MPI_Type_contiguous(count + 1, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void *work(void *argument) {
    int me = (int)(long)argument;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    double a[COUNT] = {0}, b[COUNT];
    MPI_Datatype type = types[me];
    if (own)
        type = make_type(me);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPI_Irecv(b, 4, type, last, me, MPI_COMM_WORLD, &request);
        MPI_Send(a, 4, type, next, me, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(a, b, COUNT, MPI_DOUBLE, MPI_SUM, comm[me]);
    }
    if (own)
        MPI_Type_free(&type);
    if (me == 0)
        MPI_Wait(&from_main, MPI_STATUS_IGNORE);
    return 0;
}

static void make_comm(MPI_Comm *made) {
    if (!idup) {
        MPI_Comm_dup(MPI_COMM_WORLD, made);
        return;
    }
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void *wait(void *argument) {
    MPI_Barrier(MPI_COMM_WORLD);
    return argument;
}

int main(int argc, char **argv) {
    int level;
    pthread_t thread[THREADS];
    MPI_Init_thread(0, 0, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own = argc > 1 && !strcmp(argv[1], "own");
    idup = argc > 1 && !strcmp(argv[1], "without-blocking");
    if (argc > 1 && !own && !idup) {
        for (int i = 0; i < 2; i++) {
            pthread_create(&thread[i], 0, wait, 0);
            pthread_join(thread[i], 0);
        }
        return MPI_Finalize();
    }
    for (int i = 0; i < THREADS && !own; i++)
        types[i] = make_type(i);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++)
            make_comm(&comm[i]);
        /* Another thread completes this one. */
        MPI_Irecv(in, 4, MPI_DOUBLE, MPI_ANY_SOURCE, 9, comm[0], &from_main);
        MPI_Send(out, 4, MPI_DOUBLE, (rank + 1) % size, 9, comm[0]);
        for (long i = 0; i < THREADS; i++)
            pthread_create(&thread[i], 0, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], 0);
        for (int i = 0; i < THREADS; i++)
            MPI_Comm_free(&comm[i]);
    }
    return MPI_Finalize();
}
