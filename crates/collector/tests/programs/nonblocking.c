/* Rank 0 waits in the calls that complete: a collective that rank 1 posts late, a message that rank 1
   receives late. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value = 3;
    size_t bytes = 1 << 23;
    char *data = calloc(1, bytes);
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    if (rank == 1)
        usleep(200000);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    /* Rank 1 computes once more, which nobody waits for. */
    if (rank == 1)
        usleep(200000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        MPI_Isend(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        usleep(200000);
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("value %d\n", value);
    MPI_Finalize();
    return 0;
}
