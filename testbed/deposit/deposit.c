/* Particles leave their charge in cells. Even ranks hold the dense region, where all of them meet in the
   same cells, and so their threads take turns; on the others each thread has cells of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTICLES = 24000, CELLS = 512, STEPS = 6, MOVING = 250, REACH = 12000, THREADS = 2 };

static double cells[THREADS][CELLS], shared[CELLS];

/* Moves a particle in so many substeps. */
__attribute__((noinline)) static double push(double x, int substeps) {
    for (int s = 0; s < substeps; s++)
        x = 0.5 * (x + 1.0 / (1.0 + x));
    return x;
}

__attribute__((noinline)) static void deposit(double *to, double x, int reach) {
    for (int k = 0; k < reach; k++)
        to[k % CELLS] += x / (1 + k);
}

/* Each particle leaves its charge with `inside` of `REACH` cells that all threads share. */
static void dense(int n, int inside) {
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < n; i++) {
        double x = push(i % 17, MOVING);
        deposit(cells[2 * i / n], x, REACH - inside);
#pragma omp critical
        deposit(shared, x, inside);
    }
}

static void sparse(int n) {
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < n; i++) {
        double x = push(i % 17, MOVING);
        deposit(cells[2 * i / n], x, REACH);
    }
}

int main(int argc, char **argv) {
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double sum = 0, all = 0;
    for (int step = 0; step < STEPS; step++) {
        if (rank % 2 == 0 && dose > 0)
            dense(PARTICLES / size, (int)(REACH * dose));
        else
            sparse(PARTICLES / size);
        sum = cells[0][step] + cells[1][step] + shared[step];
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("charge %g\n", all);
    MPI_Finalize();
    return 0;
}
