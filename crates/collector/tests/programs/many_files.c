/* Files and windows that come and go, some of them at once. */
#include <mpi.h>
#include <stdio.h>

#define AT_ONCE 30

int main(int argc, char **argv) {
    int rank, value = 7, sum = 0;
    char name[4200];
    MPI_File files[AT_ONCE];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < AT_ONCE; i++) {
        snprintf(name, sizeof name, "%s%d", argv[1], i);
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &files[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        MPI_File_write_at_all(files[i], 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&files[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        MPI_Win window;
        int place = 0;
        MPI_Win_create(&place, sizeof place, sizeof place, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        MPI_Put(&rank, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        sum += place;
        MPI_Win_free(&window);
    }
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
