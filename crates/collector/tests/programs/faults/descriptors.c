/* Descriptors by their numbers, and as many as there may be, in a program with many threads; the argument says which. */
#define _GNU_SOURCE
#include "work.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS 30
#define LIMIT 64

static pthread_barrier_t all;

static void *stays(void *argument) {
    compute(1000000);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    return argument;
}

/* How many there are below a number. */
static int open_below(int limit) {
    int n = 0;
    for (int fd = 0; fd < limit; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    struct rlimit few = {LIMIT, LIMIT};
    pthread_t threads[THREADS];
    int given, before, opened = 0, rising = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    steps(5, "before");
    before = open_below(LIMIT);
    if (!strcmp(mode, "limit"))
        setrlimit(RLIMIT_NOFILE, &few);
    pthread_barrier_init(&all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, stays, NULL);
    pthread_barrier_wait(&all);
    if (!strcmp(mode, "limit")) {
        while (open("/dev/null", O_RDONLY) >= 0)
            opened++;
        /* Three quarters of the limit are the program's. */
        printf("%d %d\n", opened >= LIMIT / 4 * 3 - before, errno == EMFILE);
    } else {
        int fd = open("/dev/null", O_RDONLY), next;
        printf("%d below %d:", before, LIMIT);
        for (int i = 0; i < 6; i++, fd = next) {
            printf(" %d", fd);
            next = open("/dev/null", O_RDONLY);
            rising &= next > fd;
        }
        printf(", %d\n", rising);
    }
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    steps(5, "after");
    MPI_Finalize();
    return 0;
}
