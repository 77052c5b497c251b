/* Pauses recording in the middle, on both ranks or (with "one") on the first alone, for good with "stop". Requests go
 * from one side of the pause to the other; messages have as many numbers as their step says. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int rank;
static double data[8], sum;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void work(double seconds) {
    volatile double x = 0;
    for (double end = cpu() + seconds; cpu() < end;)
        for (int i = 0; i < 1000; i++)
            x += i;
}

#define EXCHANGE(name, n)                                                                                 \
    __attribute__((noinline)) static void name(void) {                                                    \
        for (int i = 0; i < 5; i++)                                                                       \
            if (rank == 0)                                                                                \
                MPI_Send(data, n, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);                                      \
            else                                                                                          \
                MPI_Recv(data, n, MPI_DOUBLE, i % 2 ? 0 : MPI_ANY_SOURCE, 7, MPI_COMM_WORLD,              \
                         MPI_STATUS_IGNORE);                                                              \
    }
EXCHANGE(before, 1)
EXCHANGE(meanwhile, 2)
EXCHANGE(after, 3)

/* All the arguments of a variadic function, in registers of both kinds and on the stack. */
static void control(int level) {
    MPI_Pcontrol(level, "more", 1.5, 2, 3, 4, 5, 6, 7, 2.5, 8);
}

int main(int argc, char **argv) {
    int one = argc > 1 && !strcmp(argv[1], "one"), stop = argc > 1 && !strcmp(argv[1], "stop");
    MPI_Request early, late;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    data[0] = rank + 1;
    before();
    double in[2];
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, !rank, 1, MPI_COMM_WORLD, &early);
    MPI_Barrier(MPI_COMM_WORLD);
    control(1);
    if (!one || rank == 0)
        control(0);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, !rank, 2, MPI_COMM_WORLD, &late);
    MPI_Send(data, 1, MPI_DOUBLE, !rank, 1, MPI_COMM_WORLD);
    meanwhile();
    work(0.3);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    if (!one || rank == 0)
        control(0);
    control(2);
    control(-3);
    if (!stop && (!one || rank == 0))
        control(1);
    after();
    MPI_Send(data, 1, MPI_DOUBLE, !rank, 2, MPI_COMM_WORLD);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0)
        printf("%g %g\n", sum, in[1]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
