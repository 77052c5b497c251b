/* A small tool as others are: counts calls and says so at the end. It makes calls of its own, too. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>

static int sends, reductions;

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send(data, n, type, to, tag, comm);
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    reductions++;
    MPI_Barrier(comm);
    return PMPI_Allreduce(in, out, n, type, op, comm);
}

#ifdef TAKES_INIT
int MPI_Init(int *argc, char ***argv) {
    int result = PMPI_Init(argc, argv);
    printf("tool begins\n");
    return result;
}
#endif

int MPI_Finalize(void) {
    printf("tool: %d sends, %d reductions\n", sends, reductions);
    fflush(stdout);
    return PMPI_Finalize();
}
