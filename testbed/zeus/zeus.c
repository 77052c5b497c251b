/* Explicit hydrodynamics on a ring: three exchanges a step, then the time step is agreed on. */
#include "../common/field.h"

static void boundary(double *x, int n, double dose) {
    int passes = (int)(270 * dose);
    for (int p = 0; p < passes; p++)
        for (int i = n; i >= 1; i--)
            x[i] = 0.3 * x[i + 1] + 0.7 * x[i];
}

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), dt = 1, least = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = CELLS / size;
    double *x = field_new(n);
    for (int step = 0; step < STEPS; step++) {
        if (rank % 4 == 0)
            boundary(x, n, dose);
        exchange(x, n, rank, size, 10);
        relax(x, n, SWEEPS / 3);
        exchange(x, n, rank, size, 20);
        relax(x, n, SWEEPS / 3);
        exchange(x, n, rank, size, 30);
        relax(x, n, SWEEPS / 3);
        dt = 0.1 + x[1];
        MPI_Allreduce(&dt, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("dt %.6f\n", least);
    MPI_Finalize();
    return 0;
}
