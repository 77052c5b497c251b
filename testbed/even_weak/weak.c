/* The problem grows with the ranks: each has as many cells as on any scale. */
#include "../common/field.h"

int main(int argc, char **argv) {
    int rank, size;
    double mine, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int cells = argc > 2 ? atoi(argv[2]) : 8192 * size, n = cells / size;
    double *x = field_new(n);
    for (int step = 0; step < STEPS; step++) {
        exchange(x, n, rank, size, 1);
        relax(x, n, SWEEPS);
        mine = x[n / 2];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
