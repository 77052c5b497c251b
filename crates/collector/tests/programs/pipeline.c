/* A pipeline without any collective: rank 0 computes an item and sends it on, the others have less work each and
   wait for it. The second half has items of ten times the work. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double work(double x, int n)
{
    for (int i = 0; i < n; i++)
        x = 0.999 * x + 0.5;
    return x;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int items = argc > 1 ? atoi(argv[1]) : 100;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double x = 1;
    for (int n = 0; n < items; n++) {
        if (rank > 0)
            MPI_Recv(&x, 1, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        x = work(x, (2 * n < items ? 500 : 5000) / (rank + 1));
        if (rank + 1 < size)
            MPI_Send(&x, 1, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
    }
    if (rank + 1 == size)
        printf("%d\n", x > 0);
    MPI_Finalize();
    return 0;
}
