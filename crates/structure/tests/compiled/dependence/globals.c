/* Global variables that a call before the loop wrote, in a function that is itself called under conditions which nobody
 * knows: what is true stands behind each loop. */
#include "globals.h"

static volatile int sink;
static int one, once, several, maybe, overwritten, aside, apart, member, given, again, by_rank, late, pointed, reduced;
static struct setup whole;
int *keeper, *pointers[4];

void work(int i) { sink = i; }

APART static int broadcast(void) {
    int n = 500;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return n;
}
APART static void set_one(void) { one = broadcast(); }
APART static void set_several(int n) { several = n; }
APART static void set_maybe(int n) {
    if (n > 3)
        maybe = n;
}
APART static void set_overwritten(int n) { overwritten = n; }
APART static void set_aside(void) { aside = broadcast(); }
APART static void set_apart(int n) { apart = n; }
APART static void set_member(int n) { whole.cells = n; }
APART static void set_given(int n) { given = n; }
APART static void write_through(int *where, int n) { *where = n; }
APART static void set_again(int n) { again = n; }
APART static void set_by_rank(int n) { by_rank = n; }
APART static void set_once(int n) {
    if (n > 3)
        once = n;
}
APART static void set_pointed(void) { pointed = broadcast(); }
void (*pointer)(void) = set_pointed;
APART static void set_late(int n) { late = n; }
// As in a library, which no record describes.
static int (*volatile create)(MPI_User_function *, int, MPI_Op *) = MPI_Op_create;
APART static void set_reduced(int n) { reduced = n; }
static void by_mpi(void *from, void *to, int *count, MPI_Datatype *type) {
    MPI_Comm_rank(MPI_COMM_WORLD, &reduced);
}
APART static void through_parameter(int *where, int rank) {
    set_given(5);
    write_through(where, rank);
    for (int i = 0; i < given; i++) // = rank
        work(i);
}
APART static void sibling(void) { set_apart(5); }
APART static void use_sibling(void) {
    for (int i = 0; i < apart; i++) // = rank
        work(i);
}

APART static void known(int rank) {
    set_one();
    for (int i = 0; i < one; i++) // = message
        work(i);
    set_aside();
    for (int i = 0; i < aside; i++) { // = message
        work(i);
        quiet(i);
        __asm__ volatile("" ::: "memory");
    }
    set_several(rank);
    set_several(broadcast());
    for (int i = 0; i < several; i++) // = message
        work(i);
    set_overwritten(rank);
    overwritten = broadcast();
    for (int i = 0; i < overwritten; i++) // = message
        work(i);
    set_member(rank);
    whole.cells = 3;
    set_member(broadcast());
    for (int i = 0; i < whole.cells; i++) // = message
        work(i);
    set_shared_to(broadcast());
    for (int i = 0; i < shared; i++) // = message
        work(i);
}

APART static void not_known(int rank) {
    set_maybe(rank);
    set_maybe(broadcast());
    for (int i = 0; i < maybe; i++) // = message rank
        work(i);
    set_again(broadcast());
    if (rank == 0)
        set_again(4);
    for (int i = 0; i < again; i++) // = message rank
        work(i);
    set_by_rank(4);
    if (rank == 1) {
        set_by_rank(7);
        quiet(1);
    }
    for (int i = 0; i < by_rank; i++) // = rank
        work(i);
    if (rank == 0)
        set_once(9);
    set_once(2);
    for (int i = 0; i < once; i++) // = rank
        work(i);
    int own = 5;
    if (rank == 3) {
        own = 2;
        look_at(&own);
    }
    for (int i = 0; i < own; i++) // = rank
        work(i);
    set_changed(5);
    change(rank);
    for (int i = 0; i < changed; i++) // = rank
        work(i);
    for (int k = 0; k < rank; k++) {
        set_late(k);
        quiet(k);
    }
    for (int i = 0; i < late; i++) // = rank
        work(i);
    if (rank == 2)
        pointer();
    for (int i = 0; i < pointed; i++) // = message rank
        work(i);
    MPI_Op own_sum;
    create(by_mpi, 1, &own_sum);
    set_reduced(5);
    MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT, own_sum, MPI_COMM_WORLD);
    for (int i = 0; i < reduced; i++) // = rank
        work(i);
    if (rank > 1)
        set_apart(6);
    sibling();
    if (rank == 0)
        set_apart(9);
    use_sibling();
    through_parameter(&given, rank);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pointers[1] = malloc(4);
    if (argc > 1 && *pointers[argc & 3] > 2) {
        set_one();
        known(rank);
        not_known(rank);
    }
    MPI_Finalize();
    return 0;
}
