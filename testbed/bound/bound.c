/* Ranks that bind themselves, all to the first core. */
#define _GNU_SOURCE
#include "../common/field.h"
#include <sched.h>

static void compute(double *x, int n) {
    for (int k = 0; k < 500; k++)
        for (int i = 1; i <= n; i++)
            x[i] = 0.25 * (x[i - 1] + x[i + 1]) + 0.5 * x[i];
}

int main(int argc, char **argv) {
    int rank, size;
    double dose = dose_of(argc, argv), mine, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cpu_set_t core, all_cores;
    sched_getaffinity(0, sizeof all_cores, &all_cores);
    CPU_ZERO(&core);
    CPU_SET(0, &core);
    if (dose > 0)
        sched_setaffinity(0, sizeof core, &core);
    int n = CELLS / size;
    double *x = field_new(n);
    for (int step = 0; step < 50; step++) {
        if (step == (int)(50 * dose))
            sched_setaffinity(0, sizeof all_cores, &all_cores);
        compute(x, n);
        mine = x[n / 2];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
