/* Calls MPI and computes on a stack of its own below the thread's, as fibers and coroutines do; behind
 * its end nothing is mapped. The computation has no unwind information and uses the frame pointer as an
 * ordinary register, as kernels written by hand do. */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (1 << 16)
#define AREA (1 << 20)

static ucontext_t outside, inside;
static char *hole;

#ifdef __x86_64__
__asm__(".text\n.globl kernel\n.type kernel,@function\nkernel:\n"
        " push %rbp\n mov %rdi, %rbp\n mov %rsi, %rcx\n"
        "1: dec %rcx\n jnz 1b\n pop %rbp\n ret\n.size kernel, .-kernel\n");
void kernel(void *anything, long n);
#else
static void kernel(void *anything, long n) {
    for (volatile long i = 0; i < n; i++)
        ;
}
#endif

static void body(void) {
    for (int step = 0; step < 20; step++) {
        kernel(hole, 20000000L);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    char *area = mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(area, STACK, PROT_READ | PROT_WRITE);
    hole = area + AREA / 2;
    getcontext(&inside);
    inside.uc_stack.ss_sp = area;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, body, 0);
    swapcontext(&outside, &inside);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
