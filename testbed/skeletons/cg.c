/* The communication of NPB's CG (conjugate gradient), without its arithmetic.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020): the matrix
 * is divided over a grid of 2^k ranks, as square as possible; rows are summed by exchanges between the ranks of a row, and
 * the result goes to the rank of the transposed place.
 * Kept: the grid, partners, message sizes, tags and order (Irecv, Send, Wait), the first outer step that is not timed, and 25
 * inner steps in each outer one. Left out: the sparse matrix; sums are of small known numbers, which are checked.
 * Argument: the class S, W or A. Ranks: a power of two. */
#include <mpi.h>
#include "skeleton.h"

enum { INNER = 25 };

static int columns, rows, levels, column, row;
static int partner[32], opposite;
static int height, width, half;
static double *w, *q;

/* A sum over the ranks of this row. */
static double row_sum(double own) {
    for (int i = 0; i < levels; i++) {
        MPI_Request request;
        double other;
        MPI_Irecv(&other, 1, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD, &request);
        MPI_Send(&own, 1, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        own += other;
    }
    return own;
}

/* The product of the matrix and a vector: row by row, then to the transposed place. */
static void multiply(void) {
    MPI_Request request;
    /* On a grid that is twice as wide as high, two neighbours first share the rows of their pair. */
    int start = half && column % 2 ? height / 2 : 0, length = half ? height / 2 : height;
    for (int i = 0; i < height; i++)
        w[i] = row * 1000 + column + 1;
    work(height);
    for (int i = levels - 1; i >= 0; i--) {
        int out = half && i == levels - 1 ? height / 2 - start : start;
        MPI_Irecv(q, length, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD, &request);
        MPI_Send(w + out, length, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int j = 0; j < length; j++)
            w[start + j] += q[j];
    }
    if (levels) {
        MPI_Irecv(q, width, MPI_DOUBLE, opposite, 1, MPI_COMM_WORLD, &request);
        MPI_Send(w + start, length, MPI_DOUBLE, opposite, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double sum = (double)columns * (opposite / columns * 1000) + columns * (columns + 1) / 2;
        expect(q[0], sum, "a product");
        expect(q[width - 1], sum, "a product");
    }
}

static void conj_grad(void) {
    expect(row_sum(1), columns, "rho");
    for (int step = 0; step < INNER; step++) {
        multiply();
        expect(row_sum(2), 2 * columns, "d");
        work(width);
        expect(row_sum(3), 3 * columns, "rho");
        work(width);
    }
    multiply();
    expect(row_sum(4), 4 * columns, "the residual");
}

static void outer(void) {
    double norm[2] = {column, 1}, other[2];
    conj_grad();
    for (int i = 0; i < levels; i++) {
        MPI_Request request;
        MPI_Irecv(other, 2, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD, &request);
        MPI_Send(norm, 2, MPI_DOUBLE, partner[i], i + 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        norm[0] += other[0];
        norm[1] += other[1];
    }
    expect(norm[0], columns * (columns - 1) / 2, "a norm");
    expect(norm[1], columns, "a norm");
}

static void place(void) {
    for (columns = rows = 1; columns * rows < size;)
        if (columns > rows)
            rows *= 2;
        else
            columns *= 2;
    row = rank / columns;
    column = rank % columns;
    half = columns != rows;
    opposite = half ? 2 * ((rank / 2 % rows) * rows + rank / 2 / rows) + rank % 2 : rank % rows * rows + rank / rows;
    for (int width_of = columns; width_of > 1; width_of /= 2)
        partner[levels++] = row * columns + (column + width_of / 2) % width_of + column / width_of * width_of;
}

int main(int argc, char **argv) {
    int n = of_class(argc, argv, 1400, 7000, 14000), steps = 15;
    double time, slowest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    place();
    if (columns * rows != size) {
        if (rank == 0)
            fprintf(stderr, "cg: the number of ranks has to be a power of two\n");
        MPI_Finalize();
        return 2;
    }
    width = (n + columns - 1) / columns;
    height = half ? 2 * width : width;
    w = doubles(height);
    q = doubles(height);
    outer();
    MPI_Barrier(MPI_COMM_WORLD);
    time = MPI_Wtime();
    for (int step = 0; step < steps; step++)
        outer();
    time = MPI_Wtime() - time;
    MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return verdict();
}
