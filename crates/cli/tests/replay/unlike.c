/* Calls that hardly repeat: messages of a rank to itself, whose lengths and tags have no order. */
#include <mpi.h>
#include <stdlib.h>

#define LONGEST 1000
#define TAGS 30000

static unsigned state = 1;

static int below(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (int) ((state >> 8) % n);
}

int main(int argc, char **argv)
{
    static char from[LONGEST], to[LONGEST];
    int messages = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < messages; i++) {
        int tag = below(TAGS);
        MPI_Sendrecv(from, below(LONGEST), MPI_CHAR, 0, tag, to, LONGEST, MPI_CHAR, 0, tag, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
