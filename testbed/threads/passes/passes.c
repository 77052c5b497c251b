/* Two passes over cells in blocks, with a barrier between them. The first cells cost more in both, and most in the first. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 40, CELLS = 1600, WORK = 1500 };

static double height[CELLS], flow[CELLS];

static inline double grown(double x, int work) {
    for (int k = 1; k <= work; k++)
        x += 1.0 / (k + x);
    return x;
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    const int threads = argc > 2 ? atoi(argv[2]) : 2, wet = CELLS / 8;
    const int most = (int)(WORK * (1 + 6 * dose)), more = (int)(WORK * (1 + 3 * dose));
#pragma omp parallel num_threads(threads)
    for (int s = 0; s < STEPS; s++) {
        const int me = omp_get_thread_num();
        const int begin = CELLS / threads * me, end = begin + CELLS / threads;
        for (int i = begin; i < end; i++)
            height[i] = grown(height[i], i < wet ? most : WORK);
#pragma omp barrier
        for (int i = begin; i < end; i++)
            flow[i] = grown(flow[i] + height[i], i < wet ? more : WORK);
#pragma omp barrier
    }
    printf("sum %g\n", height[0] + flow[CELLS - 1]);
    return 0;
}
