/* Loops that were once told wrongly: what is true stands behind each. */
#include "doubted.h"

static volatile int sink;
static int by_operation, length, never_changed = 10;
static int counts[256], flags[256];

void work(int i) { sink = i; }

APART static void names_like_those_of_mpi(void) {
    length = 5;
    mpi_setup_lengths(&length);
    for (int i = 0; i < length; i++) // = rank
        work(i);
    int n = 3;
    mpi_remember(&n);
    n = 4;
    mpi_change();
    for (int i = 0; i < n; i++) // = rank
        work(i);
}

APART static void rows_of_a_grid(MPI_Comm grid, int argc) {
    int remain[2] = {0, 1}, n;
    MPI_Comm row;
    MPI_Cart_sub(grid, remain, &row);
    MPI_Allreduce(&argc, &n, 1, MPI_INT, MPI_SUM, row);
    for (int i = 0; i < n; i++) // = reduction rank
        work(i);
}

APART static void of_text(int rank) {
    char text[32];
    int n = 0, m = 0;
    sprintf(text, "%d", rank);
    sscanf(text, "%d", &n);
    for (int i = 0; i < n; i++) // = rank
        work(i);
    MPI_Bcast(text, 32, MPI_CHAR, 0, MPI_COMM_WORLD);
    sscanf(text, "%d", &m);
    for (int i = 0; i < m; i++) // = message
        work(i);
}

APART static void of_elements(int rank) {
    int total = 0;
    for (int j = 0; j < 256; j++) // = constant
        counts[j] = rank + j, flags[j] = j & 1;
    for (int j = 0; j < 256; j++) // = constant
        if (flags[j])
            total += counts[j];
    for (int i = 0; i < total; i++) // = rank
        work(i);
}

APART static void neighbours_in_memory(int argc) {
    struct pair p = {argc, 0};
    set_pair(&p);
    for (int i = 0; i < p.second; i++) // = rank
        work(i);
    use_pair(p);
    struct pair q = make_pair(argc);
    for (int i = 0; i < q.first; i++) // = input
        work(i);
    for (int i = 0; i < q.second; i++) // = rank
        work(i);
}

APART static void one_in_another(struct pair *p, int *n, int rank) {
    p->first = 5;
    *n = rank;
    for (int i = 0; i < p->first; i++) // = rank
        work(i);
}

APART static void whether_it_is_signed(int *p, unsigned *n, int rank) {
    *p = 5;
    *n = rank;
    for (int i = 0; i < *p; i++) // = rank
        work(i);
}

APART static void said_to_be_constant(void) {
    int n = my_rank();
    for (int i = 0; i < n; i++) // = rank
        work(i);
}

APART static void of_dimensions(void) {
    int dims[2] = {0, 0};
    MPI_Dims_create(12, 2, dims);
    for (int i = 0; i < dims[0]; i++) // = constant
        work(i);
}

static void operation(void *in, void *out, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; i++)
        ((int *)out)[i] += ((int *)in)[i];
    by_operation = ((int *)in)[0];
}

APART static void of_operation(int rank) {
    int sum;
    MPI_Op op;
    MPI_Op_create(operation, 1, &op);
    by_operation = 5;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    for (int i = 0; i < by_operation; i++) // = rank
        work(i);
}

APART static void of_address(int rank) {
    int n = 1, lengths[1] = {1};
    MPI_Aint at[1];
    MPI_Datatype types[1] = {MPI_INT}, type;
    MPI_Get_address(&n, at);
    MPI_Type_create_struct(1, lengths, at, types, &type);
    MPI_Type_commit(&type);
    n = rank == 0 ? 7 : 3;
    n = 3;
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) // = message
        work(i);
}

/* Nobody calls this one, nor the one that calls it. */
APART void change_never(int n) {
    never_changed = n;
    of_argument(n);
    for (int i = 0; i < never_changed; i++) // = rank
        work(i);
}

APART void never_called(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    change_never(rank);
}

APART void of_argument(int n) {
    for (int i = 0; i < n; i++) // = input
        work(i);
    for (int i = 0; i < never_changed; i++) // = constant
        work(i);
}

APART static void of_mathematics(int size) {
    int n = (int)ceil(log2(size));
    for (int i = 0; i < n; i++) // = size
        work(i);
}

int main(int argc, char **argv) {
    int rank, size, dims[2] = {2, 2}, periods[2] = {0, 0};
    struct pair both;
    MPI_Comm grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    names_like_those_of_mpi();
    rows_of_a_grid(grid, argc);
    of_text(rank);
    of_elements(rank);
    neighbours_in_memory(argc);
    one_in_another(&both, &both.first, rank);
    whether_it_is_signed(&both.first, (unsigned *)&both.first, rank);
    said_to_be_constant();
    of_dimensions();
    of_operation(rank);
    of_address(rank);
    of_mathematics(size);
    of_argument(argc);
    /* Never run: what its arguments come from is told. */
    if (argc > 1000)
        MPI_Send(NULL, size, MPI_INT, (rank + 1) % size, 3, grid);
    return MPI_Finalize();
}
