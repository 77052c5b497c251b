/* Communicators made and freed in a loop; a message over the last of them. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5000; i++) {
        /* Ranks the other way round, so that they differ from those of the world. */
        if (i % 2)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        MPI_Comm_rank(comm, &rank);
        if (i >= 4998) {
            if (rank == 0)
                MPI_Send(&i, 1, MPI_INT, 1, 5, comm);
            else if (rank == 1)
                MPI_Recv(&value, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
        }
        MPI_Comm_free(&comm);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    printf("value %d\n", value / 4998);
    MPI_Finalize();
    return 0;
}
