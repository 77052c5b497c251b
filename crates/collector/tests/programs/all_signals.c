/* Sets its own handler for every signal after MPI_Init, as programs do that report how they ended. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile double x;

static void ended(int number) {
    _exit(100 + number);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int number = 1; number < 32; number++)
        if (number != SIGCHLD)
            signal(number, ended);
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 5000000; i++)
            x = x + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%s\n", signal(SIGURG, SIG_DFL) == ended ? "ours" : "another's");
    MPI_Finalize();
    return 0;
}
