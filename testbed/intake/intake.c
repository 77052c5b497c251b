/* The last rank takes measurements from an instrument that delivers at its own pace. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { CELLS = 49152, STEPS = 120, PERIOD_NS = 5000000 };

static double measurement(int instrument, double dose) {
    uint64_t ticks = 0;
    struct itimerspec once = {{0, 0}, {0, (long)(PERIOD_NS * dose)}};
    timerfd_settime(instrument, 0, &once, NULL);
    if (read(instrument, &ticks, sizeof ticks) != sizeof ticks)
        return 0;
    return (double)ticks;
}

static void assimilate(double *state, int n, double value) {
    state[0] = value;
    for (int k = 0; k < 320; k++)
        for (int i = 1; i < n; i++)
            state[i] = 0.6 * state[i] + 0.4 * state[i - 1];
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double dose = argc > 1 ? atof(argv[1]) : 1.0, mean = 0;
    int n = CELLS / size, instrument = timerfd_create(CLOCK_MONOTONIC, 0);
    double *state = malloc(sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++)
        state[i] = 1;
    for (int step = 0; step < STEPS; step++) {
        double value = 1, mine;
        assimilate(state, n, 1 + mean);
        if (rank == size - 1 && dose > 0)
            value = measurement(instrument, dose);
        MPI_Bcast(&value, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
        mine = state[n - 1] * value;
        MPI_Allreduce(&mine, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mean /= 2 * size;
    }
    if (rank == 0)
        printf("mean %.6f\n", mean);
    close(instrument);
    MPI_Finalize();
    return 0;
}
