/* Names regions of a program for Headwater: each is a frame of every call path inside it.
 *
 *     #include "headwater.h"
 *     void solve(void) {
 *         HEADWATER_REGION("solve");             // until the scope ends
 *         for (...) { ...; HEADWATER_ITERATION(); }
 *     }
 *     HEADWATER_BEGIN("write"); ...; HEADWATER_END("write");
 *
 * There is nothing to link. In a program that runs without Headwater, each use is a test of an address.
 */
#ifndef HEADWATER_H
#define HEADWATER_H

#if defined(__PIC__) || defined(__PIE__)
#define HEADWATER_BY_LOADER 1
#else
#define HEADWATER_BY_LOADER 0
#include <dlfcn.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if HEADWATER_BY_LOADER

/* Where code does not depend on its position, the loader fills in the address of a weak symbol, or 0. */
#define HEADWATER_WEAK __attribute__((weak, visibility("default")))
extern void headwater_region_begin(const char *) HEADWATER_WEAK;
extern void headwater_region_end(const char *) HEADWATER_WEAK;
extern void headwater_region_iteration(void) HEADWATER_WEAK;
#define HEADWATER_CALL(function, arguments) \
    do { \
        if (headwater_region_##function) headwater_region_##function arguments; \
    } while (0)

#else

/* Other code has fixed addresses, so the loader is asked once. */
struct headwater_functions {
    int found;
    void (*begin)(const char *);
    void (*end)(const char *);
    void (*iteration)(void);
};
static __inline__ __attribute__((unused)) struct headwater_functions *headwater_functions(void) {
    static struct headwater_functions all;
    if (!__atomic_load_n(&all.found, __ATOMIC_ACQUIRE)) {
        *(void **)&all.begin = dlsym((void *)0, "headwater_region_begin");
        *(void **)&all.end = dlsym((void *)0, "headwater_region_end");
        *(void **)&all.iteration = dlsym((void *)0, "headwater_region_iteration");
        __atomic_store_n(&all.found, 1, __ATOMIC_RELEASE);
    }
    return &all;
}
#define HEADWATER_CALL(function, arguments) \
    do { \
        if (headwater_functions()->function) headwater_functions()->function arguments; \
    } while (0)

#endif

static __inline__ __attribute__((unused)) void headwater_end_of_scope(const char **name) {
    HEADWATER_CALL(end, (*name));
}

#ifdef __cplusplus
}
#endif

/* A region until the end of the scope: by its last line, return, break, goto or an exception, but not by longjmp. The
 * name must live as long as the scope. */
#define HEADWATER_REGION(name) HEADWATER_REGION_AT(name, __LINE__)
#define HEADWATER_REGION_AT(name, line) HEADWATER_REGION_IN(name, line)
#define HEADWATER_REGION_IN(name, line) \
    const char *headwater_scope_##line __attribute__((cleanup(headwater_end_of_scope), unused)) = (name); \
    HEADWATER_CALL(begin, (headwater_scope_##line))
#define HEADWATER_BEGIN(name) HEADWATER_CALL(begin, (name))
#define HEADWATER_END(name) HEADWATER_CALL(end, (name))
/* An iteration of the innermost region has ended. A region without it has one from each begin to its end. */
#define HEADWATER_ITERATION() HEADWATER_CALL(iteration, ())

#endif
