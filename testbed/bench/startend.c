/* Begins and ends, nothing else; prints the milliseconds that MPI_Init takes on the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

int main(int argc, char **argv) {
    int rank;
    double start = now(), own, slowest;
    MPI_Init(&argc, &argv);
    own = now() - start;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%.6f\n", slowest);
    MPI_Finalize();
    return 0;
}
