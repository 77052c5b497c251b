/* Communicators with the same members that are made in another order on each rank: without blocking, of two others; and
   by two threads, of a group, told apart by tags. A message over each. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static MPI_Group all;
static int rank;

static int told_over(MPI_Comm comm, int value) {
    int got = value;
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 5, comm);
    else
        MPI_Recv(&got, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    return got;
}

static void *makes(void *number) {
    static int sums[2];
    int me = *(int *)number;
    for (int i = 0; i < 30; i++) {
        MPI_Comm comm;
        MPI_Comm_create_group(MPI_COMM_WORLD, all, 100 + me, &comm);
        sums[me] += told_over(comm, i);
    }
    return &sums[me];
}

int main(int argc, char **argv) {
    int level, sum = 0, numbers[2] = {0, 1};
    MPI_Comm two[2], of[2];
    MPI_Request requests[2];
    pthread_t other;
    void *its, *mine;
    char line[64];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &two[i]);
    for (int i = 0; i < 2; i++)
        MPI_Comm_idup(two[i ^ rank], &of[i ^ rank], &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++)
        sum += told_over(of[i], i + 1);
    if (level == MPI_THREAD_MULTIPLE)
        pthread_create(&other, NULL, makes, &numbers[1]);
    mine = makes(&numbers[0]);
    if (level == MPI_THREAD_MULTIPLE)
        pthread_join(other, &its);
    else
        its = makes(&numbers[1]);
    snprintf(line, sizeof line, "sum %d\n", sum + *(int *)mine + *(int *)its);
    fputs(line, stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
