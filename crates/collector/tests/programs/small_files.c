/* Sums three times. In the end, rank 0 may write no more files. */
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        struct rlimit none = {16, 16};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    return MPI_Finalize();
}
