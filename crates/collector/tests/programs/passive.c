/* One-sided communication without the target's help: rank 0 holds the lock of its own window for long, twice, which
   rank 1 wants too, the second time with those of all. Then both share it, and nobody waits. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    double *cells, value = 1, sum = 0;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(4 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &window);
    for (int i = 0; i < 4; i++)
        cells[i] = 0;
    for (int step = 0; step < 2; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
            usleep(300000);
            MPI_Win_unlock(0, window);
        } else if (rank == 1) {
            usleep(100000);
            if (step == 0)
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            else
                MPI_Win_lock_all(0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 1 + step, 1, MPI_DOUBLE, window);
            MPI_Win_flush(0, window);
            if (step == 0)
                MPI_Win_unlock(0, window);
            else
                MPI_Win_unlock_all(window);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&value, 1, MPI_DOUBLE, 0, 2, 1, MPI_DOUBLE, window);
    MPI_Win_flush_all(window);
    usleep(rank == 0 ? 300000 : 1000);
    MPI_Win_unlock(0, window);
    MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%g %g %g\n", cells[0], cells[1], sum);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
