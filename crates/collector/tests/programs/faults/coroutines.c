/* Coroutines that take turns between and inside MPI calls, on stacks from malloc and from mmap; some are
 * given back while others run. */
#include "work.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MANY 6
#define STACK (1 << 16)

static ucontext_t outside, inside[MANY];
static int left[MANY], current;

static void yield(void) {
    swapcontext(&inside[current], &outside);
}

static void reduce(void *in, void *out, int *n, MPI_Datatype *type) {
    *(int *)out += *(int *)in;
    compute(300000);
    yield();
}

static void body(int which, int deep) {
    MPI_Op op;
    if (deep > 0)
        return body(which, deep - 1);
    MPI_Op_create(reduce, 1, &op);
    for (int i = 0; i < 10; i++) {
        int one = 1, sum = 0;
        compute(300000);
        MPI_Barrier(MPI_COMM_WORLD);
        yield();
        MPI_Reduce_local(&one, &sum, 1, MPI_INT, op);
        left[which] += sum;
    }
    left[which] += 1000;
    setcontext(&outside);
}

int main(int argc, char **argv) {
    int sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < MANY; i++) {
        void *stack = i % 2 ? malloc(STACK)
                            : mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&inside[i]);
        inside[i].uc_stack.ss_sp = stack;
        inside[i].uc_stack.ss_size = STACK;
        makecontext(&inside[i], (void (*)(void))body, 2, i, 3 * i);
    }
    for (int running = MANY; running > 0;) {
        running = 0;
        for (current = 0; current < MANY; current++)
            if (left[current] < 1000) {
                swapcontext(&outside, &inside[current]);
                running++;
            }
        steps(1, "round");
    }
    for (int i = 0; i < MANY; i++) {
        sum += left[i];
        if (i % 2)
            free(inside[i].uc_stack.ss_sp);
        else
            munmap(inside[i].uc_stack.ss_sp, STACK);
    }
    printf("sum %d\n", sum);
    steps(5, "after");
    MPI_Finalize();
    return 0;
}
