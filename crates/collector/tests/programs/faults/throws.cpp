// Exceptions through the library's callbacks, deep and repeated, and one that nobody catches.
#include "work.h"
#include <cstring>
#include <stdexcept>

static void reduce(void *, void *, int *, MPI_Datatype *) {
    throw std::runtime_error("reduce");
}

static void handle(MPI_Comm *, int *, ...) {
    throw std::runtime_error("handle");
}

static int deep(int n, MPI_Op op) {
    int value = 1, out = 0;
    if (n > 0)
        return deep(n - 1, op) + 1;
    if (op != MPI_OP_NULL)
        return MPI_Reduce_local(&value, &out, 1, MPI_INT, op);
    return MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Op op;
    MPI_Errhandler handler;
    int caught = 0;
    MPI_Init(&argc, &argv);
    MPI_Op_create(reduce, 1, &op);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 40; i++) {
        compute(500000);
        try {
            deep(i, i % 2 ? op : MPI_OP_NULL);
        } catch (const std::runtime_error &e) {
            caught += std::strcmp(e.what(), i % 2 ? "reduce" : "handle") == 0;
        }
    }
    std::printf("caught %d\n", caught);
    steps(10, "after");
    if (argc > 1)
        deep(3, MPI_OP_NULL);
    MPI_Finalize();
    return 0;
}
