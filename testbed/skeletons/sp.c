/* The communication of NPB's SP (scalar pentadiagonal solver), without its arithmetic.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020), with the
 * layout of multipartition.h: in each step six faces are exchanged, then systems along x, y and z are solved by a sweep over
 * the cells of a rank and another one back.
 * Kept: partners, message sizes, tags and order: Irecv, Waitall for it and for the last Isend, Isend. Left out: all
 * values but those that are checked.
 * Argument: the class S, W or A. Ranks: a square. */
#include "multipartition.h"

/* Values of a line that the next cell needs, there and back. */
enum { FORWARD = 22, BACKWARD = 10 };

static int lines(int c, int axis) {
    int a = (axis + 1) % 3, b = (axis + 2) % 3;
    return (points[c][a] - border[c][a]) * (points[c][b] - border[c][b]);
}

/* One sweep over the cells, to the successor or to the predecessor. */
static inline __attribute__((always_inline)) void sweep(int axis, int back, int values) {
    MPI_Request request[2];
    int from = back ? successor[axis] : predecessor[axis], to = back ? predecessor[axis] : successor[axis];
    for (int stage = 0; stage < cells; stage++) {
        int c = slice[axis][back ? cells - 1 - stage : stage], count = values * lines(c, axis);
        if (stage > 0) {
            MPI_Irecv(in, count, MPI_DOUBLE, from, 0, comm_solve, &request[0]);
            work(count);
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
            signed_by(in, count, from, serial, "a line");
        }
        work(count);
        if (stage < cells - 1) {
            sign(out, count, rank, serial);
            MPI_Isend(out, count, MPI_DOUBLE, to, 0, comm_solve, &request[1]);
        }
    }
}

__attribute__((noinline)) static void x_solve(void) {
    sweep(X, 0, FORWARD);
    sweep(X, 1, BACKWARD);
}

__attribute__((noinline)) static void y_solve(void) {
    sweep(Y, 0, FORWARD);
    sweep(Y, 1, BACKWARD);
}

__attribute__((noinline)) static void z_solve(void) {
    sweep(Z, 0, FORWARD);
    sweep(Z, 1, BACKWARD);
}

static void adi(void) {
    copy_faces();
    x_solve();
    y_solve();
    z_solve();
}

int main(int argc, char **argv) {
    return run(argc, argv, of_class(argc, argv, 12, 36, 64), of_class(argc, argv, 100, 400, 400));
}
