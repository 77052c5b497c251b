/* Regions of all kinds, right and wrong; rank 0 says what happened. */
#include "headwater.h"
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEPS 2000
#define LATE 700

static volatile double x;

static void work(int n) {
    for (int i = 0; i < n; i++)
        x += i;
}

static void assemble(int rank) {
    HEADWATER_REGION("assemble");
    work(100 + 400 * rank);
}

static void solve(int step) {
    HEADWATER_REGION("solve");
    if (step == LATE)
        usleep(300000);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void deep(int left) {
    char name[32];
    snprintf(name, sizeof name, "level %d", left % 3);
    HEADWATER_BEGIN(name);
    if (left > 0)
        deep(left - 1);
    else
        MPI_Barrier(MPI_COMM_SELF);
    HEADWATER_END(name);
}

int main(int argc, char **argv) {
    int rank;
    /* Nothing is recorded yet. */
    HEADWATER_REGION("early");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < STEPS; step++) {
        HEADWATER_REGION("step");
        assemble(rank);
        solve(step);
    }
    HEADWATER_BEGIN("marked");
    for (int i = 0; i < 100; i++)
        HEADWATER_ITERATION();
    HEADWATER_END("marked");
    HEADWATER_ITERATION();
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* Wrong ones. */
    /* The first may be that of the early one. */
    HEADWATER_END("nobody");
    HEADWATER_END("nobody");
    HEADWATER_END(0);
    HEADWATER_BEGIN("outer");
    HEADWATER_BEGIN("inner");
    HEADWATER_END("outer");
    HEADWATER_END("inner");
    HEADWATER_BEGIN("\033[31mred\n\xff");
    HEADWATER_END("\033[31mred\n\xff");
    HEADWATER_BEGIN(0);
    HEADWATER_END(0);
    deep(200);
    char name[200];
    for (int i = 0; i < 1000; i++) {
        strcpy(name, i % 2 ? "odd" : "even");
        HEADWATER_BEGIN(name);
        HEADWATER_END(name);
    }
    /* Names in one place: what they are tells which region ends, not where. */
    for (int i = 0; i < 2; i++) {
        strcpy(name, "reused");
        HEADWATER_BEGIN(name);
        strcpy(name, "within");
        HEADWATER_BEGIN(name);
        if (i > 0)
            HEADWATER_BEGIN("inmost");
        strcpy(name, "reused");
        HEADWATER_END(name);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    HEADWATER_BEGIN(name);
    HEADWATER_END(name);
    for (int i = 0; i < 5; i++)
        HEADWATER_BEGIN("never");
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "name %d", i);
        HEADWATER_BEGIN(name);
        HEADWATER_END(name);
    }
    MPI_Finalize();
    if (rank == 1)
        write(1, "done\n", 5);
    return 0;
}
