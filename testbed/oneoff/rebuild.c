/* A table is built anew when a rank finds that it has become too coarse. */
#include "../common/field.h"

static void rebuild(double *table, int n, int rounds) {
    for (int k = 0; k < rounds; k++)
        for (int i = 1; i < n; i++)
            table[i] = 0.5 * table[i] + 0.5 * table[i - 1];
}

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), mine, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = CELLS / size;
    double *x = field_new(n), *table = field_new(8192);
    for (int step = 0; step < STEPS; step++) {
        exchange(x, n, rank, size, 1);
        relax(x, n, SWEEPS);
        if (step == 61 && rank == (size > 2 ? 3 : 1))
            rebuild(table, 8192, (int)(27000 * dose));
        mine = x[n / 2];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.6f\n", all + table[9]);
    MPI_Finalize();
    return 0;
}
