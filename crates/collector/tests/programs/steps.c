/* Computes, exchanges with neighbours and reduces, for as many steps as the first argument says. The
 * second argument says how rank 1 ends half way: "kill", "abort", "_exit", "hang-up" or nothing. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile double x;

int main(int argc, char **argv) {
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 50;
    const char *end = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, mine = rank, got = 0;
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[2];
        for (int i = 0; i < 20000; i++)
            x = x + i;
        MPI_Irecv(&got, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        mine = got;
        double sum = got, all;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (step == steps / 2 && rank == 1) {
            if (!strcmp(end, "kill"))
                kill(getpid(), SIGKILL);
            if (!strcmp(end, "abort"))
                MPI_Abort(MPI_COMM_WORLD, 7);
            if (!strcmp(end, "_exit"))
                _exit(3);
        }
    }
    if (rank == 0)
        printf("mine %d\n", mine);
    if (!strcmp(end, "no-finalize"))
        _exit(0);
    MPI_Finalize();
    return 0;
}
