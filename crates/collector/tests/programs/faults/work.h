/* What all these programs do besides their fault: compute long enough to be sampled, and reduce. */
#include <mpi.h>
#include <stdio.h>

static volatile double work_x;

static inline void compute(int n) {
    for (int i = 0; i < n; i++)
        work_x = work_x + i;
}

/* So many steps; says what they came to. */
static inline void steps(int n, const char *when) {
    int sum = 0;
    for (int step = 0; step < n; step++) {
        int one = step, all = 0;
        compute(1000000);
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    printf("%s %d\n", when, sum);
    fflush(stdout);
}
