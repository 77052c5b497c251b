/* A little of everything that a library represents in its own way. Rank 0 is late once. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value, sum = 0, values[10];
    MPI_Request request, requests[10];
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* Ten messages that nobody asks for by name, ten by requests. */
    for (int i = 0; i < 10; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += rank ? value : i;
    }
    for (int i = 0; i < 10; i++) {
        values[i] = i;
        if (rank == 0)
            MPI_Isend(&values[i], 1, MPI_INT, 1, 20, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);

    /* Five messages between persistent requests. */
    if (rank == 0)
        MPI_Send_init(&value, 1, MPI_INT, 1, 30, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 5; i++) {
        value = i;
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        sum += value;
    }
    MPI_Request_free(&request);

    /* A matched one. */
    if (rank == 0) {
        MPI_Send(&rank, 1, MPI_INT, 1, 40, MPI_COMM_WORLD);
    } else {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        sum += status.MPI_SOURCE + status.MPI_TAG;
    }

    /* One from rank 1 to 0, over a communicator in which their numbers are the other way round. */
    MPI_Comm turned, copy;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    MPI_Comm_dup(turned, &copy);
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, 1, 5, turned);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 5, turned, &status);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&turned);

    MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);

    /* Rank 1 waits for rank 0. */
    if (rank == 0) {
        usleep(200000);
        MPI_Send(&value, 1, MPI_INT, 1, 50, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
