/* A domain is cut into slabs, as many for each worker thread, but the flow has gathered in the last
   ones, which need more sweeps; the others get by with fewer. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLABS = 16, CELLS = 40000, STEPS = 24, SWEEPS = 40, WORKERS = 2 };

struct share {
    double *cells;
    int first, last, per_slab;
    double dose;
};

__attribute__((noinline)) static void sweep(double *x, int n, int times) {
    for (int t = 0; t < times; t++)
        for (int i = 1; i < n; i++)
            x[i] = 0.5 * x[i] + 0.49 * x[i - 1];
}

static void *work(void *arg) {
    const struct share *s = arg;
    for (int slab = s->first; slab < s->last; slab++) {
        int more = (int)(SWEEPS / 2 * s->dose), times = slab < SLABS / 2 ? SWEEPS - more : SWEEPS + more;
        sweep(s->cells + slab * s->per_slab, s->per_slab, times);
    }
    return NULL;
}

static void step(double *cells, int per_slab, double dose) {
    pthread_t threads[WORKERS];
    struct share shares[WORKERS];
    for (int w = 0; w < WORKERS; w++) {
        shares[w] = (struct share){cells, w * SLABS / WORKERS, (w + 1) * SLABS / WORKERS, per_slab, dose};
        pthread_create(&threads[w], NULL, work, &shares[w]);
    }
    for (int w = 0; w < WORKERS; w++)
        pthread_join(threads[w], NULL);
}

int main(int argc, char **argv) {
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int per_slab = CELLS / size;
    double *cells = malloc(sizeof(double) * SLABS * (size_t)per_slab), all = 0;
    for (int i = 0; i < SLABS * per_slab; i++)
        cells[i] = 1.0 / (1 + i % 5);
    for (int s = 0; s < STEPS; s++) {
        step(cells, per_slab, dose);
        MPI_Allreduce(&cells[per_slab - 1], &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("flow %g\n", all);
    free(cells);
    MPI_Finalize();
    return 0;
}
