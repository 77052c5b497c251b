/* Sends and receives by one request: in a ring, along a line with open ends, and from whoever sends. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#if MPI_VERSION >= 4
    MPI_Request request;
    int out[2] = {1, rank}, in[2] = {0, 0};
    for (int i = 0; i < 10; i++) {
        MPI_Isendrecv(out, 2, MPI_INT, (rank + 1) % size, 5, in, 2, MPI_INT, (rank + size - 1) % size, 5,
                      MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += in[1];
    }
    /* Each takes from the one below, the lowest from nobody, and gets an answer. */
    int above = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, below = rank ? rank - 1 : MPI_PROC_NULL;
    for (int i = 0; i < 10; i++) {
        MPI_Isendrecv(out, 2, MPI_INT, above, 5, in, 2, MPI_INT, below, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(in, 2, MPI_INT, below, 5, MPI_COMM_WORLD);
        MPI_Recv(in, 2, MPI_INT, above, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += in[0];
    }
    for (int i = 0; i < 10; i++) {
        MPI_Isendrecv(out, 2, MPI_INT, (rank + 1) % size, 5, in, 2, MPI_INT, MPI_ANY_SOURCE,
                      i % 2 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += in[1];
    }
    if (rank == 0)
        printf("%d\n", sum);
#else
    sum = 77;
#endif
    MPI_Finalize();
    return sum == 77 ? 77 : 0;
}
