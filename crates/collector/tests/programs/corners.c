/* Corners of the standard: no partner, no communicator, requests at rest, blocks and neighbours. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, value = 0, in[8] = {0}, out[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MPI_Request request;
    MPI_Status status;
    MPI_Comm half, ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT, MPI_PROC_NULL, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &half);
    if (half != MPI_COMM_NULL) {
        MPI_Barrier(half);
        MPI_Comm_free(&half);
    }

    /* Two messages by a persistent receive that is waited for three times. */
    if (rank == 1) {
        MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, &status);
        MPI_Request_free(&request);
    } else if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Send(&i, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    }

    MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    int dims[1] = {size}, periodic[1] = {1}, one[2] = {1, 1}, at[2] = {0, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &ring);
    MPI_Neighbor_alltoallv(out, one, at, MPI_INT, in, one, at, MPI_INT, ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);

    /* Four messages by persistent sends. */
    if (rank == 0) {
        MPI_Send_init(in, 8, MPI_INT, 1, 12, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 4; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else if (rank == 1) {
        for (int i = 0; i < 4; i++)
            MPI_Recv(in, 8, MPI_INT, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    /* A message over a copy that is made without blocking. */
    MPI_Comm copy;
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 4, copy);
    else if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 4, copy, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);

    /* In place, the lists of what is sent are not looked at. */
    int counts[64], places[64];
    MPI_Datatype types[64];
    static int parts[64];
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = 4 * i;
        types[i] = MPI_INT;
    }
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, parts, counts, places, types, MPI_COMM_WORLD);

    if (rank == 0)
        printf("in %d %d\n", in[0], in[1]);
    MPI_Finalize();
    return 0;
}
