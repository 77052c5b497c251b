/* Ranks in pairs agree first, then all of them do; a front sits on the last rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 65536, STEPS = 80 };

typedef struct {
    int n;
    double *heat, *fuel;
} Zone;

static void conduct(Zone *z) {
    for (int k = 0; k < 260; k++)
        for (int i = 1; i < z->n - 1; i++)
            z->heat[i] += 0.2 * (z->heat[i - 1] - 2 * z->heat[i] + z->heat[i + 1]);
}

static void burn(Zone *z, int substeps) {
    for (int k = 0; k < substeps; k++) {
        for (int i = 0; i < z->n; i++) {
            double rate = 0.001 * z->fuel[i] / (1 + z->fuel[i] * z->fuel[i]);
            z->fuel[i] = 1 - 0.5 * rate + 0.0001 * (1 - z->fuel[i]);
            z->heat[i] += 1e-7 * rate;
        }
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double dose = argc > 1 ? atof(argv[1]) : 1.0, mine, pair = 0, all = 0;
    MPI_Comm pairs;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs);
    Zone z = {CELLS / size, malloc(sizeof(double) * CELLS), malloc(sizeof(double) * CELLS)};
    for (int i = 0; i < z.n; i++) {
        z.heat[i] = 300 + i % 13;
        z.fuel[i] = 1;
    }
    int substeps = 20 + (rank == size - 1 ? (int)(200 * dose) : 0);
    for (int step = 0; step < STEPS; step++) {
        MPI_Request agreed;
        burn(&z, substeps);
        mine = z.heat[z.n / 2];
        MPI_Iallreduce(&mine, &pair, 1, MPI_DOUBLE, MPI_MAX, pairs, &agreed);
        MPI_Wait(&agreed, MPI_STATUS_IGNORE);
        conduct(&z);
        MPI_Allreduce(&pair, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("hottest %.6f\n", all);
    MPI_Comm_free(&pairs);
    MPI_Finalize();
    return 0;
}
