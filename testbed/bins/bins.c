/* Workers sort events into bins that all of them share, each event under the one lock. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVENTS = 40000, BINS = 256, ROUNDS = 8, WORK = 6000, WORKERS = 2 };

struct part {
    int first, last;
    double dose;
};

static double bins[BINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Energy of an event. */
__attribute__((noinline)) static double energy(int event, int terms) {
    double e = 1 + event % 13;
    for (int t = 1; t <= terms; t++)
        e += e / (t * (double)t);
    return e;
}

__attribute__((noinline)) static void add(double e, int terms) {
    const int bin = (int)e % BINS;
    for (int t = 1; t <= terms; t++)
        e += e / (t * (double)t);
    bins[bin] += e;
}

static void *sort_events(void *arg) {
    const struct part *part = arg;
    for (int i = part->first; i < part->last; i++) {
        double e = energy(i, (int)(WORK * (1 - part->dose)));
        pthread_mutex_lock(&lock);
        add(e, (int)(WORK * part->dose));
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void fill(int events, double dose) {
    pthread_t threads[WORKERS];
    struct part parts[WORKERS];
    for (int w = 0; w < WORKERS; w++) {
        parts[w] = (struct part){w * (events / WORKERS), (w + 1) * (events / WORKERS), dose};
        pthread_create(&threads[w], NULL, sort_events, &parts[w]);
    }
    for (int w = 0; w < WORKERS; w++)
        pthread_join(threads[w], NULL);
}

int main(int argc, char **argv) {
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const double dose = argc > 1 ? atof(argv[1]) : 0.8;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double all[BINS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        fill(EVENTS / ROUNDS / size, dose);
        MPI_Allreduce(bins, all, BINS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("bins %g\n", all[7]);
    MPI_Finalize();
    return 0;
}
