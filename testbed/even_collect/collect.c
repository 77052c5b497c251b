/* Every rank follows its share of the orbits; the first one takes the results as they come. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORBITS = 512, ROUNDS = 60 };

static double follow(double start, int steps) {
    double x = start, v = 0;
    for (int i = 0; i < steps; i++) {
        v -= 0.001 * x / (1 + x * x);
        x += 0.001 * v;
    }
    return x;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double mine = 0, theirs;
        for (int o = rank; o < ORBITS; o += size)
            mine += follow(1 + 0.001 * o, 12000);
        if (rank == 0) {
            MPI_Status status;
            double *slots = calloc((size_t)size, sizeof *slots);
            slots[0] = mine;
            for (int k = 1; k < size; k++) {
                MPI_Recv(&theirs, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
                slots[status.MPI_SOURCE] = theirs;
            }
            for (int k = 0; k < size; k++)
                total += slots[k];
            free(slots);
        } else {
            MPI_Send(&mine, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
        }
        MPI_Bcast(&total, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.9f\n", total);
    MPI_Finalize();
    return 0;
}
