/* A tridiagonal system is solved by one thread between two loops of all threads. */
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 20000, STEPS = 60, WORK = 60 };

static double u[CELLS], f[CELLS], g[CELLS];

/* Every cell by itself. */
static void fluxes(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++) {
        double s = u[i];
        for (int k = 1; k <= WORK; k++)
            s += 1.0 / (k + s);
        f[i] = s;
    }
}

/* Each cell needs the one before it. */
__attribute__((noinline)) static void solve(int terms) {
    double before = 1;
    for (int i = 0; i < CELLS; i++) {
        for (int k = 1; k <= terms; k++)
            before += f[i] / (k + before);
        g[i] = before;
    }
}

static void update(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++)
        u[i] += 1e-3 * g[i];
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 0.3;
    for (int s = 0; s < STEPS; s++) {
        fluxes();
        solve((int)(WORK * dose));
        update();
    }
    printf("cells %g\n", u[11]);
    return 0;
}
