/* Sends to itself and reduces. */
#include "work.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++) {
        int in = 0;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    steps(20, "steps");
    MPI_Finalize();
    return 0;
}
