/* Sends with a derived datatype that is made and freed anew for each message, of growing size. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, buffer[64] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 1; n <= 64; n *= 2) {
        MPI_Datatype type;
        MPI_Type_contiguous(n, MPI_INT, &type);
        MPI_Type_commit(&type);
        if (rank == 0)
            MPI_Send(buffer, 1, type, 1, n, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(buffer, 1, type, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
