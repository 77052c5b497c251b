/* Rank 0 sends on one stream; rank 1 takes every second message by a matched probe, as mpi4py does. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++) {
        if (rank == 0) {
            MPI_Send(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        } else if (rank == 1 && i % 2) {
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            if (i % 4 == 0) {
                MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            } else {
                MPI_Request request;
                MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    }
    if (rank == 1)
        printf("value %d\n", value);
    MPI_Finalize();
    return 0;
}
