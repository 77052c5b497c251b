#include <mpi.h>
#include <stdlib.h>

static double field[64];

/* The calls of each pair are the same instructions, so the compiler makes one call of them, without a line. */
__attribute__((noinline)) static void exchange(int kind, int peer) {
    switch (kind) {
    case 0:
        field[0] += 1;
        MPI_Send(field, 64, MPI_DOUBLE, peer, 7, MPI_COMM_WORLD);
        break;
    case 1:
        field[1] *= 2;
        MPI_Send(field, 64, MPI_DOUBLE, peer, 7, MPI_COMM_WORLD);
        break;
    default:
        MPI_Recv(field, 64, MPI_DOUBLE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    field[2] += 1;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        exchange(rank == 0 ? argc > 1 : 2, 1 - rank);
    MPI_Finalize();
    return 0;
}
