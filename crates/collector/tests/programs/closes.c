/* Exchanges messages before, while and after another thread takes a library out. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int turn;

static void await(int wanted) {
    while (atomic_load(&turn) < wanted)
        usleep(1000);
}

static void is_closing(void) {
    atomic_store(&turn, 1);
    await(2);
}

static void *closes(void *library) {
    dlclose(library);
    return NULL;
}

static int exchange(void) {
    int rank, value = 0, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 3, &value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += value;
    }
    return sum;
}

int main(int argc, char **argv) {
    int level, sum;
    char line[64];
    pthread_t thread;
    void *library = dlopen("./closing.so", RTLD_NOW);
    void (**closing)(void) = dlsym(library, "closing");
    *closing = is_closing;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    sum = exchange();
    pthread_create(&thread, NULL, closes, library);
    await(1);
    sum += exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&turn, 2);
    pthread_join(thread, NULL);
    sum += exchange();
    snprintf(line, sizeof line, "sum %d\n", sum);
    fputs(line, stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
