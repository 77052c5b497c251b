/* Loops that a simple view of memory and of control gets wrong: what is true stands behind each. */
#include "hard.h"

static volatile int sink;
static int first, second, hidden, through_table, seen;
static int *keeper, *pointers[4];
static char *line;

void work(int i) { sink = i; }

/* Another unit's definition wins when both are linked. */
__attribute__((weak)) int replaced(void) { return 10; }

APART void called_elsewhere(int n) {
    for (int i = 0; i < n; i++) // = rank
        work(i);
}

APART static void of_options(int argc, char **argv) {
    int n = 3;
    while (getopt(argc, argv, "n:") != -1)
        n = atoi(optarg);
    for (int i = 0; i < n; i++) // = input
        work(i);
    for (int i = 0; i < optind; i++) // = input
        work(i);
}

APART static void of_line(void) {
    line = malloc(256);
    if (!fgets(line, 256, stdin))
        return;
    int n = atoi(line);
    for (int i = 0; i < n; i++) // = input
        work(i);
}

APART static int *choose(int k) { return k > 1 ? &first : &second; }

APART static struct setup *make(int argc, int rank) {
    if (argc < 2)
        return NULL;
    struct setup *made = malloc(sizeof *made);
    made->rank = rank;
    return made;
}

APART static void of_pointers(int argc, int rank) {
    int n = *choose(argc);
    for (int i = 0; i < n; i++) // = input rank
        work(i);
    struct setup *made = make(argc, rank);
    for (int i = 0; made && i < made->rank; i++) // = input rank
        work(i);
    int *moved = malloc(16);
    moved[0] = rank;
    moved = realloc(moved, 1 << 20);
    for (int i = 0; i < moved[0]; i++) // = rank
        work(i);
    keeper = moved;
}

APART static void keep_it(int *pointer) { keeper = pointer; }
APART static void keep_through(int *pointer) { keep_it(pointer); }
APART static void use_keeper(int rank) { *keeper = rank; }

APART static void of_keepers(int rank) {
    int n = 1, m = 1;
    keep_it(&n);
    n = 5;
    use_keeper(rank);
    for (int i = 0; i < n; i++) // = rank
        work(i);
    keep_through(&m);
    m = 5;
    use_keeper(rank);
    for (int i = 0; i < m; i++) // = rank
        work(i);
    keep_it(&hidden);
    hidden = 5;
    use_keeper(rank);
    for (int i = 0; i < hidden; i++) // = rank
        work(i);
}

APART static void of_parameter_and_global(int *parameter, int rank) {
    of_both = 5;
    *parameter = rank;
    for (int i = 0; i < of_both; i++) // = rank
        work(i);
    *parameter = 6;
    of_both = rank;
    for (int i = 0; i < *parameter; i++) // = rank
        work(i);
}

APART static void of_unknown_pointers(int k, int rank) {
    through_table = 5;
    *pointers[k] = rank;
    for (int i = 0; i < through_table; i++) // = rank
        work(i);
    through_table = 5;
    scanf("%d", pointers[k]);
    for (int i = 0; i < through_table; i++) // = input
        work(i);
    for (int i = 0; i < table[3]; i++) // = rank
        work(i);
}

APART void read_between(void) {
    for (int i = 0; i < seen; i++) // = rank
        work(i);
}

APART static int times(int x, int y) { return x * y; }

APART static void of_control(int argc, int rank) {
    int n;
    if (argc == 1 || (argc == 2 && rank == 0)) {
        n = times(3, 4);
        puts("one");
    } else {
        n = 5;
        puts("other");
    }
    for (int i = 0; i < n; i++) // = input rank
        work(i);
    if (argc == 1)
        goto x;
    if (argc == 9)
        goto y;
    work(9);
    if (rank != 0)
        goto y;
x:
    work(1);
    n = 4;
    goto both;
y:
    work(2);
    work(3);
    n = 7;
both:
    for (int i = 0; i < n; i++) // = input rank
        work(i);
    for (int i = 0;; i++) { // = rank
        if (i % (rank + 1) == 0) {
            work(i);
            if (i > 100)
                break;
        }
        work(1);
    }
    n = 2;
    for (int i = 0; i < 1000; i++) { // = rank
        if (i % (rank + 1) == 0) {
            n = 3;
            if (i * rank > 5000)
                break;
        }
        for (int k = 0; k < n; k++) // = rank
            work(k);
    }
    int low, high;
    limits(rank, &low, &high);
    for (int i = 0; i < low; i++) // = rank
        work(i);
    for (int i = 0; i < high; i++) // = constant
        work(i);
    struct setup s = {0, 0, 0, 0, 0};
    limits(rank, &s.rank, &s.size);
    for (int i = 0; i < s.rank; i++) // = rank
        work(i);
    int weak = replaced();
    for (int i = 0; i < weak; i++) // = rank
        work(i);
}

APART static void of_mpi(int rank, int left) {
    int buffers[2], index = 0, flag = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(buffers, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, &status);
    for (int i = 0; i < status.MPI_SOURCE; i++) // = message
        work(i);
    MPI_Irecv(buffers, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, requests);
    MPI_Irecv(buffers + 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, requests + 1);
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < index; i++) // = message
        work(i);
    MPI_File file;
    MPI_Offset bytes = 0;
    int n = 0;
    MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_get_size(file, &bytes);
    for (long i = 0; i < bytes; i++) // = input
        work((int)i);
    MPI_File_read_at(file, 4 * rank, &n, 1, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) // = input rank
        work(i);
    MPI_Comm row;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 3, rank, &row);
    MPI_Comm_size(row, &n);
    for (int i = 0; i < n; i++) // = rank size
        work(i);
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, row);
    for (int i = 0; i < sum; i++) // = rank reduction
        work(i);
    n = rank;
    MPI_Recv(&n, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) // = message rank
        work(i);
    int dims[2], periods[2] = {0, 0}, coordinates[2];
    MPI_Cart_get(row, 2, dims, periods, coordinates);
    for (int i = 0; i < periods[0]; i++) // = unknown
        work(i);
}

/* Whether it is called does not matter: where the variable is read, it has been. */
static int guarded;

APART static void set_guarded(void) {
    int one = 1, sum;
    MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    guarded = sum;
}

APART static void of_guarded(void) {
    set_guarded();
    for (int i = 0; i < guarded; i++) // = reduction
        work(i);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pointers[1] = &through_table;
    pointers[2] = malloc(4);
    of_options(argc, argv);
    of_line();
    first = rank;
    second = 2 * rank;
    of_pointers(argc, rank);
    of_keepers(rank);
    of_parameter_and_global(&of_both, rank);
    set_table(rank);
    of_unknown_pointers(argc, rank);
    seen_between(&seen, rank);
    of_control(argc, rank);
    of_mpi(rank, rank == 0 ? MPI_PROC_NULL : rank - 1);
    if (argc > 1 && *pointers[argc & 3] > 2)
        of_guarded();
    called_elsewhere(12);
    hook(rank);
    MPI_Finalize();
    return 0;
}
