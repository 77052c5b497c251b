/* A driver of physics that lives in a library of its own. */
#include "../common/field.h"

void chemistry(double *x, int n, int steps);

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), mine, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = CELLS / size, burning = rank < (size + 3) / 4;
    double *x = field_new(n);
    for (int step = 0; step < STEPS; step++) {
        exchange(x, n, rank, size, 1);
        relax(x, n, SWEEPS / 2);
        chemistry(x, n, 60 + (burning ? (int)(180 * dose) : 0));
        mine = x[n / 2];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
