/* The other translation unit of the hard cases. */
#include "hard.h"

int of_both, table[100];
void (*hook)(int) = called_elsewhere;

APART void set_table(int rank) {
    for (int *at = table; at < table + 100; at++) { // = constant
        *at = rank;
        rank = rank * 7 + 1;
        work(0);
    }
}

int replaced(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

APART void limits(int rank, int *low, int *high) {
    *low = rank * 3;
    *high = 77;
}

APART void seen_between(int *where, int rank) {
    *where = rank;
    read_between();
    *where = 3;
}
