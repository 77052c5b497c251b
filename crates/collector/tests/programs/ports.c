/* Two halves of a job that meet: by a port, and by a communicator between them; each merged into one of both. */
#include <mpi.h>
#include <stdio.h>

/* Five messages between the halves, and five in the merged one, where the higher half comes first. */
static int talk(MPI_Comm between, int rank) {
    MPI_Comm both;
    int value = 0, sum = 0, me;
    MPI_Intercomm_merge(between, rank == 0, &both);
    MPI_Comm_rank(both, &me);
    for (int i = 0; i < 5; i++) {
        if (rank == 0) {
            MPI_Send(&i, 1, MPI_INT, 0, 6, between);
            MPI_Send(&i, 1, MPI_INT, 1 - me, 7, both);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 6, between, MPI_STATUS_IGNORE);
            sum += value;
            MPI_Recv(&value, 1, MPI_INT, 1 - me, 7, both, MPI_STATUS_IGNORE);
            sum += value;
        }
    }
    MPI_Barrier(between);
    MPI_Barrier(both);
    MPI_Comm_free(&both);
    return sum;
}

int main(int argc, char **argv) {
    int rank, sum = 0;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
    } else {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
    }
    sum += talk(between, rank);
    MPI_Comm_disconnect(&between);
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 8, &between);
    sum += talk(between, rank);
    MPI_Comm_free(&between);
    if (rank == 1)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
