/* Uses all communicators that there are up, as a program that never frees them does, and has an error
   handler that must not hear of others. */
#include <mpi.h>
#include <stdio.h>

static void heard(MPI_Comm *comm, int *code, ...) { printf("heard of error %d\n", *code); }

int main(int argc, char **argv) {
    int rank, made = 0, most = argc > 1 ? 100000 : 5;
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (made < most && MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS)
        made++;
    MPI_Comm_create_errhandler(heard, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (rank == 0)
        printf("made %d\n", made);
    MPI_Finalize();
    return 0;
}
