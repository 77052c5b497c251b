/* Equal pieces in every loop, and hardly anything between the loops. */
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 4800, STEPS = 40, WORK = 900 };

static double u[CELLS];

static void step(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++) {
        double s = u[i];
        for (int k = 1; k <= WORK; k++)
            s += 1.0 / (k + s);
        u[i] = s;
    }
}

int main(void) {
    for (int s = 0; s < STEPS; s++)
        step();
    printf("cells %g\n", u[3]);
    return 0;
}
