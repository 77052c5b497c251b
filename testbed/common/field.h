/* A field of cells and its relaxation, as most programs here have one. */
#ifndef FIELD_H
#define FIELD_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 65536, STEPS = 100, SWEEPS = 330 };

static double *field_new(int n) {
    double *x = malloc(sizeof(double) * (size_t)(n + 2));
    for (int i = 0; i < n + 2; i++)
        x[i] = 1.0 / (1 + i % 7);
    return x;
}

__attribute__((noinline)) static void relax(double *x, int n, int sweeps) {
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i <= n; i++)
            x[i] = 0.25 * (x[i - 1] + x[i + 1]) + 0.5 * x[i];
}

/* Sends the edges of a field to both neighbours on a ring and takes theirs. */
__attribute__((noinline)) static void exchange(double *x, int n, int rank, int size, int tag) {
    MPI_Request request[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(&x[0], 1, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(&x[n + 1], 1, MPI_DOUBLE, right, tag + 1, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(&x[1], 1, MPI_DOUBLE, left, tag + 1, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(&x[n], 1, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

/* How much of its cause a program has: its first argument, 0 for nothing of it. */
static double dose_of(int argc, char **argv) { return argc > 1 ? atof(argv[1]) : 1.0; }
#endif
