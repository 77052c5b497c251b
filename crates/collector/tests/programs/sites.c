/* A message to nobody from each of four lines of one function, and one from another function. */
#include <mpi.h>

static __attribute__((noinline)) void send(void) {
    int value = 0;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    __asm__ volatile("");
}

__attribute__((noinline)) void inside(void) {
    send();
    send();
    send();
    send();
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    inside();
    send();
    MPI_Finalize();
    return 0;
}
