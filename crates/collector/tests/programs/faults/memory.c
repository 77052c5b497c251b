/* Has as little memory as the argument says. "init KIB": so much more than MPI_Init takes by itself;
 * "later KIB": so much more than there is behind MPI_Init; "used": all that malloc gives is taken. */
#define _GNU_SOURCE
#include "work.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        _exit(99);
    fclose(file);
    return pages * 4;
}

static void limit(long more) {
    struct rlimit room;
    getrlimit(RLIMIT_AS, &room);
    room.rlim_cur = (kib() + more) * 1024;
    setrlimit(RLIMIT_AS, &room);
}

static void *thread(void *nothing) {
    steps(10, "thread");
    return NULL;
}

/* Requests and communicators in numbers that tables have to grow for. */
static void many(void) {
    enum { MANY = 6000 };
    static MPI_Request requests[MANY];
    static int in[MANY], out[MANY];
    MPI_Comm comms[64];
    long sum = 0;
    for (int i = 0; i < MANY; i++) {
        out[i] = i;
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i % 100, MPI_COMM_SELF, &requests[i]);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Send(&out[i], 1, MPI_INT, 0, i % 100, MPI_COMM_SELF);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        sum += in[i];
    for (int i = 0; i < 64; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < 64; i++)
        MPI_Comm_free(&comms[i]);
    printf("sum %ld\n", sum);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    long more = argc > 2 ? atol(argv[2]) : 0;
    int given;
    pthread_t other;
    void *held = NULL;
    if (!strcmp(mode, "measure")) {
        MPI_Init(&argc, &argv);
        FILE *peak = popen("grep VmPeak /proc/$PPID/status | tr -dc 0-9", "r");
        long most = 0, before = more;
        if (!peak || fscanf(peak, "%ld", &most) != 1)
            return 99;
        pclose(peak);
        printf("%ld\n", most - before);
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(mode, "init")) {
        /* The growth of a process that is not recorded. */
        char line[4200];
        long growth = 0;
        snprintf(line, sizeof line, "LD_PRELOAD= %s measure %ld", argv[0], kib());
        FILE *measured = popen(line, "r");
        if (!measured || fscanf(measured, "%ld", &growth) != 1)
            return 98;
        pclose(measured);
        limit(growth + more);
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    steps(5, "before");
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    if (!strcmp(mode, "many"))
        limit(more), many();
    if (!strcmp(mode, "later"))
        limit(more);
    if (!strcmp(mode, "used")) {
        limit(1 << 16);
        for (size_t bytes = 1 << 24; bytes >= 16; bytes /= 2)
            for (void **one; (one = malloc(bytes));) {
                *one = held;
                held = one;
            }
        steps(10, "without");
        while (held) {
            void *next = *(void **)held;
            free(held);
            held = next;
        }
    }
    int made = pthread_create(&other, &small, thread, NULL);
    printf("thread %s\n", made ? "none" : "made");
    if (!made)
        pthread_join(other, NULL);
    steps(20, "after");
    MPI_Finalize();
    return 0;
}
