#ifndef HW_PLANTED
#define HW_PLANTED 1
#ifdef __cplusplus
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#define HW_C extern "C"
#else
#define HW_C extern
extern char *getenv(const char *);
extern double atof(const char *);
extern int open(const char *, int, ...);
extern long write(int, const void *, unsigned long);
extern int fsync(int);
extern int close(int);
extern int usleep(unsigned int);
extern int snprintf(char *, unsigned long, const char *, ...);
extern void *dlsym(void *, const char *);
#endif
#ifdef _OPENMP
HW_C int omp_get_thread_num(void);
HW_C int omp_in_parallel(void);
#define HW_PARALLEL omp_in_parallel()
#define HW_THREAD omp_get_thread_num()
#else
#define HW_PARALLEL 0
#define HW_THREAD 0
#endif
static double hw_share;
static int hw_ready, hw_rank, hw_size, hw_who, hw_only, hw_serial;
static long hw_when;
static __attribute__((unused)) double hw_env(const char *name, double other) { const char *text = getenv(name); return text ? atof(text) : other; }
static __attribute__((unused, noinline)) void hw_begin(void)
{
    double at = hw_env("HW_AT", 0), size, share = 0;
    int one;
    hw_rank = (int)hw_env("OMPI_COMM_WORLD_RANK", 0);
    hw_size = (int)hw_env("OMPI_COMM_WORLD_SIZE", 1);
    hw_who = (int)hw_env("HW_WHO", 0);
    hw_only = (int)hw_env("HW_THREAD_ONLY", -1);
    hw_serial = (int)hw_env("HW_SERIAL", 0);
    hw_when = (long)hw_env("HW_WHEN", 0);
    one = (int)(at * hw_size);
    switch (hw_who) {
    case 1: share = hw_rank == (one < hw_size ? one : hw_size - 1); break;
    case 2: share = hw_rank == 0 || hw_rank + 1 == hw_size; break;
    case 3: share = hw_rank % 4 == 0; break;
    case 4: share = 2 * hw_rank < hw_size; break;
    case 5: share = hw_size > 1 ? hw_rank / (hw_size - 1.0) : 0; break;
    default: share = 1;
    }
    size = hw_env("HW_SIZE", hw_size);
    if (hw_env("HW_LARGEST", 0) > 0)
        share *= size / hw_env("HW_LARGEST", 1);
    hw_share = share * hw_env("HW_DOSE", 0);
    __sync_synchronize();
    hw_ready = 1;
}
static __attribute__((unused, noinline)) int hw_file(void)
{
    char name[4096];
    const char *dir = getenv("HW_DIR");
    snprintf(name, sizeof name, "%s/io.%d", dir ? dir : "/tmp", hw_rank);
    return open(name, 01 | 0100 | 01000, 0600);
}
static __attribute__((unused)) long hw_take(double least)
{
    static __thread double due;
    static __thread long count;
    long n;
    if (!hw_ready) hw_begin();
    if (hw_share <= 0) return 0;
    count++;
    if (hw_who == 6 && count % hw_size != hw_rank) return 0;
    if (hw_when && count != hw_when) return 0;
    if (hw_serial && HW_PARALLEL) return 0;
    if (hw_only >= 0 && HW_THREAD != hw_only) return 0;
    due += hw_share;
    if (due < least) return 0;
    n = (long)due;
    due -= (double)n;
    return n;
}
static void (*hw_marks[2])(void);
static int hw_looked;
static __attribute__((unused, noinline)) void hw_look(void)
{
    hw_marks[0] = (void (*)(void))dlsym((void *)0, "hw_bench_enter");
    hw_marks[1] = (void (*)(void))dlsym((void *)0, "hw_bench_leave");
    __sync_synchronize();
    hw_looked = 1;
}
static __attribute__((unused)) void hw_enter(void)
{
    if (!hw_looked) hw_look();
    if (hw_marks[0]) hw_marks[0]();
}
static __attribute__((unused)) void hw_leave(void)
{
    if (hw_marks[1]) hw_marks[1]();
}
#endif
