/* Communicators, collectives, windows and files, each call of which has to come back from a trace with all its parameters.
 * Every function is one kind; all of them are called in each round. Messages are in mixed.c.
 * Arguments: rounds (2), a folder for the scratch file (/tmp). Ranks: two or more. */
#include <mpi.h>
#include <unistd.h>
#include "skeleton.h"

enum { COUNT = 32 };

static const MPI_Comm WORLD = MPI_COMM_WORLD;
static int next, last, round_;
static double out[COUNT], in[COUNT];
static const char *folder = "/tmp";

static void communicators(void) {
    MPI_Comm part, copy, cart, line, some, both, node;
    MPI_Group group, low;
    MPI_Request request;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {0, 1}, from, to, of, value = rank, sum, half = size / 2;
    double near[4] = {-1, -1, -1, -1}, mine = rank;
    MPI_Comm_split(WORLD, rank % 2, -rank, &part);
    MPI_Comm_dup(part, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
    MPI_Comm_idup(part, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Barrier(node);
    MPI_Comm_free(&node);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_shift(cart, 1, 1, &from, &to);
    MPI_Sendrecv(out, COUNT, MPI_DOUBLE, to, 60, in, COUNT, MPI_DOUBLE, from, 60, cart, MPI_STATUS_IGNORE);
    MPI_Neighbor_allgather(&mine, 1, MPI_DOUBLE, near, 1, MPI_DOUBLE, cart);
    MPI_Cart_sub(cart, keep, &line);
    MPI_Comm_size(line, &of);
    expect(of, dims[1], "the length of a line");
    MPI_Comm_free(&line);
    MPI_Comm_free(&cart);
    /* The lower half and the upper one, and what they say to each other. */
    MPI_Comm_group(WORLD, &group);
    MPI_Group_range_incl(group, 1, (int[1][3]){{rank < half ? 0 : half, rank < half ? half - 1 : size - 1, 1}}, &low);
    MPI_Comm_create(WORLD, low, &some);
    MPI_Intercomm_create(some, 0, WORLD, rank < half ? half : 0, 61, &both);
    value = 7;
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank < half ? MPI_PROC_NULL : 0, both);
    MPI_Intercomm_merge(both, rank < half, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    expect(sum, 7 * size, "what both halves say");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&both);
    MPI_Comm_free(&some);
    MPI_Group_free(&low);
    MPI_Group_free(&group);
}

static void collectives(void) {
    int counts[size], places[size], total = 0, own = 1 + rank % 3, back[size], at[size], sum;
    for (int i = 0; i < size; i++) {
        counts[i] = 1 + i % 3;
        places[i] = total;
        total += counts[i];
        back[i] = own;
        at[i] = i * own;
    }
    double all[total + size * own], mine[3 * size + 3];
    for (int i = 0; i < 3 * size + 3; i++)
        mine[i] = 1;
    MPI_Gatherv(mine, own, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, size - 1, WORLD);
    MPI_Scatterv(all, counts, places, MPI_DOUBLE, mine, own, MPI_DOUBLE, size - 1, WORLD);
    MPI_Allgatherv(mine, own, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, WORLD);
    expect(all[total - 1], 1, "a gathered value");
    MPI_Alltoallv(mine, counts, places, MPI_DOUBLE, all, back, at, MPI_DOUBLE, WORLD);
    MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Scan(&own, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(&own, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    if (rank > 0)
        expect(sum, places[rank], "a prefix sum");
    MPI_Datatype kind[size];
    int bytes_to[size], bytes_from[size];
    for (int i = 0; i < size; i++) {
        kind[i] = MPI_DOUBLE;
        bytes_to[i] = 8 * places[i];
        bytes_from[i] = 8 * at[i];
        mine[places[i]] = i;
    }
    MPI_Alltoallw(mine, counts, bytes_to, kind, all, back, bytes_from, kind, WORLD);
    expect(all[at[size - 1]], rank, "a value of all to all");
}

/* Collectives that are made once and started again. */
static void persistent_collectives(void) {
#if MPI_VERSION >= 4
    MPI_Request request[2];
    int one = 1, sum = 0;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Barrier_init(WORLD, MPI_INFO_NULL, &request[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        expect(sum, size, "a persistent sum");
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
#endif
}

static void nonblocking_collectives(void) {
    MPI_Request request[5];
    int flag, value = rank, sum, most, got[size], sent[size];
    memset(sent, 0, sizeof sent);
    for (int i = 0; i < 3; i++) {
        double root_value = rank == i % size ? 4 : 0;
        MPI_Ibarrier(WORLD, &request[0]);
        MPI_Ibcast(&root_value, 1, MPI_DOUBLE, i % size, WORLD, &request[1]);
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request[2]);
        MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, WORLD, &request[3]);
        MPI_Ireduce(&value, &most, 1, MPI_INT, MPI_MAX, 0, WORLD, &request[4]);
        work(1000);
        MPI_Test(&request[2], &flag, MPI_STATUS_IGNORE);
        MPI_Waitall(5, request, MPI_STATUSES_IGNORE);
        expect(sum, size * (size - 1) / 2, "a nonblocking sum");
        expect(root_value, 4, "a nonblocking broadcast");
    }
}

static void one_sided(void) {
    MPI_Win window;
    MPI_Group world, to, from;
    double *base, one = 1, old = 0;
    MPI_Win_allocate(COUNT * sizeof(double), sizeof(double), MPI_INFO_NULL, WORLD, &base, &window);
    base[0] = base[1] = base[2] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(&one, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, window);
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_fence(0, window);
    expect(base[0], 1, "what was put");
    if (rank == 0)
        expect(base[1], size, "what was accumulated");
    MPI_Barrier(WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&old, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
    MPI_Win_unlock(0, window);
    expect(old, 1, "what was got");
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, 0, 2, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(WORLD);
    MPI_Comm_group(WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &last, &from);
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(&one, 1, MPI_DOUBLE, next, 3, 1, MPI_DOUBLE, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    expect(base[3], 1, "what was put between start and complete");
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    MPI_Win_free(&window);
}

/* A file that is gone when it is closed. */
static void files(void) {
    MPI_File file;
    MPI_Request request;
    MPI_Offset place = (MPI_Offset)rank * sizeof out;
    int process = getpid();
    char name[512];
    MPI_Bcast(&process, 1, MPI_INT, 0, WORLD);
    snprintf(name, sizeof name, "%s/every.%d.%d", folder, process, round_);
    if (MPI_File_open(WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)) {
        expect(0, 1, "the scratch file");
        return;
    }
    sign(out, COUNT, rank, round_);
    MPI_File_write_at_all(file, place, out, COUNT, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_read_at(file, (MPI_Offset)next * sizeof out, in, COUNT, MPI_DOUBLE, MPI_STATUS_IGNORE);
    signed_by(in, COUNT, next, round_, "what was read");
    MPI_Barrier(WORLD);
    MPI_File_iwrite_at(file, place, out, COUNT / 2, MPI_DOUBLE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, place, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 1, MPI_SEEK_SET);
    MPI_File_read_all(file, in, COUNT - 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    static void (*const kinds[])(void) = {communicators, collectives, persistent_collectives,
                                          nonblocking_collectives, one_sided, files};
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    folder = argc > 2 ? argv[2] : folder;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "every: two or more ranks are needed\n");
        MPI_Finalize();
        return 2;
    }
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (round_ = 0; round_ < rounds; round_++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            kinds[kind]();
    MPI_Finalize();
    return verdict();
}
