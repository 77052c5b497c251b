/* A tree of clusters, deeper where bodies are dense. */
#include "../common/field.h"

static double visit(double *x, int first, int last, int depth, int rounds) {
    if (depth == 0 || last - first < 64) {
        double sum = 0;
        for (int k = 0; k < rounds; k++)
            for (int i = first; i < last; i++)
                sum = 0.3 * sum + x[i];
        return sum;
    }
    int middle = (first + last) / 2;
    return visit(x, first, middle, depth - 1, rounds) + visit(x, middle, last, depth - 1, rounds);
}

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), mine = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = CELLS / size, dense = rank == size / 2;
    double *x = field_new(n);
    for (int step = 0; step < STEPS; step++) {
        exchange(x, n, rank, size, 1);
        relax(x, n, SWEEPS / 2);
        mine += visit(x, 1, n, 5, 90 + (dense ? (int)(210 * dose) : 0));
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
