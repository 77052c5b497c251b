/* A program that starts itself again, with all that it was started with, and sends to its child. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char *assigned(const char *name) {
    static char texts[2][4096];
    static int used;
    char *text = texts[used++], *value = getenv(name);
    snprintf(text, sizeof texts[0], "%s=%s", name, value ? value : "");
    return text;
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Comm parent, between, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        char *words[] = {assigned("LD_PRELOAD"), assigned("HEADWATER_SPOOL"), argv[0], NULL};
        MPI_Comm_spawn("/usr/bin/env", words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    } else {
        between = parent;
    }
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    if (rank == 0) {
        for (int i = 0; i < 5; i++)
            MPI_Send(&i, 1, MPI_INT, 2, 5, all);
    } else if (rank == 2) {
        for (int i = 0; i < 5; i++)
            MPI_Recv(&value, 1, MPI_INT, 0, 5, all, MPI_STATUS_IGNORE);
        printf("child %d\n", value);
        fflush(stdout);
    }
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
