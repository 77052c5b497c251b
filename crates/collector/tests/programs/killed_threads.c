/* Two threads of each rank call MPI for longer than it takes until a trace is written. Then the process is killed. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static void *body(void *argument) {
    int out = 1, in, me = *(int *)argument;
    double end = MPI_Wtime() + 1.5;
    while (MPI_Wtime() < end)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, me, &in, 1, MPI_INT, 0, me, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv) {
    int level, numbers[] = {0, 1};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE) {
        puts("no threads here");
        MPI_Finalize();
        return 0;
    }
    pthread_t other;
    pthread_create(&other, NULL, body, &numbers[1]);
    body(&numbers[0]);
    pthread_join(other, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
    return 1;
}
