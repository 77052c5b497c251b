/* Every particle is added to a common histogram in a critical section that does too much. */
#include <stdio.h>
#include <stdlib.h>

enum { PARTICLES = 24000, STEPS = 4, WORK = 900 };

static double histogram[64];

__attribute__((noinline)) static double push(int p, int terms) {
    double x = 1 + p % 7;
    for (int k = 1; k <= terms; k++)
        x += x / (k * (double)k);
    return x;
}

static void step(double dose) {
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTICLES; p++) {
        double x = push(p, (int)(WORK * (1 - dose)));
#pragma omp critical
        {
            for (int k = 1; k <= (int)(WORK * dose); k++)
                x += x / (k * (double)k);
            histogram[p % 64] += x;
        }
    }
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 0.6;
    for (int s = 0; s < STEPS; s++)
        step(dose);
    printf("histogram %g\n", histogram[3]);
    return 0;
}
