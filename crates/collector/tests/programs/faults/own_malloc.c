/* Defines malloc itself. It is not to be entered again from a handler of a signal: that ends the program. */
#define _GNU_SOURCE
#include "work.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char arena[1 << 28];
static size_t used;
static __thread int within;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take(size_t bytes, size_t align) {
    if (within++) {
        static const char text[] = "malloc was entered again\n";
        if (write(2, text, sizeof text - 1))
            _exit(55);
    }
    pthread_mutex_lock(&lock);
    size_t at = (used + 16 + align - 1) / align * align;
    void *place = at + bytes <= sizeof arena ? arena + at : NULL;
    if (place) {
        used = at + bytes;
        ((size_t *)place)[-1] = bytes;
    }
    pthread_mutex_unlock(&lock);
    within--;
    return place;
}

void *malloc(size_t bytes) { return take(bytes, 16); }
void free(void *place) {}
void *calloc(size_t n, size_t bytes) {
    void *place = take(n * bytes, 16);
    return place ? memset(place, 0, n * bytes) : NULL;
}
void *realloc(void *old, size_t bytes) {
    void *place = take(bytes, 16);
    if (place && old) {
        size_t before = ((size_t *)old)[-1];
        memcpy(place, old, before < bytes ? before : bytes);
    }
    return place;
}
int posix_memalign(void **place, size_t align, size_t bytes) {
    *place = take(bytes, align < 16 ? 16 : align);
    return *place ? 0 : 12;
}
void *aligned_alloc(size_t align, size_t bytes) { return take(bytes, align < 16 ? 16 : align); }
void *memalign(size_t align, size_t bytes) { return take(bytes, align < 16 ? 16 : align); }
void *valloc(size_t bytes) { return take(bytes, 4096); }
size_t malloc_usable_size(void *place) { return place ? ((size_t *)place)[-1] : 0; }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j < 20000; j++) {
            char *volatile some = malloc(1 + j % 64);
            some[0] = 1;
            free(some);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    steps(10, "after");
    MPI_Finalize();
    return 0;
}
