/* Files: rank 1 is late for each collective; rank 0 writes and reads for itself, by requests as well, while messages
   with the same requests' handles are under way. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, out[4] = {1, 2, 3, 4}, in[4] = {0}, value = 0, sum = 0;
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    if (rank == 1)
        usleep(200000);
    MPI_File_write_at_all(file, 4 * rank, out, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (rank == 0)
        for (int i = 0; i < 5; i++) {
            MPI_File_iwrite_at(file, 4 * size + i, &out[0], 1, MPI_INT, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Isend(&i, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_File_read_at(file, i % 4, in, 1, MPI_INT, MPI_STATUS_IGNORE);
            sum += in[0];
        }
    else if (rank == 1)
        for (int i = 0; i < 5; i++) {
            MPI_File_iread_at(file, 4 + i % 4, in, 1, MPI_INT, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    if (rank == 1)
        usleep(200000);
    MPI_File_sync(file);
    MPI_File_write_ordered_begin(file, out, 1, MPI_INT);
    MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
