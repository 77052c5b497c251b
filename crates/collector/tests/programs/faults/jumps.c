/* Leaves the library's callbacks by longjmp. */
#include "work.h"
#include <setjmp.h>

static jmp_buf back;

static void give_up(MPI_Comm *comm, int *code, ...) {
    longjmp(back, 1);
}

static void reduce(void *in, void *out, int *n, MPI_Datatype *type) {
    longjmp(back, 2);
}

static int leave(MPI_Comm comm, int key, void *value, void *extra) {
    longjmp(back, 3);
}

int main(int argc, char **argv) {
    int value = 1, out = 0, key, caught[4] = {0};
    MPI_Errhandler handler;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(give_up, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Op_create(reduce, 1, &op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, NULL);
    for (volatile int i = 0; i < 30; i++) {
        int how = setjmp(back);
        if (how == 0) {
            if (i % 3 == 0)
                MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
            else if (i % 3 == 1)
                MPI_Reduce_local(&value, &out, 1, MPI_INT, op);
            else {
                MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
                MPI_Comm_delete_attr(MPI_COMM_SELF, key);
            }
        } else
            caught[how]++;
        compute(1000000);
    }
    printf("caught %d %d %d\n", caught[1], caught[2], caught[3]);
    steps(20, "after");
    fflush(stdout);
    /* What the library holds half done is its own affair. */
    _Exit(0);
}
