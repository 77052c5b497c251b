/* Computes for the seconds of CPU time that the argument says with every signal blocked, as programs
 * with a thread for signals do, and then with none. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double x;

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    sigset_t all, before;
    MPI_Init(&argc, &argv);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    while ((double)clock() / CLOCKS_PER_SEC < seconds)
        for (int i = 0; i < 100000; i++)
            x = x + i;
    sigprocmask(SIG_SETMASK, &before, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
