/* Conjugate gradients on a one-dimensional Laplacian. */
#include "../common/field.h"

static double dot(const double *a, const double *b, int n) {
    double mine = 0, all;
    for (int i = 1; i <= n; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void matvec(double *p, double *q, int n, int rank, int size) {
    exchange(p, n, rank, size, 1);
    for (int k = 0; k < 130; k++)
        for (int i = 1; i <= n; i++)
            q[i] = 2.1 * p[i] - p[i - 1] - p[i + 1] + 1e-9 * q[i - 1];
}

static double refine(const double *p, int n, double dose) {
    double sum = 0;
    int rounds = (int)(180 * dose);
    for (int k = 0; k < rounds; k++)
        for (int i = 1; i <= n; i++)
            sum = 0.5 * sum + p[i];
    return sum;
}

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), noise = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = 2 * CELLS / size;
    double *x = field_new(n), *r = field_new(n), *p = field_new(n), *q = field_new(n);
    double rho = dot(r, r, n);
    for (int it = 0; it < 80; it++) {
        matvec(p, q, n, rank, size);
        if (rank == (size > 4 ? 4 : 1))
            noise += refine(p, n, dose);
        double alpha = rho / dot(p, q, n);
        for (int i = 1; i <= n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double old = rho;
        rho = dot(r, r, n);
        for (int i = 1; i <= n; i++)
            p[i] = r[i] + rho / old * p[i];
    }
    if (rank == 0)
        printf("residual %.3e\n", rho + 0 * noise);
    MPI_Finalize();
    return 0;
}
