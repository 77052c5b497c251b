/* What MPI 4 adds to requests: partitioned messages, two of them with the same tag under way, of which the last part
   is late; sends and receives by one request in place; collectives that are started again. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/* Open MPI 5.0 hangs with two. */
#ifdef OMPI_MAJOR_VERSION
enum { CHANNELS = 1 };
#else
enum { CHANNELS = 2 };
#endif
enum { PARTS = 4, ROUNDS = 3 };

int main(int argc, char **argv) {
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    int rank, out[PARTS], in[2][PARTS], sum = 0, value, total, flag;
    MPI_Request requests[2], one;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    for (int i = 0; i < PARTS; i++)
        out[i] = i;
    if (rank == 0) {
        for (int i = 0; i < CHANNELS; i++)
            MPI_Psend_init(out, PARTS, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Startall(CHANNELS, requests);
            /* The second one first. */
            if (CHANNELS == 2)
                MPI_Pready_range(0, PARTS - 1, requests[1]);
            MPI_Pready(1, requests[0]);
            int list[] = {3, 0};
            MPI_Pready_list(2, list, requests[0]);
            usleep(200000);
            MPI_Pready(2, requests[0]);
            MPI_Waitall(CHANNELS, requests, MPI_STATUSES_IGNORE);
        }
    } else if (rank == 1) {
        for (int i = 0; i < CHANNELS; i++)
            MPI_Precv_init(in[i], PARTS / 2, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Startall(CHANNELS, requests);
            flag = 0;
            while (round == 1 && !flag)
                MPI_Parrived(requests[0], 0, &flag);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            if (CHANNELS == 2)
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            sum += in[0][3] + in[CHANNELS - 1][2];
        }
    }
    if (rank < 2)
        for (int i = 0; i < CHANNELS; i++)
            MPI_Request_free(&requests[i]);
    /* Not to be mixed up with those. */
    if (rank == 0)
        MPI_Send(out, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(in[0], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    for (int i = 0; i < 5; i++) {
        value = rank + i;
        MPI_Isendrecv_replace(&value, 1, MPI_INT, 1 - rank, 9, 1 - rank, 9, MPI_COMM_WORLD, &one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        sum += value;
    }

    MPI_Allreduce_init(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &one);
    for (int i = 0; i < 4; i++) {
        if (rank == 1 && i == 2)
            usleep(200000);
        MPI_Start(&one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&one);

    int dims[1] = {2}, periodic[1] = {1}, two[2] = {0, 0};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &ring);
    MPI_Neighbor_allgather_init(&sum, 1, MPI_INT, two, 1, MPI_INT, ring, MPI_INFO_NULL, &one);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&one);
    MPI_Ineighbor_alltoall(two, 1, MPI_INT, two, 1, MPI_INT, ring, &one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
    if (rank == 0)
        printf("total %d\n", total);
    MPI_Finalize();
    return 0;
#else
    return 77;
#endif
}
