/* Opens libraries while threads work; the argument says how. Defines malloc itself. */
#define _GNU_SOURCE
#include "work.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

/* A thread that asks for no memory. */
static volatile pid_t frugal;
static volatile int asked, opened, go;

static void count(void) {
    if (frugal && frugal == gettid())
        asked++;
}
void *malloc(size_t bytes) {
    count();
    return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
    count();
    return __libc_calloc(n, bytes);
}
void *realloc(void *place, size_t bytes) {
    count();
    return __libc_realloc(place, bytes);
}

static void open_part(const char *here, int number) {
    char path[4200];
    snprintf(path, sizeof path, "%s/part%d.so", here, number);
    void *part = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    int *(*own)(void) = part ? (int *(*)(void))dlsym(part, "part") : NULL;
    opened += own ? *own() : 100;
}

static void *computes(void *argument) {
    frugal = gettid();
    for (int i = 0; i < 100 || !go; i++)
        compute(1000000);
    frugal = 0;
    return argument;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int is_opening, has_made;

static void *nothing(void *argument) { return argument; }
/* Makes a thread while another one opens a library. */
static void *makes(void *argument) {
    pthread_t thread;
    while (!is_opening)
        usleep(1000);
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&mutex);
    has_made = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}
/* The library is not open before that thread is done, or after five seconds. */
void part_is_opened(void) {
    struct timespec late;
    if (!go)
        return;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 5;
    is_opening = 1;
    pthread_mutex_lock(&mutex);
    while (!has_made)
        if (pthread_cond_timedwait(&condition, &mutex, &late))
            break;
    printf("made in time %d\n", has_made);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *here = getenv("HERE");
    pthread_t thread;
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    steps(5, "before");
    if (!strcmp(mode, "many")) {
        pthread_create(&thread, NULL, computes, NULL);
        compute(3000000);
        for (int i = 0; i < 20; i++)
            open_part(here, i);
        go = 1;
        pthread_join(thread, NULL);
        printf("%d opened, asked for memory %d\n", opened, asked);
    } else {
        go = 1;
        pthread_create(&thread, NULL, makes, NULL);
        open_part(here, 0);
        pthread_join(thread, NULL);
    }
    steps(5, "after");
    MPI_Finalize();
    return 0;
}
