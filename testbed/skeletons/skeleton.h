/* What all skeletons share: the computation that they leave out, checks of what a message brought, and class and sizes from
 * the command line. Nothing here calls MPI, so that a program calls what its benchmark calls. */
#ifndef SKELETON_H
#define SKELETON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, wrong;
static volatile double sink;

/* Stands for the computation of so many points. */
__attribute__((noinline, unused)) static void work(int points) {
    double x = 1;
    for (int i = 0; i < points; i++)
        x = x * 0.999 + 0.001 * i;
    sink = x;
}

/* Notes a value that is not what it has to be. The first few are printed. */
__attribute__((noinline, unused)) static void expect(double got, double wanted, const char *where) {
    if (got != wanted && wrong++ < 3)
        fprintf(stderr, "rank %d: %s is %g, not %g\n", rank, where, got, wanted);
}

/* The first and last value of a message say who sent it and at which step. */
__attribute__((unused)) static void sign(double *values, int count, int from, int step) {
    if (count > 0)
        values[0] = values[count - 1] = from + 1e-6 * (step + 1);
}

__attribute__((unused)) static void signed_by(const double *values, int count, int from, int step, const char *where) {
    if (count > 0) {
        expect(values[0], from + 1e-6 * (step + 1), where);
        expect(values[count - 1], from + 1e-6 * (step + 1), where);
    }
}

/* A number that looks random and is the same everywhere (the finalizer of splitmix64). */
__attribute__((unused)) static unsigned long long mixed(unsigned long long x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* One of three by the class in the first argument: S (also without one), W or A. */
__attribute__((unused)) static int of_class(int argc, char **argv, int s, int w, int a) {
    char class = argc > 1 ? argv[1][0] : 'S';
    return class == 'A' ? a : class == 'W' ? w : s;
}

__attribute__((unused)) static double *doubles(size_t count) {
    double *out = calloc(count > 0 ? count : 1, sizeof *out);
    if (!out)
        abort();
    return out;
}

/* The exit code. */
__attribute__((unused)) static int verdict(void) {
    if (wrong)
        fprintf(stderr, "rank %d: %d values were wrong\n", rank, wrong);
    return wrong != 0;
}
#endif
