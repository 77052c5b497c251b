/* A thread that calls no MPI works while another one has recording paused. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_int turn;

static void await(int wanted) {
    while (atomic_load(&turn) != wanted)
        usleep(1000);
}

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void work(double seconds) {
    volatile double x = 0;
    for (double end = cpu() + seconds; cpu() < end;)
        for (int i = 0; i < 1000; i++)
            x += i;
}

static void *body(void *none) {
    await(1);
    work(0.3);
    atomic_store(&turn, 2);
    await(3);
    work(0.1);
    return none;
}

int main(int argc, char **argv) {
    int level;
    pthread_t worker;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    pthread_create(&worker, NULL, body, NULL);
    MPI_Pcontrol(0);
    atomic_store(&turn, 1);
    await(2);
    MPI_Pcontrol(1);
    atomic_store(&turn, 3);
    pthread_join(worker, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
