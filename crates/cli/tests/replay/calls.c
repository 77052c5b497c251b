/* Calls that the programs of testbed/skeletons do not make, each of which a replay has to make again.
 * Argument: a file, which is made, read and deleted. Ranks: two or more. */
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 256 };

static const MPI_Comm WORLD = MPI_COMM_WORLD;
static int rank, size, next, last;
static double a[COUNT], b[COUNT], c[COUNT];

static void topologies(void) {
    MPI_Comm comm;
    int weight[1] = {1}, counts[1] = {2}, from[1] = {1}, to[1] = {3}, degree[1] = {1}, index[64], edges[128];
    MPI_Aint bytes_from[1] = {8}, bytes_to[1] = {16};
    MPI_Datatype types[1] = {MPI_DOUBLE};
    MPI_Dist_graph_create_adjacent(WORLD, 1, &last, weight, 1, &next, weight, MPI_INFO_NULL, 0, &comm);
    MPI_Neighbor_alltoallv(a, counts, from, MPI_DOUBLE, b, counts, to, MPI_DOUBLE, comm);
    MPI_Neighbor_allgather(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, comm);
    MPI_Neighbor_alltoallw(a, counts, bytes_from, types, b, counts, bytes_to, types, comm);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(WORLD, 1, &rank, degree, &next, weight, MPI_INFO_NULL, 0, &comm);
    MPI_Neighbor_alltoall(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm);
    MPI_Comm_free(&comm);
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % size;
        edges[2 * i + 1] = (i + size - 1) % size;
    }
    MPI_Graph_create(WORLD, size, index, edges, 0, &comm);
    MPI_Neighbor_allgather(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm);
    MPI_Comm_free(&comm);
}

static void types(void) {
    MPI_Datatype type, copy;
    MPI_Request request;
    MPI_Aint places[2];
    int lengths[2] = {3, 5}, sizes[2] = {8, 8}, ranks[2] = {size, 1};
    int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, parts[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    /* Absolute addresses. */
    MPI_Get_address(a, &places[0]);
    MPI_Get_address(c, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(b, 8, MPI_DOUBLE, last, 5, WORLD, &request);
    MPI_Send(MPI_BOTTOM, 1, type, next, 5, WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, parts, ranks, MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_dup(type, &copy);
    MPI_Type_commit(&copy);
    MPI_Type_free(&type);
    MPI_Send(a, 0, copy, next, 6, WORLD);
    MPI_Recv(b, 0, copy, last, 6, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&copy);
    /* Elements before the buffer. */
    MPI_Type_create_hvector(3, 1, -24, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(a + 10, 2, type, next, 7, b, 6, MPI_DOUBLE, last, 7, WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    MPI_Bcast(a, 3, type, 0, WORLD);
}

static void communicators(void) {
    MPI_Info info;
    MPI_Comm copy, some;
    MPI_Group all, others;
    MPI_Request request;
    int *value, flag, first = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Comm_dup_with_info(WORLD, info, &copy);
    MPI_Info_free(&info);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &value, &flag);
    MPI_Comm_group(copy, &all);
    MPI_Group_excl(all, 1, &first, &others);
    if (rank > 0) {
        MPI_Comm_create_group(copy, others, 9, &some);
        MPI_Barrier(some);
        MPI_Comm_free(&some);
    }
    MPI_Comm_split(copy, rank > 0 ? 1 : MPI_UNDEFINED, 0, &some);
    if (rank > 0) {
        MPI_Reduce(rank == 1 ? MPI_IN_PLACE : a, a, 4, MPI_DOUBLE, MPI_MAX, 0, some);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Comm_free(&copy);
    MPI_Comm_idup(WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

static void collectives(void) {
    MPI_Request request;
    int counts[64];
    struct {
        double value;
        int of;
    } mine = {0, rank}, most;
    for (int i = 0; i < size; i++)
        counts[i] = 2;
    MPI_Reduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Gather(rank ? a : MPI_IN_PLACE, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, WORLD);
    MPI_Scatter(b, 2, MPI_DOUBLE, rank ? a : MPI_IN_PLACE, 2, MPI_DOUBLE, 0, WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, WORLD);
    MPI_Iallgatherv(a, 2, MPI_DOUBLE, b, counts, counts, MPI_DOUBLE, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_local(a, b, 3, MPI_DOUBLE, MPI_SUM);
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD);
}

static void windows(void) {
    MPI_Win window;
    MPI_Comm node;
    MPI_Request request;
    static double memory[COUNT];
    double *shared;
    long one = 1, zero = 0, result;
    void *allocated;
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, WORLD, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Rput(a, 2, MPI_DOUBLE, next, 4, 2, MPI_DOUBLE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Compare_and_swap(&one, &zero, &result, MPI_LONG, next, 1, window);
    MPI_Win_flush_all(window);
    MPI_Get_accumulate(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, next, 8, 2, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush_local(next, window);
    MPI_Rget(a, 2, MPI_DOUBLE, next, 4, 2, MPI_DOUBLE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_sync(window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, node, &shared, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &allocated);
    MPI_Free_mem(allocated);
}

/* A file that was there before. */
static void files(const char *name) {
    MPI_File file;
    MPI_Request request;
    MPI_Offset length;
    if (rank == 0) {
        FILE *made = fopen(name, "w");
        for (int i = 0; i < 4096; i++)
            fputc('x', made);
        fclose(made);
    }
    MPI_Barrier(WORLD);
    MPI_File_open(WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_read_ordered(file, a, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, 64, a, 4, MPI_DOUBLE);
    MPI_File_read_at_all_end(file, a, MPI_STATUS_IGNORE);
    MPI_File_read_shared(file, a, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_iread(file, a, 4, MPI_DOUBLE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_get_size(file, &length);
    MPI_File_close(&file);
    MPI_Barrier(WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(WORLD);
}

static void messages(void) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request request[2];
    int index, flag = 0;
    MPI_Isend(a, 3, MPI_DOUBLE, next, 30, WORLD, &request[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &message, &status);
    MPI_Imrecv(b, 3, MPI_DOUBLE, &message, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    /* Persistent, from whoever sends; the last call finds nothing to wait for. */
    MPI_Recv_init(b, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 31, WORLD, &request[0]);
    MPI_Send_init(a, 3, MPI_DOUBLE, next, 31, WORLD, &request[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, request);
        for (int k = 0; k < 3; k++)
            MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Irecv(b, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 32, WORLD, &request[0]);
    MPI_Send(a, 3, MPI_DOUBLE, next, 32, WORLD);
    while (!flag)
        MPI_Request_get_status(request[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request[0], &status);
    MPI_Send(NULL, 0, MPI_BYTE, next, 40, WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, last, 40, WORLD, MPI_STATUS_IGNORE);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

static void ignore(MPI_Comm *comm, int *error, ...) {
    (void)comm;
    (void)error;
}

static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *extra) {
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* What passes functions to the library. */
static void callbacks(void) {
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Request request;
    for (int commutes = 0; commutes < 2; commutes++) {
        MPI_Op_create(add, commutes, &op);
        MPI_Allreduce(a, b, COUNT, MPI_DOUBLE, op, WORLD);
        MPI_Iscan(a, b, 3, MPI_DOUBLE, op, WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Op_free(&op);
    }
    MPI_Comm_create_errhandler(ignore, &handler);
    MPI_Comm_set_errhandler(WORLD, handler);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int round = 0; round < 3; round++) {
        topologies();
        types();
        communicators();
        collectives();
        windows();
        files(argv[1]);
        messages();
        callbacks();
    }
    return MPI_Finalize();
}
