/* Calls MPI and computes on a stack of its own below the thread's, as fibers and coroutines do. */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static volatile double x;

static void body(void) {
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 3000000; i++)
            x = x + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    size_t size = 1 << 16;
    MPI_Init(&argc, &argv);
    getcontext(&inside);
    inside.uc_stack.ss_sp =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    inside.uc_stack.ss_size = size;
    inside.uc_link = &outside;
    makecontext(&inside, body, 0);
    swapcontext(&outside, &inside);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
