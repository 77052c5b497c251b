/* Time steps whose inner loops depend on the data: a trace of many steps should be no longer than one of a few.
 *
 * Each step sends borders around a ring and solves until the residual is small. How often depends on the step, and is the same
 * on all ranks, as they reduce the residual. With `branches`, some calls also depend on the rank and on the step: pairs that
 * exchange in some steps only, a rank that reports to rank 0, a half of the ranks that agrees on something.
 * Arguments: steps (10), then `branches` or nothing. Any number of ranks. */
#include <mpi.h>
#include "skeleton.h"

enum { BORDER = 256, BORDER_TAG = 1, PAIR_TAG, REPORT_TAG };

static double out[2][BORDER], in[2][BORDER];
static int next, last;
static MPI_Comm half;

/* Borders to both neighbours. */
static void exchange(int step) {
    MPI_Request request[4];
    sign(out[0], BORDER, rank, step);
    sign(out[1], BORDER, rank, step);
    MPI_Irecv(in[0], BORDER, MPI_DOUBLE, last, BORDER_TAG, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(in[1], BORDER, MPI_DOUBLE, next, BORDER_TAG, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(out[0], BORDER, MPI_DOUBLE, next, BORDER_TAG, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(out[1], BORDER, MPI_DOUBLE, last, BORDER_TAG, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    signed_by(in[0], BORDER, last, step, "a border from below");
    signed_by(in[1], BORDER, next, step, "a border from above");
}

/* Halves the residual until it is small; the first one depends on the step. */
static int solve(int step) {
    double own = (double)(1 + mixed(step * 64ULL + rank) % 1000), residual;
    int trips = 0;
    do {
        exchange(step * 100 + trips);
        work(200);
        own /= 2;
        MPI_Allreduce(&own, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        trips++;
    } while (residual > (double)(1 + mixed(step) % 64));
    return trips;
}

/* Ranks 2k and 2k + 1 exchange in some steps, each pair in others. */
static void pairs(int step) {
    int other = rank ^ 1;
    double value = rank, got;
    if (other >= size || mixed(step * 1000ULL + rank / 2) % 3 != 0)
        return;
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, other, PAIR_TAG, &got, 1, MPI_DOUBLE, other, PAIR_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(got, other, "a pair's value");
}

/* One rank tells rank 0 in every fourth step. */
static void report(int step) {
    int who = step / 4 % size;
    double value = step, got;
    if (step % 4 != 0 || who == 0)
        return;
    if (rank == who)
        MPI_Send(&value, 1, MPI_DOUBLE, 0, REPORT_TAG, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&got, 1, MPI_DOUBLE, who, REPORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got, step, "a report");
    }
}

/* Odd ranks agree in every third step, even ones in every fifth. */
static void agree(int step) {
    int one = 1, sum;
    if (step % (rank % 2 ? 3 : 5) != 0)
        return;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    expect(sum, rank % 2 ? size / 2 : (size + 1) / 2, "half of the ranks");
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 10, branches = argc > 2 && strcmp(argv[2], "branches") == 0;
    long trips = 0, most;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int step = 0; step < steps; step++) {
        trips += solve(step);
        if (branches) {
            pairs(step);
            report(step);
            agree(step);
        }
    }
    MPI_Allreduce(&trips, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    expect(trips, most, "the number of inner steps");
    MPI_Comm_free(&half);
    MPI_Finalize();
    return verdict();
}
