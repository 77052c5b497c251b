/* A shock front runs through a line of blocks; the blocks that it stands in are refined, the others are not.
 * Over the whole run every rank refines alike, but never at the same time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 64, SIDE = 32, STEPS = 256, RATIO = 4 };
typedef struct { double u[SIDE + 2][SIDE + 2]; double fine[SIDE * RATIO]; } Block;

static void advance(Block *b) {
    for (int k = 0; k < 12; k++)
        for (int y = 1; y <= SIDE; y++)
            for (int x = 1; x <= SIDE; x++)
                b->u[y][x] = 0.2 * (b->u[y][x - 1] + b->u[y][x + 1] + b->u[y - 1][x] + b->u[y + 1][x] + b->u[y][x]);
}

static int tagged(int block, int step) {
    int at = step * BLOCKS / STEPS;
    return block >= at && block < at + 3;
}

static void substeps(Block *b, int n) {
    for (int s = 0; s < n; s++)
        for (int i = 1; i + 1 < SIDE * RATIO; i++)
            b->fine[i] = 0.3 * (b->fine[i - 1] + b->fine[i + 1]) + 0.4 * b->u[1 + i % SIDE][1 + i / RATIO % SIDE];
}

static void step_blocks(Block *blocks, int n, int first, int step, double dose) {
    for (int k = 0; k < n; k++) {
        advance(&blocks[k]);
        if (tagged(first + k, step))
            substeps(&blocks[k], (int)(5000 * dose));
    }
}

static void edges(Block *blocks, int n, int left, int right) {
    MPI_Request q[4];
    MPI_Irecv(blocks[0].u[0], SIDE + 2, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(blocks[n - 1].u[SIDE + 1], SIDE + 2, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &q[1]);
    MPI_Isend(blocks[0].u[1], SIDE + 2, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &q[2]);
    MPI_Isend(blocks[n - 1].u[SIDE], SIDE + 2, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double dose = argc > 1 ? atof(argv[1]) : 1;
    int n = BLOCKS / size, first = n * rank;
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    Block *blocks = calloc((size_t)n, sizeof *blocks);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < (SIDE + 2) * (SIDE + 2); i++)
            blocks[k].u[i / (SIDE + 2)][i % (SIDE + 2)] = 1 + (i + k) % 5;
    double dt = 1, least = 1;
    for (int step = 0; step < STEPS; step++) {
        edges(blocks, n, left, right);
        step_blocks(blocks, n, first, step, dose);
        dt = 1 / (2 + blocks[0].u[1][1]);
        MPI_Allreduce(&dt, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("dt %.8f\n", least);
    MPI_Finalize();
    return 0;
}
