/* The communication of NPB's MG (multigrid), without its arithmetic.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020): a periodic
 * cube is divided over 2^k ranks in three axes; a V-cycle goes down its levels and up again; after each operator the faces
 * are exchanged axis by axis. Where a level has fewer points than an axis has ranks, some ranks have nothing to do there
 * and get values from those that have.
 * Kept: the grid, neighbours of each level (a rank may be its own neighbour), message sizes, tags and order (Irecv twice, Send
 * twice, Wait twice for each axis), reductions of the norms and of the start values, the cycle that is not timed. Left
 * out: all values but those that are checked.
 * Argument: the class S, W or A. Ranks: a power of two. */
#include <mpi.h>
#include "skeleton.h"

enum { MOST_LEVELS = 12, EXTREMES = 10, DOWN = 0, UP = 1 };

struct level {
    int points[3], dead, gives[3], takes[3], neighbour[3][2];
};

static struct level level[MOST_LEVELS];
static int top, buffer, serial;
static double *in[2], *out[2];
static MPI_Request request[2];
static int source[2];

static int tag_of(int axis, int way) {
    return 100 * ((way == UP ? 3 : 1) + 10 * (axis + 1));
}

/* Posts the receive of what comes from the other side when all send this way. */
static void ready(int axis, int way, int k) {
    source[way] = level[k].neighbour[axis][!way];
    MPI_Irecv(in[way], buffer, MPI_DOUBLE, source[way], tag_of(axis, way), MPI_COMM_WORLD, &request[way]);
}

static void give(int axis, int way, int k, int count) {
    sign(out[way], count, rank, serial);
    MPI_Send(out[way], count, MPI_DOUBLE, level[k].neighbour[axis][way], tag_of(axis, way), MPI_COMM_WORLD);
}

static void take(int way) {
    MPI_Wait(&request[way], MPI_STATUS_IGNORE);
    signed_by(in[way], 1, source[way], serial, "a face");
}

/* Values of a face: the exchange of an axis has the borders of the axes before it. */
static int face(int axis, const int *n) {
    return axis == 0 ? (n[1] - 2) * (n[2] - 2) : axis == 1 ? n[0] * (n[2] - 2) : n[0] * n[1];
}

static void comm3(int k) {
    serial++;
    if (level[k].dead)
        return;
    for (int axis = 0; axis < 3 && size > 1; axis++) {
        int count = face(axis, level[k].points);
        ready(axis, DOWN, k);
        ready(axis, UP, k);
        give(axis, UP, k, count);
        give(axis, DOWN, k, count);
        take(DOWN);
        take(UP);
    }
}

/* The same for ranks that have nothing to do on the level below. */
static void comm3_ex(int k) {
    serial++;
    for (int axis = 0; axis < 3 && size > 1; axis++) {
        const int *n = level[k].points;
        int whole = n[0] * n[1] * n[2] / n[axis];
        if (level[k].takes[axis]) {
            ready(axis, DOWN, k);
            ready(axis, UP, k);
            take(DOWN);
            take(UP);
        }
        if (level[k].gives[axis]) {
            give(axis, UP, k, 2 * whole);
            give(axis, DOWN, k, whole);
        }
    }
}

static void smooth(int k) {
    work(level[k].points[0] * level[k].points[1]);
}

static void resid(int k) {
    smooth(k);
    comm3(k);
}

static void psinv(int k) {
    smooth(k);
    comm3(k);
}

static void rprj3(int k) {
    smooth(k);
    comm3(k - 1);
}

static void interp(int k) {
    smooth(k);
    comm3_ex(k);
}

static void cycle(void) {
    for (int k = top; k > 1; k--)
        rprj3(k);
    psinv(1);
    for (int k = 2; k < top; k++) {
        interp(k);
        resid(k);
        psinv(k);
    }
    interp(top);
    resid(top);
    psinv(top);
}

static void norm(void) {
    double most = rank, sum = 1, all;
    MPI_Allreduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    expect(all, size - 1, "a maximum");
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(all, size, "a norm");
}

/* The start values: the ten largest and smallest random numbers, wherever they are. */
static void start_values(void) {
    for (int i = EXTREMES; i > 0; i--)
        for (int least = 0; least < 2; least++) {
            int where[4] = {rank, i, least, 0}, all[4];
            double own = mixed(rank * 100 + i) % 1000, best;
            MPI_Allreduce(&own, &best, 1, MPI_DOUBLE, least ? MPI_MIN : MPI_MAX, MPI_COMM_WORLD);
            where[3] = own == best;
            MPI_Allreduce(where, all, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            expect(all[3], 1, "who has the extreme");
        }
    comm3(top);
}

/* Points, neighbours and idle ranks of each level. */
static void setup(void) {
    int bits = 0, parts[3], at[3], next[3] = {1, 1, 1};
    while (1 << (bits + 1) <= size)
        bits++;
    parts[0] = 1 << (bits / 3);
    parts[1] = 1 << ((bits - bits / 3) / 2);
    parts[2] = size / (parts[0] * parts[1]);
    at[0] = rank % parts[0];
    at[1] = rank / parts[0] % parts[1];
    at[2] = rank / (parts[0] * parts[1]);
    memset(level, 0, sizeof level);
    for (int k = top; k > 0; k--)
        for (int axis = 0; axis < 3; axis++) {
            int grid = 1 << k, p = parts[axis], here = at[axis], far = here + next[axis];
            int own = (here + 1) * grid / p - here * grid / p;
            int other = (far + 1) * grid / p - far * grid / p;
            level[k].points[axis] = 2 + own;
            if (own == 0 || other == 0)
                next[axis] *= 2;
            if (k < top) {
                level[k + 1].gives[axis] = other == 0 && own == 1;
                level[k + 1].takes[axis] = other == 1 && own == 0;
            }
            level[k].dead |= own == 0;
            for (int way = 0; way < 2; way++) {
                int to[3] = {at[0], at[1], at[2]};
                to[axis] = (here + (way == UP ? next[axis] : 2 * p - next[axis])) % p;
                level[k].neighbour[axis][way] = to[0] + parts[0] * (to[1] + parts[1] * to[2]);
            }
        }
    /* A buffer has room for two faces of the largest part. */
    buffer = 2 + (1 << (top - bits / 3));
    buffer = 2 * buffer * buffer;
}

int main(int argc, char **argv) {
    int cycles = 4, input[6] = {0}, debug[8] = {0};
    double time, slowest;
    top = of_class(argc, argv, 5, 7, 8);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 5; i++)
        MPI_Bcast(&input[i], 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(debug, 8, MPI_INT, 0, MPI_COMM_WORLD);
    if (size & (size - 1)) {
        if (rank == 0)
            fprintf(stderr, "mg: the number of ranks has to be a power of two\n");
        MPI_Finalize();
        return 2;
    }
    setup();
    for (int way = 0; way < 2; way++) {
        in[way] = doubles(buffer);
        out[way] = doubles(buffer);
    }
    start_values();
    norm();
    resid(top);
    norm();
    cycle();
    resid(top);
    setup();
    start_values();
    MPI_Barrier(MPI_COMM_WORLD);
    time = MPI_Wtime();
    resid(top);
    norm();
    for (int i = 0; i < cycles; i++) {
        cycle();
        resid(top);
    }
    norm();
    time = MPI_Wtime() - time;
    MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return verdict();
}
