/* Receives that are called off: the last of its stream, and one that others were posted behind. */
#include <mpi.h>
#include <stdio.h>

static int cancelled(MPI_Request *request, int told) {
    MPI_Status status;
    int yes = 1;
    MPI_Cancel(request);
    MPI_Wait(request, told ? &status : MPI_STATUS_IGNORE);
    if (told)
        MPI_Test_cancelled(&status, &yes);
    return yes;
}

int main(int argc, char **argv) {
    int rank, value = 0, off = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Request first, second;
        if (rank == 1) {
            MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &first);
            off += cancelled(&first, i % 2);
            MPI_Irecv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &first);
            MPI_Irecv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &second);
            off += cancelled(&first, i % 2);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Send(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
            MPI_Send(&i, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&second, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 1)
        printf("value %d off %d\n", value, off);
    MPI_Finalize();
    return 0;
}
