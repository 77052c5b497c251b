/* Asks its library what that answers at once, before and between calls that are recorded. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, count, sum = 0;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 1000; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        sum += rank < size;
    }
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&sum, 1, MPI_INT, (rank + 1) % size, 0, &count, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        sum += count;
    }
    printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}
