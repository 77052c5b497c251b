/* Each thread makes a table of its own, as large as the others' together would have to be, before its share of look-ups. */
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 4096, LOOKUPS = 120000, STEPS = 6, WORK = 30 };

__attribute__((noinline)) static double entry(int i, int terms) {
    double x = 1 + i % 9;
    for (int k = 1; k <= terms; k++)
        x += x / (k * (double)k);
    return x;
}

__attribute__((noinline)) static double look_up(const double *table, int i) {
    double x = table[i % ENTRIES];
    for (int k = 1; k <= 10 * WORK; k++)
        x += 1.0 / (k + x);
    return x;
}

static double step(double dose) {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        double *table = malloc(ENTRIES * sizeof *table);
        for (int i = 0; i < ENTRIES; i++)
            table[i] = entry(i, (int)(WORK * 60 * dose));
#pragma omp for schedule(static)
        for (int i = 0; i < LOOKUPS; i++)
            sum += look_up(table, i);
        free(table);
    }
    return sum;
}

int main(int argc, char **argv) {
    const double dose = argc > 1 ? atof(argv[1]) : 1.0;
    double sum = 0;
    for (int s = 0; s < STEPS; s++)
        sum += step(dose);
    printf("sum %g\n", sum);
    return 0;
}
