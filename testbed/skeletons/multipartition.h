/* The multi-partition scheme that SP and BT share: with p x p ranks, the cube has p x p x p cells, and each rank has p of them
 * on a diagonal, one in each slice of each axis. So every stage of a sweep keeps all ranks busy.
 * After NAS technical report NAS-95-020. A cell may be thinner than the benchmarks allow, so 64 ranks run class S. */
#ifndef MULTIPARTITION_H
#define MULTIPARTITION_H

#include <mpi.h>
#include "skeleton.h"

enum { MOST_CELLS = 64, X = 0, Y = 1, Z = 2 };

/* The tags of the six directions. */
enum { WEST = 2000, EAST = 3000, SOUTH = 4000, NORTH = 5000, BOTTOM = 6000, TOP = 7000 };

static const int lower_tag[3] = {WEST, SOUTH, BOTTOM}, upper_tag[3] = {EAST, NORTH, TOP};

/* Cells of a rank: place and points in each axis, points at the outer border, and the cell in each slice. */
static int cells, place[MOST_CELLS][3], points[MOST_CELLS][3], border[MOST_CELLS][3], slice[3][MOST_CELLS];
static int successor[3], predecessor[3], upper[3], lower[3], serial;
static double *face_out[6], *face_in[6], *out, *in;
static MPI_Comm comm_solve, comm_rhs;

/* Lays out n x n x n points; 0 if the number of ranks is no square. */
static int lay_out(int n) {
    int p = 1, all;
    while ((p + 1) * (p + 1) <= size)
        p++;
    if (p * p != size || p > MOST_CELLS)
        return 0;
    cells = p;
    int i = rank % p, j = rank / p;
    for (int c = 0; c < p; c++) {
        int at[3] = {(i + c) % p, (j + p - c % p) % p, c};
        for (int axis = 0; axis < 3; axis++) {
            place[c][axis] = at[axis];
            points[c][axis] = n / p + (at[axis] < n % p);
            border[c][axis] = (at[axis] == 0) + (at[axis] == p - 1);
            slice[axis][at[axis]] = c;
        }
    }
    predecessor[X] = (i + p - 1) % p + p * j;
    successor[X] = (i + 1) % p + p * j;
    predecessor[Y] = i + p * ((j + p - 1) % p);
    successor[Y] = i + p * ((j + 1) % p);
    predecessor[Z] = (i + 1) % p + p * ((j + p - 1) % p);
    successor[Z] = (i + p - 1) % p + p * ((j + 1) % p);
    /* Two layers of five values, of all cells that have another one above or below. */
    for (int axis = 0; axis < 3; axis++)
        for (int c = 0; c < p; c++) {
            int values = 10 * points[c][(axis + 1) % 3] * points[c][(axis + 2) % 3];
            upper[axis] += place[c][axis] != p - 1 ? values : 0;
            lower[axis] += place[c][axis] != 0 ? values : 0;
        }
    all = 10 * n * n * p + 100;
    for (int side = 0; side < 6; side++) {
        face_out[side] = doubles(all);
        face_in[side] = doubles(all);
    }
    in = doubles(30 * (n / p + 2) * (n / p + 2));
    out = doubles(30 * (n / p + 2) * (n / p + 2));
    return 1;
}

/* Faces to and from all six neighbours. */
static void copy_faces(void) {
    MPI_Request request[12];
    serial++;
    if (size == 1)
        return;
    for (int axis = 0; axis < 3; axis++) {
        MPI_Irecv(face_in[2 * axis], upper[axis], MPI_DOUBLE, successor[axis], lower_tag[axis], comm_rhs,
                  &request[2 * axis]);
        MPI_Irecv(face_in[2 * axis + 1], lower[axis], MPI_DOUBLE, predecessor[axis], upper_tag[axis], comm_rhs,
                  &request[2 * axis + 1]);
    }
    for (int axis = 0; axis < 3; axis++) {
        sign(face_out[2 * axis], upper[axis], rank, serial);
        sign(face_out[2 * axis + 1], lower[axis], rank, serial);
        MPI_Isend(face_out[2 * axis], upper[axis], MPI_DOUBLE, successor[axis], upper_tag[axis], comm_rhs,
                  &request[6 + 2 * axis]);
        MPI_Isend(face_out[2 * axis + 1], lower[axis], MPI_DOUBLE, predecessor[axis], lower_tag[axis], comm_rhs,
                  &request[7 + 2 * axis]);
    }
    MPI_Waitall(12, request, MPI_STATUSES_IGNORE);
    for (int axis = 0; axis < 3; axis++) {
        signed_by(face_in[2 * axis], upper[axis], successor[axis], serial, "an upper face");
        signed_by(face_in[2 * axis + 1], lower[axis], predecessor[axis], serial, "a lower face");
    }
    work(upper[0]);
}

/* A norm of five values. */
static void norm(void) {
    double own[5] = {1, 2, 3, 4, 5}, sum[5];
    MPI_Allreduce(own, sum, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum[4], 5.0 * size, "a norm");
}

/* One step of the benchmark, which each of the two has its own of. */
static void adi(void);

/* The main program of both; gives the exit code. */
static int run(int argc, char **argv, int n, int steps) {
    int first = steps, grid[3] = {n, n, n};
    double time = 0.01, slowest;
    MPI_Comm comm_setup;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!lay_out(n)) {
        if (rank == 0)
            fprintf(stderr, "the number of ranks has to be a square\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm_setup);
    MPI_Comm_rank(comm_setup, &rank);
    MPI_Comm_size(comm_setup, &size);
    MPI_Comm_dup(comm_setup, &comm_solve);
    MPI_Comm_dup(comm_setup, &comm_rhs);
    MPI_Bcast(&first, 1, MPI_INT, 0, comm_setup);
    MPI_Bcast(&time, 1, MPI_DOUBLE, 0, comm_setup);
    MPI_Bcast(grid, 3, MPI_INT, 0, comm_setup);
    adi();
    MPI_Barrier(comm_setup);
    time = MPI_Wtime();
    for (int step = 0; step < steps; step++)
        adi();
    time = MPI_Wtime() - time;
    norm();
    copy_faces();
    norm();
    MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm_setup);
    MPI_Finalize();
    return verdict();
}
#endif
