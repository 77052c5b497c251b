/* Computes between MPI_Init and the first call, and prints how long by its own CPU clock, seconds. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static volatile double x;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    double start = cpu();
    for (int i = 0; i < 30000000; i++)
        x = x + i;
    double end = cpu();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%f\n", end - start);
    MPI_Finalize();
    return 0;
}
