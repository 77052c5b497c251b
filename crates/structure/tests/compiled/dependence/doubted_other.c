/* The other translation unit of the doubted cases. */
#include "doubted.h"

static int *where;

APART void mpi_setup_lengths(int *length) { MPI_Comm_rank(MPI_COMM_WORLD, length); }

APART void mpi_remember(int *at) { where = at; }

APART void mpi_change(void) { MPI_Comm_rank(MPI_COMM_WORLD, where); }

APART void set_pair(struct pair *p) { MPI_Comm_rank(MPI_COMM_WORLD, &p->second); }

APART void use_pair(struct pair p) {
    for (int i = 0; i < p.first; i++) // = input
        work(i);
    for (int i = 0; i < p.second; i++) // = rank
        work(i);
}

APART struct pair make_pair(int first) {
    struct pair made = {first, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &made.second);
    return made;
}

APART int my_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
