#include <mpi.h>
#include <stdlib.h>
static double field[64];

static inline __attribute__((always_inline)) void send(int peer, int tag) {
    MPI_Send(field, 64, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void exchange(int kind, int peer) {
    if (kind == 9) {
        field[5] += 3;
        send(peer, 8);
        field[6] *= 4;
    }
    switch (kind) {
    case 0:
        field[0] += 1;
        send(peer, 7);
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
        exchange(rank == 0 ? argc > 1 : 2 + 7 * (argc > 5), 1 - rank);
    MPI_Finalize();
    return 0;
}
