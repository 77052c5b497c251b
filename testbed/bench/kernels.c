/* Kernels that show what recording costs. Each prints the seconds of its loop on the slowest rank, or what one call takes, in
 * nanoseconds. Arguments: the kernel, its steps, and points that are computed between two calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 16384, HALO = 64, LEVELS = 6, DEPTH = 48 };

static double field[2][POINTS];
static double out[HALO], in[HALO];
static int rank, size, points;

/* A sweep over so many points, in cache. */
__attribute__((noinline)) static void compute(int n) {
    for (int done = 0; done < n; done += POINTS) {
        int length = n - done < POINTS ? n - done : POINTS;
        for (int i = 1; i < length - 1; i++)
            field[0][i] = 0.25 * (field[1][i - 1] + 2 * field[1][i] + field[1][i + 1]);
        field[1][length / 2] = 1 + 1e-9 * field[0][length / 3];
    }
}

/* Values with both neighbours in a ring. */
__attribute__((noinline)) static void exchange(int tag) {
    MPI_Request request[2];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Irecv(in, HALO, MPI_DOUBLE, last, tag, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, HALO, MPI_DOUBLE, next, tag, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

/* Few calls and much to compute. */
static void stencil(int steps) {
    double norm, sum;
    for (int step = 0; step < steps; step++) {
        compute(points);
        MPI_Sendrecv(out, HALO, MPI_DOUBLE, (rank + 1) % size, 1, in, HALO, MPI_DOUBLE, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        norm = field[0][1];
        MPI_Allreduce(&norm, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Planes that go from rank to rank, there and back, as in LU. */
static void wavefront(int steps) {
    enum { PLANES = 64 };
    for (int step = 0; step < steps; step++)
        for (int back = 0; back < 2; back++) {
            int from = back ? rank + 1 : rank - 1, to = back ? rank - 1 : rank + 1;
            for (int plane = 0; plane < PLANES; plane++) {
                if (from >= 0 && from < size)
                    MPI_Recv(in, 5, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                compute(points);
                if (to >= 0 && to < size)
                    MPI_Send(out, 5, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
            }
        }
}

/* A cycle over levels: the same exchange from two lines of each of them. */
static void cycle(int level) {
    compute(points >> (2 * level));
    exchange(level);
    if (level + 1 < LEVELS)
        cycle(level + 1);
    compute(points >> (2 * level));
    exchange(level);
}

static void multigrid(int steps) {
    for (int step = 0; step < steps; step++)
        cycle(0);
}

static void cg(int steps) {
    double part = 1, rho, alpha;
    for (int step = 0; step < steps; step++) {
        exchange(3);
        compute(points);
        MPI_Allreduce(&part, &alpha, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&part, &rho, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void halo(int steps) {
    for (int step = 0; step < steps; step++) {
        compute(points);
        exchange(4);
    }
}

/* Messages to itself: as many calls that do something as a library can take. */
static void to_itself(int steps) {
    MPI_Request request[2];
    for (int step = 0; step < steps; step++) {
        MPI_Irecv(in, 1, MPI_DOUBLE, 0, 5, MPI_COMM_SELF, &request[0]);
        MPI_Isend(out, 1, MPI_DOUBLE, 0, 5, MPI_COMM_SELF, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
}

__attribute__((noinline)) static void to_nobody(void) {
    MPI_Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    __asm__ volatile("");
}

static void known(int steps) {
    for (int step = 0; step < steps; step++)
        MPI_Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
}

/* Two call paths that end at one depth of the stack. */
static void two_paths(int steps) {
    for (int step = 0; step < steps; step += 2) {
        to_nobody();
        to_nobody();
    }
}

__attribute__((noinline)) static void below(int depth, int steps) {
    if (depth > 0)
        below(depth - 1, steps);
    else
        for (int step = 0; step < steps; step++)
            to_nobody();
    __asm__ volatile("");
}

static void deep(int steps) { below(DEPTH, steps); }

/* Questions that the library answers by itself. */
static void local(int steps) {
    int answer;
    for (int step = 0; step < steps; step++)
        MPI_Comm_rank(MPI_COMM_WORLD, &answer);
}

/* Asks for a message that comes only after the last question. */
static void poll_request(int steps) {
    MPI_Request request;
    int done;
    MPI_Irecv(in, 1, MPI_DOUBLE, 0, 6, MPI_COMM_SELF, &request);
    for (int step = 0; step < steps; step++)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_DOUBLE, 0, 6, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(int steps);
    int each; /* whether one call is told of */
} KERNELS[] = {
    {"stencil", stencil, 0}, {"wavefront", wavefront, 0}, {"multigrid", multigrid, 0}, {"cg", cg, 0},
    {"halo", halo, 0},       {"itself", to_itself, 0},    {"known", known, 1},         {"two-paths", two_paths, 1},
    {"deep", deep, 1},       {"local", local, 1},         {"poll", poll_request, 1},
};

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 1;
    points = argc > 3 ? atoi(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof KERNELS / sizeof KERNELS[0]; i++) {
        if (argc < 2 || strcmp(argv[1], KERNELS[i].name))
            continue;
        /* Pages and call paths are known before. */
        KERNELS[i].run(steps / 100 + 2);
        MPI_Barrier(MPI_COMM_WORLD);
        double own = -MPI_Wtime(), slowest;
        KERNELS[i].run(steps);
        own += MPI_Wtime();
        MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%.9f\n", KERNELS[i].each ? slowest / steps * 1e9 : slowest);
    }
    MPI_Finalize();
    return 0;
}
