/* Stacks that have just room for what the program does there, each with a page below that nobody may touch; the
 * argument says whose they are. */
#define _GNU_SOURCE
#include "work.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static int sum;

static void *small(size_t bytes) {
    char *at = mmap(NULL, 4096 + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(at, 4096, PROT_NONE);
    return at + 4096;
}

static int deep(int n) {
    if (n == 0) {
        compute(2000000);
        return 0;
    }
    return deep(n - 1) + 1;
}

static void fiber(void) {
    for (int i = 0; i < 100; i++) {
        sum += deep(i % 20);
        swapcontext(&inside, &outside);
    }
}

static void *adds(void *argument) {
    compute(3000000);
    __atomic_fetch_add(&sum, (int)(long)argument, __ATOMIC_RELAXED);
    return argument;
}
static void *makes(void *argument) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, adds, argument);
    pthread_join(thread, &result);
    return result;
}
/* Has 24 KiB left when it makes another one. */
static void *makes_deep(void *argument) {
    volatile char room[(64 - 24 - 8) << 10];
    room[0] = 0;
    room[sizeof room - 1] = 0;
    return makes(argument);
}
static void make(size_t bytes, void *(*routine)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_create(&thread, &attributes, routine, (void *)7);
    pthread_join(thread, &result);
    printf("%ld\n", (long)result);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "makers"))
        make(PTHREAD_STACK_MIN, makes);
    MPI_Init(&argc, &argv);
    steps(5, "before");
    if (!strcmp(mode, "signals")) {
        /* As many bytes as libraries of languages take for it. */
        stack_t stack = {.ss_sp = small(8192), .ss_size = 8192};
        sigaltstack(&stack, NULL);
        for (int i = 0; i < 100; i++)
            sum += deep(i);
    } else if (!strcmp(mode, "fibers") || !strcmp(mode, "tiny")) {
        /* On the smaller one there is no room for what the kernel keeps of a processor that a signal interrupts. */
        size_t bytes = strcmp(mode, "tiny") ? 12288 : 4096;
        getcontext(&inside);
        inside.uc_stack.ss_sp = small(bytes);
        inside.uc_stack.ss_size = bytes;
        inside.uc_link = &outside;
        makecontext(&inside, fiber, 0);
        for (int i = 0; i < 100; i++)
            swapcontext(&outside, &inside);
    } else if (!strcmp(mode, "makers")) {
        make(PTHREAD_STACK_MIN, makes);
        make(64 << 10, makes_deep);
    }
    printf("sum %d\n", sum);
    steps(5, "after");
    MPI_Finalize();
    return 0;
}
