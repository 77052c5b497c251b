/* A library that is opened at run time: computes and calls MPI. */
#include <mpi.h>

static volatile double x;
static char large[3 << 20] = {1};

int plugin_run(int steps) {
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 5000000; i++)
            x = x + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return large[steps];
}
