/* Rank 0 asks again and again for what rank 1 sends late, and prints how often it asked. */
#include <mpi.h>
#include <stdio.h>

static volatile double x;

int main(int argc, char **argv) {
    int rank, value = 0, tests = 0, probes = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 5; step++) {
        if (rank == 1) {
            for (int i = 0; i < 5000000; i++)
                x = x + i;
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            for (int i = 0; i < 5000000; i++)
                x = x + i;
            MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Request request;
            MPI_Status status;
            int flag = 0;
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
            while (!flag) {
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                tests++;
            }
            for (flag = 0; !flag; probes++)
                MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status);
            MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        printf("%d %d\n", tests, probes);
    MPI_Finalize();
    return 0;
}
