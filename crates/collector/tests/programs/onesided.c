/* One-sided communication in which somebody is late each time: rank 1 for a fence, rank 0 to open its window,
   rank 1 to end its access. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, flag = 0;
    double *cells, value = 1;
    MPI_Win window;
    MPI_Group all, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int partner = 1 - rank;
    MPI_Win_allocate(4 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &partner, &other);

    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    if (rank < 2)
        MPI_Put(&value, 1, MPI_DOUBLE, partner, 0, 1, MPI_DOUBLE, window);
    if (rank == 1)
        usleep(120000);
    MPI_Win_fence(0, window);

    /* Twice, and the second time asked for. */
    for (int step = 0; step < 2; step++) {
        if (rank == 0) {
            usleep(120000);
            MPI_Win_post(other, 0, window);
            if (step == 0)
                MPI_Win_wait(window);
            while (step == 1 && !flag)
                MPI_Win_test(window, &flag);
        } else if (rank == 1) {
            MPI_Win_start(other, 0, window);
            MPI_Put(&value, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, window);
            usleep(step == 0 ? 300000 : 150000);
            MPI_Win_complete(window);
        }
    }

    /* Nothing of the above is left over: the same at once. */
    if (rank == 1) {
        MPI_Win_post(other, 0, window);
        MPI_Win_wait(window);
    } else if (rank == 0) {
        MPI_Win_start(other, 0, window);
        MPI_Put(&value, 1, MPI_DOUBLE, 1, 2, 1, MPI_DOUBLE, window);
        MPI_Win_complete(window);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    if (rank == 0)
        printf("%g %g\n", cells[0], cells[1]);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
