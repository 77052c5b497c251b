/* Rank 1 waits for a message that nobody sends. Rank 0 is killed meanwhile, so the launcher kills rank 1. With an
 * argument, rank 0 first waits until this directory has a trace. */
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int has_trace(const char *directory) {
    DIR *all = opendir(directory);
    int found = 0;
    for (struct dirent *one; all && (one = readdir(all));) {
        const char *last = strrchr(one->d_name, '.');
        found |= !strncmp(one->d_name, "whole.trace", 11) && strcmp(last, ".part") && strcmp(last, ".call");
    }
    if (all)
        closedir(all);
    return found;
}

int main(int argc, char **argv) {
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(300000);
    for (int i = 0; argc > 1 && i < 300 && !has_trace(argv[1]); i++)
        usleep(100000);
    raise(SIGKILL);
    return 1;
}
