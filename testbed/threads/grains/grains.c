/* A chain of cells whose values depend on the step before. Each step is a parallel region of its own, of as many cells as
   a grain has; between some steps there is a large region with equal work for all threads. */
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 20, STEPS = 900000 };

static double cell[CELLS];

static void grain(int cells, double x) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < cells; i++)
        cell[i] = 0.5 * cell[i] + x;
}

static void smooth(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++) {
        double s = cell[i];
        for (int k = 1; k <= 12; k++)
            s += 1.0 / (k + s * s);
        cell[i] = s;
    }
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    const int steps = (int)(dose * STEPS);
    for (int round = 0; round < 20; round++) {
        for (int s = 0; s < steps / 20; s++)
            grain(64, 1e-3 * s);
        smooth();
    }
    printf("grains %g\n", cell[7]);
    return 0;
}
