/* The other translation unit of the cases. */
#include "cases.h"

int shared_rank, shared_cells = 4, shared_constant, written_elsewhere;
static int *pointer_kept;
static volatile int sink;

void work(int i) { sink = i; }

__attribute__((noinline)) void find_out(struct setup *s) {
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->size);
    s->cells = 1024 / s->size;
    s->steps = 30;
}

__attribute__((noinline)) void set_shared(void) {
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &shared_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    shared_cells = 100 / size;
    shared_constant = 31;
    fill(&written_elsewhere, shared_rank + 1);
}

__attribute__((noinline)) int share_of(int n, int rank) {
    return n / (rank + 1);
}

__attribute__((noinline)) int rank_now(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

__attribute__((noinline)) void sweep(int n) {
    for (int i = 0; i < n; i++) // = rank
        work(i);
}

__attribute__((noinline)) void sweep_constant(int n) {
    for (int i = 0; i < n; i++) // = constant
        work(i);
}

__attribute__((noinline)) void fill(int *where, int value) { *where = value; }

__attribute__((noinline)) void walk(const struct setup *s) {
    for (int i = 0; i < s->cells; i++) // = size
        work(i);
    for (int i = 0; i < s->steps; i++) // = constant
        for (int k = 0; k < s->rank; k++) // = rank
            work(k);
}

__attribute__((noinline)) int kept(int *pointer) {
    pointer_kept = pointer;
    return 0;
}

__attribute__((noinline)) void use_kept(void) { *pointer_kept = shared_rank; }

__attribute__((noinline)) void on_one_rank(void) {
    for (int i = 0; i < 5500; i++) // = constant
        work(i);
}
