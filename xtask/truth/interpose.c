/* What the bench measures by itself, without Headwater: a layer between a program and its MPI library.
 *
 * Per rank, from the end of MPI_Init to the start of MPI_Finalize: CPU time inside and outside MPI, wall time,
 * time asleep outside MPI, number of MPI calls other than polls, voluntary switches. Written as one line of JSON to
 * $HW_BENCH_OUT/rank.N. The wrappers are generated from the table of MPI functions (wrappers.h); each passes
 * its arguments on as 64-bit values. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu_inside, wall_inside, asleep, begin_cpu, begin_wall;
static long calls, begin_switches;
static int running;
static __thread int depth;
static __thread double enter_cpu, enter_wall;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add(double *sum, double value)
{
    double old, sum_of;
    __atomic_load(sum, &old, __ATOMIC_RELAXED);
    do
        sum_of = old + value;
    while (!__atomic_compare_exchange(sum, &old, &sum_of, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Times that the process gave its core up to wait for something; yielding it is none. */
static long switches(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) ? 0 : used.ru_nvcsw;
}

static void begin(void)
{
    if (running)
        return;
    running = 1;
    begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    begin_wall = now(CLOCK_MONOTONIC);
    cpu_inside = wall_inside = asleep = 0;
    calls = 0;
    begin_switches = switches();
}

static void end(void)
{
    const char *dir = getenv("HW_BENCH_OUT"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    char name[4096];
    double cpu, wall;
    FILE *file;
    if (!running || !dir || !rank)
        return;
    running = 0;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
    wall = now(CLOCK_MONOTONIC) - begin_wall;
    snprintf(name, sizeof name, "%s/rank.%s", dir, rank);
    if (!(file = fopen(name, "w")))
        return;
    fprintf(file,
        "{\"cpu_outside\":%.9f,\"cpu_inside\":%.9f,\"wall\":%.9f,\"wall_inside\":%.9f,\"asleep\":%.9f,\"calls\":%ld,"
        "\"switches\":%ld}\n",
        cpu - cpu_inside, cpu_inside, wall, wall_inside, asleep, calls,
        switches() - begin_switches);
    fclose(file);
}

static void enter(int counted)
{
    if (depth++ > 0 || !running)
        return;
    if (counted)
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    enter_cpu = now(CLOCK_THREAD_CPUTIME_ID);
    enter_wall = now(CLOCK_MONOTONIC);
}

static void leave(void)
{
    if (--depth > 0 || !running || enter_wall == 0)
        return;
    add(&cpu_inside, now(CLOCK_THREAD_CPUTIME_ID) - enter_cpu);
    add(&wall_inside, now(CLOCK_MONOTONIC) - enter_wall);
    enter_wall = 0;
}

static void *next(const char *name, const char *other)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = dlsym(RTLD_NEXT, other);
    if (!found) {
        fprintf(stderr, "bench: %s is missing\n", name);
        _exit(97);
    }
    return found;
}

/* Sleep outside MPI. */
#define ASLEEP(call)                                                                               \
    do {                                                                                           \
        double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);                   \
        result = call;                                                                             \
        if (running && depth == 0)                                                                 \
            add(&asleep, now(CLOCK_MONOTONIC) - start - (now(CLOCK_THREAD_CPUTIME_ID) - cpu));     \
    } while (0)

int usleep(useconds_t microseconds)
{
    static int (*real)(useconds_t);
    int result;
    if (!real)
        real = next("usleep", "usleep");
    ASLEEP(real(microseconds));
    return result;
}

int fsync(int file)
{
    static int (*real)(int);
    int result;
    if (!real)
        real = next("fsync", "fsync");
    ASLEEP(real(file));
    return result;
}

#include "wrappers.h"
