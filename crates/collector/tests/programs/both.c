/* Sends and receives by one request, the last time from whoever sends. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#if MPI_VERSION >= 4
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < 10; i++) {
        int out[2] = {i, rank}, in[2] = {0, 0};
        MPI_Request request;
        MPI_Isendrecv(out, 2, MPI_INT, next, 5, in, 2, MPI_INT, i < 9 ? last : MPI_ANY_SOURCE, 5,
                      MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += in[0] + in[1];
    }
    if (rank == 0)
        printf("%d\n", sum);
#else
    sum = 77;
#endif
    MPI_Finalize();
    return sum == 77 ? 77 : 0;
}
