/* Power iteration with a sparse matrix; the last rows couple to more columns than the first. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 8192, SHORT = 24, STEPS = 60, INNER = 300 };

typedef struct {
    int rows, *start, *column;
    double *value;
} Matrix;

static Matrix assemble(int first, int rows, int per_row) {
    Matrix m = {rows, malloc(sizeof(int) * (size_t)(rows + 1)), malloc(sizeof(int) * (size_t)rows * (size_t)per_row),
                malloc(sizeof(double) * (size_t)rows * (size_t)per_row)};
    for (int r = 0; r < rows; r++) {
        m.start[r] = r * per_row;
        for (int k = 0; k < per_row; k++) {
            m.column[r * per_row + k] = (first + r + k * 37) % ROWS;
            m.value[r * per_row + k] = 1.0 / (1 + k);
        }
    }
    m.start[rows] = rows * per_row;
    return m;
}

static void multiply(const Matrix *m, const double *x, double *y) {
    for (int r = 0; r < m->rows; r++) {
        double sum = 0;
        for (int k = m->start[r]; k < m->start[r + 1]; k++)
            sum += m->value[k] * x[m->column[k]];
        y[r] = sum;
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double dose = argc > 1 ? atof(argv[1]) : 1.0, norm = 0;
    int rows = ROWS / size, dense = rank >= size - (size + 3) / 4;
    Matrix m = assemble(rank * rows, rows, SHORT + (dense ? (int)(SHORT * dose) : 0));
    double *x = malloc(sizeof(double) * ROWS), *y = malloc(sizeof(double) * (size_t)rows);
    for (int i = 0; i < ROWS; i++)
        x[i] = 1;
    for (int step = 0; step < STEPS; step++) {
        double mine = 0;
        for (int k = 0; k < INNER; k++)
            multiply(&m, x, y);
        for (int r = 0; r < rows; r++)
            mine += y[r] * y[r];
        MPI_Allreduce(&mine, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        norm = sqrt(norm);
        for (int r = 0; r < rows; r++)
            y[r] /= norm;
        MPI_Allgather(y, rows, MPI_DOUBLE, x, rows, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("eigenvalue %.6f\n", norm);
    MPI_Finalize();
    return 0;
}
