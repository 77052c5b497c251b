/* Two ranks that exchange small messages both ways, some 100,000 calls a second and rank; takes the number of
 * steps. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    double out[64] = {1}, in[64] = {0}, sum = 0;
    int steps = argc > 1 ? atoi(argv[1]) : 100000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int step = 0; step < steps; step++) {
        MPI_Request request[2];
        MPI_Irecv(in, 64, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, 64, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &request[1]);
        for (int i = 0; i < 16000; i++)
            sum = 0.5 * sum + out[i % 64];
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        out[step % 64] = in[(step + 1) % 64] + 1e-9 * sum;
    }
    if (rank == 0)
        printf("%.6f\n", sum);
    MPI_Finalize();
    return 0;
}
