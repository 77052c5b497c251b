/* What the bench measures by itself, without Headwater: a layer between a program and its MPI library.
 *
 * Per rank, from the end of MPI_Init to the start of MPI_Finalize: CPU time inside and outside MPI, wall time,
 * time asleep outside MPI, number of MPI calls other than polls, of these such as make all ranks wait for one another,
 * voluntary switches. Planted code calls
 * hw_bench_enter and hw_bench_leave: its CPU time, its sleep and the number of its executions are measured too, and
 * what these two calls cost is subtracted. Written as one line of JSON to $HW_BENCH_OUT/rank.N. With $HW_BENCH_ALONE
 * the program has no MPI, and is measured as rank 0 from its start to its exit. The wrappers are
 * generated from the table of MPI functions (wrappers.h); each passes its arguments on as 64-bit values. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu_inside, wall_inside, asleep, begin_cpu, begin_wall;
static double planted_cpu, planted_asleep;
/* CPU seconds of an empty pair of enter and leave: what the pair itself measures, and all of it. */
static double pair_measured, pair_whole;
static long calls, meetings, begin_switches, planted_entries;
static int running;
static __thread int depth, planted_depth;
static __thread double planted_start;
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

void hw_bench_enter(void)
{
    if (planted_depth++ == 0 && running)
        planted_start = now(CLOCK_THREAD_CPUTIME_ID);
}

void hw_bench_leave(void)
{
    if (--planted_depth > 0 || !running || planted_start == 0)
        return;
    add(&planted_cpu, now(CLOCK_THREAD_CPUTIME_ID) - planted_start);
    planted_start = 0;
    __atomic_add_fetch(&planted_entries, 1, __ATOMIC_RELAXED);
}

/* What an empty pair of enter and leave costs. */
static void measure_pair(void)
{
    enum { PAIRS = 2000 };
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < PAIRS; i++) {
        hw_bench_enter();
        hw_bench_leave();
    }
    pair_whole = (now(CLOCK_THREAD_CPUTIME_ID) - start) / PAIRS;
    pair_measured = planted_cpu / PAIRS;
}

static void begin(void)
{
    if (running)
        return;
    running = 1;
    measure_pair();
    planted_cpu = planted_asleep = 0;
    planted_entries = 0;
    begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    begin_wall = now(CLOCK_MONOTONIC);
    cpu_inside = wall_inside = asleep = 0;
    calls = meetings = 0;
    begin_switches = switches();
}

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

static void end(void)
{
    const char *dir = getenv("HW_BENCH_OUT"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    char name[4096];
    double cpu, wall;
    FILE *file;
    if (!rank && getenv("HW_BENCH_ALONE"))
        rank = "0";
    if (!running || !dir || !rank)
        return;
    running = 0;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu - (double)planted_entries * pair_whole;
    wall = now(CLOCK_MONOTONIC) - begin_wall;
    snprintf(name, sizeof name, "%s/rank.%s", dir, rank);
    if (!(file = fopen(name, "w")))
        return;
    fprintf(file,
        "{\"cpu_outside\":%.9f,\"cpu_inside\":%.9f,\"wall\":%.9f,\"wall_inside\":%.9f,\"asleep\":%.9f,\"calls\":%ld,"
        "\"meetings\":%ld,"
        "\"switches\":%ld,\"planted_cpu\":%.9f,\"planted_asleep\":%.9f,\"planted_entries\":%ld}\n",
        cpu - cpu_inside, cpu_inside, wall, wall_inside, asleep, calls, meetings,
        switches() - begin_switches, at_least_0(planted_cpu - (double)planted_entries * pair_measured),
        planted_asleep, planted_entries);
    fclose(file);
}

/* The shell that starts the program loads this layer as well, so the end of the last one is kept. */
static __attribute__((constructor)) void start_alone(void)
{
    if (getenv("HW_BENCH_ALONE"))
        begin();
}

static __attribute__((destructor)) void end_alone(void)
{
    if (getenv("HW_BENCH_ALONE"))
        end();
}

/* What a call is: a poll, which is not counted; another one; one in which all ranks wait for one another. */
enum { POLL, CALL, MEETING };

static void enter(int kind)
{
    if (depth++ > 0 || !running)
        return;
    if (kind != POLL)
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (kind == MEETING)
        __atomic_add_fetch(&meetings, 1, __ATOMIC_RELAXED);
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

/* Seconds that this thread has waited for a core: the second figure of its schedstat. */
static double queued(void)
{
    static __thread int file;
    char text[96];
    ssize_t size;
    char *wait;
    if (!file)
        file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file <= 0 || (size = pread(file, text, sizeof text - 1, 0)) <= 0)
        return 0;
    text[size] = 0;
    strtoull(text, &wait, 10);
    return 1e-9 * (double)strtoull(wait, NULL, 10);
}

/* Sleep outside MPI, without the wait for a core after it. */
#define ASLEEP(call)                                                                               \
    do {                                                                                           \
        double wait = queued(), start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);  \
        double slept;                                                                              \
        result = call;                                                                             \
        slept = now(CLOCK_MONOTONIC) - start - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);               \
        slept = at_least_0(slept - (queued() - wait));                                             \
        if (running && depth == 0)                                                                 \
            add(&asleep, slept);                                                                   \
        if (running && planted_depth > 0)                                                          \
            add(&planted_asleep, slept);                                                           \
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
