/* The communication of NPB's LU (a symmetric successive over-relaxation solver), without its arithmetic.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020): the x-y
 * plane is divided over a grid of 2^k ranks; in each step a wavefront goes over the planes from north-west to south-east and
 * another one back, and two layers of the solution are exchanged with the neighbours before the right-hand side is computed.
 * Kept: the grid, partners, message sizes, tags, blocking Recv and Send in the sweeps, Irecv, Send and Wait in the exchange,
 * norms, the step that is not timed, the surface integrals at the end. Left out: all values but those that are checked. A
 * part may be thinner than the benchmark allows, so 64 ranks run class S.
 * Argument: the class S, W or A. Ranks: a power of two. */
#include <mpi.h>
#include "skeleton.h"

enum { FROM_S = 1, FROM_N, FROM_E, FROM_W };

static int xdim, ydim, nx, ny, nz, inner_x, inner_y, serial;
static int north = -1, south = -1, west = -1, east = -1;
static double *out, *in;

static void receive(int count, int from, int tag) {
    if (from < 0)
        return;
    MPI_Recv(in, count, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    signed_by(in, count, from, serial, "a plane");
}

static void send(int count, int to, int tag) {
    if (to < 0)
        return;
    sign(out, count, rank, serial);
    MPI_Send(out, count, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
}

/* Lower triangle: from north and west to south and east. */
static void blts(void) {
    receive(5 * inner_y, north, FROM_N);
    receive(5 * inner_x, west, FROM_W);
    work(inner_x * inner_y);
    send(5 * inner_y, south, FROM_N);
    send(5 * inner_x, east, FROM_W);
}

/* Upper triangle: back. */
static void buts(void) {
    receive(5 * inner_y, south, FROM_S);
    receive(5 * inner_x, east, FROM_E);
    work(inner_x * inner_y);
    send(5 * inner_y, north, FROM_S);
    send(5 * inner_x, west, FROM_E);
}

/* Two layers from one side to the other. */
static void shift(int count, int from, int to, int tag) {
    MPI_Request request;
    if (from >= 0)
        MPI_Irecv(in, count, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &request);
    send(count, to, tag);
    if (from >= 0) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        signed_by(in, count, from, serial, "a layer");
    }
}

static void exchange_3(int axis) {
    if (axis == 0) {
        shift(10 * ny * nz, north, south, FROM_N);
        shift(10 * ny * nz, south, north, FROM_S);
    } else {
        shift(10 * nx * nz, west, east, FROM_W);
        shift(10 * nx * nz, east, west, FROM_E);
    }
}

static void rhs(void) {
    exchange_3(0);
    work(nx * ny);
    exchange_3(1);
    work(nx * ny);
}

static void l2norm(void) {
    double own[5] = {1, 2, 3, 4, 5}, sum[5];
    MPI_Allreduce(own, sum, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum[4], 5.0 * size, "a norm");
}

static void ssor(int steps) {
    rhs();
    l2norm();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 1; step <= steps; step++) {
        serial++;
        for (int k = 1; k < nz - 1; k++)
            blts();
        for (int k = nz - 2; k > 0; k--)
            buts();
        work(nx * ny);
        if (step == steps)
            l2norm();
        rhs();
        if (step == steps)
            l2norm();
    }
}

/* Surface integrals: borders go to the north and west. */
static void pintgr(void) {
    double own = 1, sum;
    shift(2 * nx, east, west, FROM_E);
    shift(2 * ny, south, north, FROM_S);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        shift(nz, south, north, FROM_S);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        shift(nz, east, west, FROM_E);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, size, "an integral");
}

/* Points of a part: the first ones have one more where they do not divide evenly. */
static int part(int n, int parts, int which) {
    return n / parts + (which < n % parts);
}

static void place(int n) {
    for (xdim = ydim = 1; xdim * ydim < size;)
        if (xdim > ydim)
            ydim *= 2;
        else
            xdim *= 2;
    int row = rank % xdim, column = rank / xdim;
    north = row > 0 ? rank - 1 : -1;
    south = row < xdim - 1 ? rank + 1 : -1;
    west = column > 0 ? rank - xdim : -1;
    east = column < ydim - 1 ? rank + xdim : -1;
    nx = part(n, xdim, row);
    ny = part(n, ydim, column);
    nz = n;
    inner_x = nx - (north < 0) - (south < 0);
    inner_y = ny - (west < 0) - (east < 0);
    inner_x = inner_x < 0 ? 0 : inner_x;
    inner_y = inner_y < 0 ? 0 : inner_y;
}

static void read_input(int n, int steps) {
    int whole[6] = {1, steps, steps, n, n, n};
    double real[3] = {0.5, 1.2, 1}, tolerance[5] = {1e-8, 1e-8, 1e-8, 1e-8, 1e-8};
    for (int i = 0; i < 3; i++)
        MPI_Bcast(&whole[i], 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Bcast(&real[i], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(tolerance, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 3; i < 6; i++)
        MPI_Bcast(&whole[i], 1, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int n = of_class(argc, argv, 12, 33, 64), steps = of_class(argc, argv, 50, 300, 250);
    double time, slowest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_input(n, steps);
    place(n);
    if (xdim * ydim != size) {
        if (rank == 0)
            fprintf(stderr, "lu: the number of ranks has to be a power of two\n");
        MPI_Finalize();
        return 2;
    }
    out = doubles(10 * (n + 2) * (n + 2));
    in = doubles(10 * (n + 2) * (n + 2));
    exchange_3(0);
    exchange_3(1);
    ssor(1);
    time = MPI_Wtime();
    ssor(steps);
    time = MPI_Wtime() - time;
    l2norm();
    pintgr();
    MPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return verdict();
}
