/* MPI is used and ended by a handler of exit(), after thread-local data of libraries are gone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void end(void) {
    int one = 1, sum = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    atexit(end);
    return 0;
}
