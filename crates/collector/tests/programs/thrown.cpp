// An error handler of the program throws through an MPI call; then the program goes on.
#include <mpi.h>
#include <cstdio>

static volatile double x;

static void thrower(MPI_Comm *, int *, ...) {
    throw 1;
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(thrower, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    try {
        MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } catch (int) {
        if (rank == 0)
            std::puts("caught");
    }
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 1000000; i++)
            x = x + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
