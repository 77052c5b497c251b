/* Rows of a lower triangle, dealt out in equal numbers: the thread with the last rows has the most to do. */
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 480, STEPS = 12, TERMS = 600 };

static double row[ROWS];

/* A row of `length` elements. */
__attribute__((noinline)) static double sum_row(int r, int length, double x) {
    double s = x;
    for (int k = 1; k <= length; k++)
        s += 1.0 / (k + s + r);
    return s;
}

static void sweep(double dose) {
#pragma omp parallel for schedule(static)
    for (int r = 0; r < ROWS; r++) {
        const double part = (1 - dose) * 0.5 + dose * (r + 1) / ROWS;
        row[r] = sum_row(r, (int)(part * 2 * TERMS * 40), row[r]);
    }
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    for (int s = 0; s < STEPS; s++)
        sweep(dose);
    printf("triangle %g\n", row[7]);
    return 0;
}
