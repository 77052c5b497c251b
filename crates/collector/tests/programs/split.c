/* Threads whose stacks grow piece by piece as they recurse (-fsplit-stack). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static volatile double x;

static int deep(int n) {
    char room[600];
    room[0] = (char)n;
    for (int i = 0; i < 200; i++)
        x += i;
    return n > 0 ? deep(n - 1) + room[0] % 2 : 0;
}

static void *work(void *unused) {
    long sum = 0;
    for (int i = 0; i < 150; i++)
        sum += deep(1000);
    return (void *)(sum + (unused != NULL));
}

int main(int argc, char **argv) {
    pthread_t threads[4];
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, NULL);
        work(NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("done %d\n", argc);
    MPI_Finalize();
    return 0;
}
