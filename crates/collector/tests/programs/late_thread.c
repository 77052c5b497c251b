/* A thread that has no core at first: its maker has the only one for 0.2 s, as a real-time thread. Where that is not
 * permitted, the exit code is 3. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

static volatile double sum;

static void *body(void *nothing) {
    for (int i = 0; i < 20000000; i++)
        sum += i;
    return nothing;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    int rank, refused = 0;
    cpu_set_t one;
    struct sched_param usual = {.sched_priority = 0}, first = {.sched_priority = 1};
    pthread_attr_t attributes;
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
        pthread_attr_init(&attributes);
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
        pthread_attr_setschedparam(&attributes, &usual);
        refused = sched_setscheduler(0, SCHED_FIFO, &first) != 0;
        double until = now() + 0.2;
        pthread_create(&thread, &attributes, body, NULL);
        while (now() < until)
            ;
        sched_setscheduler(0, SCHED_OTHER, &usual);
        pthread_join(thread, NULL);
    }
    MPI_Bcast(&refused, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return refused ? 3 : 0;
}
