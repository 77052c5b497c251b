/* Uses the world in every way that would meet messages of somebody else on it: takes whatever comes as soon
   as MPI_Init has returned, has an attribute that must not be copied, and leaves messages that nobody takes. */
#include <mpi.h>
#include <stdio.h>

static int copied;
static int copy(MPI_Comm c, int key, void *extra, void *value, void *out, int *flag) {
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}
static int deleted(MPI_Comm c, int key, void *value, void *extra) { return MPI_SUCCESS; }
static int at_end(MPI_Comm c, int key, void *value, void *extra) {
    printf("copied %d times\n", copied);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank, size, key, last, sum = 0, left = 7;
    MPI_Request lost;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size;
    for (int i = 0; i < 40; i++) {
        int mine = i * size + rank, got = -1;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Send(&mine, 1, MPI_INT, next, 18519 - i, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        int count;
        MPI_Get_count(&status, MPI_INT, &count);
        sum += got + count + status.MPI_TAG;
    }
    int all;
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("took %d\n", all);
    MPI_Comm_create_keyval(copy, deleted, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copied);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &last, NULL);
    if (rank == 0)
        MPI_Comm_set_attr(MPI_COMM_SELF, last, &copied);
    MPI_Send(&left, 1, MPI_INT, next, 18519, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
