/* Loops whose bounds come from somewhere: what is true stands behind each. One that cannot be known is "unknown". */
#include "cases.h"

static int module_rank;
static int module_input;

__attribute__((noinline)) static void of_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rank; i++) // = rank
        work(i);
    for (int i = 0; i < 100 + 10 * rank; i++) // = rank
        work(i);
    int n = 10;
    if (rank == 0)
        n = 100;
    for (int i = 0; i < n; i++) // = rank
        work(i);
    for (int i = rank; i < 64; i++) // = rank
        work(i);
    int many = rank % 2 ? 7 : 9;
    while (many-- > 0) // = rank
        work(many);
}

__attribute__((noinline)) static void of_size(int argc, char **argv) {
    int size, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4096 / size; i++) // = size
        work(i);
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    for (int i = 0; i < n; i++) // = input
        work(i);
    for (int i = 0; i < n / size; i++) // = input size
        work(i);
    int low = n * rank / size, high = n * (rank + 1) / size;
    for (int i = low; i < high; i++) // = input rank size
        work(i);
    for (int i = 0; i < 7700; i++) // = constant
        work(i);
}

__attribute__((noinline)) static void of_messages(void) {
    int n = 3, rank, peer = 0, total, most;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        n = 50;
        MPI_Send(&n, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&peer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < peer; i++) // = message
            work(i);
    }
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) // = message
        work(i);
    int own = 5;
    MPI_Allreduce(&own, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < total; i++) // = reduction
        work(i);
    MPI_Scan(&own, &most, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < most; i++) // = reduction
        work(i);
    double error = 1, worst = 1;
    while (worst > 1e-3) { // = reduction
        work(1);
        error *= 0.5;
        MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    int parts[4] = {1, 2, 3, 4}, mine;
    MPI_Scatter(parts, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < mine; i++) // = message
        work(i);
    MPI_Status status;
    int count;
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    for (int i = 0; i < count; i++) // = message
        work(i);
}

__attribute__((noinline)) static void of_structures(char **argv) {
    struct setup s;
    memset(&s, 0, sizeof s);
    find_out(&s);
    for (int i = 0; i < s.rank; i++) // = rank
        work(i);
    for (int i = 0; i < s.cells; i++) // = size
        work(i);
    for (int i = 0; i < s.steps; i++) // = constant
        work(i);
    walk(&s);
    struct nested outer = {1, {0, 0, 0, 0, 0}};
    outer.of.cells = atoi(argv[2]);
    struct nested copy = outer;
    fill(&copy.of.steps, 20);
    for (int i = 0; i < copy.of.cells; i++) // = input
        work(i);
    for (int i = 0; i < copy.of.steps; i++) // = constant
        work(i);
    struct setup *heap = malloc(sizeof *heap);
    MPI_Comm_rank(MPI_COMM_WORLD, &heap->rank);
    heap->steps = 8;
    for (int i = 0; i < heap->rank; i++) // = rank
        work(i);
    for (int i = 0; i < heap->steps; i++) // = constant
        work(i);
    free(heap);
}

__attribute__((noinline)) static void of_globals(void) {
    for (int i = 0; i < module_rank; i++) // = rank
        work(i);
    for (int i = 0; i < shared_rank; i++) // = rank
        work(i);
    for (int i = 0; i < shared_cells; i++) // = size
        work(i);
    for (int i = 0; i < shared_constant; i++) // = constant
        work(i);
    for (int i = 0; i < module_input; i++) // = input
        work(i);
    for (int i = 0; i < written_elsewhere; i++) // = rank
        work(i);
}

__attribute__((noinline)) static void of_calls(void) {
    int rank = rank_now(), size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < share_of(120, rank); i++) // = rank
        work(i);
    int own = share_of(120, 3);
    for (int i = 0; i < own; i++) // = constant
        work(i);
    int filled = 1, other = 1;
    fill(&filled, rank);
    fill(&other, size);
    for (int i = 0; i < filled; i++) // = rank
        work(i);
    for (int i = 0; i < other; i++) // = size
        work(i);
    sweep(rank + 1);
    sweep_constant(12);
    int hidden = 3;
    kept(&hidden);
    use_kept();
    for (int i = 0; i < hidden; i++) // = unknown
        work(i);
    if (rank == 0)
        on_one_rank();
    int first = -1, table[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 8; i++) // = rank
        if (table[i] == rank) {
            first = i;
            break;
        }
    for (int i = 0; i < first + 1; i++) // = rank
        work(i);
    int coordinates[2], dims[2] = {0, 0}, periods[2] = {0, 0};
    MPI_Comm grid;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, coordinates);
    for (int i = 0; i < coordinates[0]; i++) // = rank
        work(i);
    for (int i = 0; i < dims[0]; i++) // = size
        work(i);
    unsigned seed = (unsigned)rand();
    for (unsigned i = 0; i < seed % 9; i++) // = unknown
        work((int)i);
}

__attribute__((noinline)) static void of_same_place(int *one, int *other) {
    *one = 5;
    MPI_Comm_rank(MPI_COMM_WORLD, other);
    for (int i = 0; i < *one; i++) // = unknown
        work(i);
}

static int window;

/* The library, or another rank, writes later. */
__attribute__((noinline)) static void of_late_writers(void) {
    int both, ready;
    of_same_place(&both, &both);
    MPI_Request request;
    MPI_Recv_init(&ready, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    ready = 7;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ready; i++) // = unknown
        work(i);
    MPI_Win win;
    MPI_Win_create(&window, sizeof(window), sizeof(window), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    window = 3;
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < window; i++) // = unknown
        work(i);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &module_rank);
    if (argc > 3)
        sscanf(argv[3], "%d", &module_input);
    set_shared();
    of_rank();
    of_size(argc, argv);
    of_messages();
    of_structures(argv);
    of_globals();
    of_calls();
    of_late_writers();
    MPI_Finalize();
    return 0;
}
