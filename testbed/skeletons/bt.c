/* The communication of NPB's BT (block tridiagonal solver), without its arithmetic.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020), with the
 * layout of multipartition.h: in each step six faces are exchanged, then systems along x, y and z are solved by a sweep over
 * the cells of a rank and another one back.
 * Kept: partners, message sizes (room for the largest cell), tags, which say where the cell is, and order: Irecv, Wait for the
 * last Isend, Wait for the Irecv, Isend. Left out: all values but those that are checked.
 * Argument: the class S, W or A. Ranks: a square. */
#include "multipartition.h"

enum { BLOCK = 5 };

static int widest;

/* The place of a cell in the plane across an axis, for its tag. */
static int across(int c, int axis) {
    return axis == X ? place[c][Y] + place[c][Z] * cells
         : axis == Y ? place[c][X] + place[c][Z] * cells
                     : place[c][X] + place[c][Y] * cells;
}

/* One sweep over the cells, to the successor or to the predecessor. */
static inline __attribute__((always_inline)) void sweep(int axis, int back, int count) {
    MPI_Request arrives, leaves;
    int from = back ? successor[axis] : predecessor[axis], to = back ? predecessor[axis] : successor[axis];
    int tag = back ? upper_tag[axis] : lower_tag[axis];
    for (int stage = 0; stage < cells; stage++) {
        int c = slice[axis][back ? cells - 1 - stage : stage];
        if (stage > 0) {
            MPI_Irecv(in, count, MPI_DOUBLE, from, tag + across(c, axis), comm_solve, &arrives);
            work(count);
            MPI_Wait(&leaves, MPI_STATUS_IGNORE);
            MPI_Wait(&arrives, MPI_STATUS_IGNORE);
            signed_by(in, count, from, serial, "a line");
        }
        work(count);
        if (stage < cells - 1) {
            sign(out, count, rank, serial);
            MPI_Isend(out, count, MPI_DOUBLE, to, tag + across(c, axis), comm_solve, &leaves);
        }
    }
}

static inline __attribute__((always_inline)) void solve(int axis) {
    sweep(axis, 0, widest * widest * (BLOCK * BLOCK + BLOCK));
    sweep(axis, 1, widest * widest * BLOCK);
}

__attribute__((noinline)) static void x_solve(void) {
    solve(X);
}

__attribute__((noinline)) static void y_solve(void) {
    solve(Y);
}

__attribute__((noinline)) static void z_solve(void) {
    solve(Z);
}

static void adi(void) {
    widest = points[slice[X][0]][X] + 1;
    copy_faces();
    x_solve();
    y_solve();
    z_solve();
}

int main(int argc, char **argv) {
    return run(argc, argv, of_class(argc, argv, 12, 24, 64), of_class(argc, argv, 60, 200, 200));
}
