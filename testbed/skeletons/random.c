/* A program drawn from a seed: nested loops, branches by step and by rank, and in them messages and collectives.
 *
 * All ranks draw the same trees, so the same seed gives the same program on any number of ranks. A branch by rank divides its
 * communicator, and its two parts are programs of their own; so all ranks of a communicator reach the same calls in the
 * same order, and each call has its own tag: nothing can deadlock. What a wildcard or an idle poll meets depends on the run.
 * Arguments: the seed (1), nodes of its trees (40). Any number of ranks. */
#include <mpi.h>
#include "skeleton.h"

enum kind { SEQUENCE, LOOP, BY_STEP, BY_RANK, POSTED, LEAVES, KINDS = LEAVES + 8 };
enum { CHILDREN = 4, DEEPEST = 6, LARGEST = 64 };

struct node {
    enum kind kind;
    int tag, a, b, children;
    struct node *child[CHILDREN];
    /* Where the node runs, and this rank and all ranks there. */
    MPI_Comm comm;
    int me, all;
};

static unsigned long long state;
static int left, tags;

static int draw(int below) {
    state++;
    return (int)(mixed(state) % (unsigned)below);
}

/* A tree. Where no more nodes are left, only leaves grow. */
static struct node *grow(int depth) {
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        abort();
    left--;
    n->tag = 1 + tags++;
    n->a = draw(1000);
    n->b = draw(1000);
    n->kind = depth < DEEPEST && left > 0 && draw(5) < 3 ? draw(LEAVES) : LEAVES + draw(KINDS - LEAVES);
    int wanted = n->kind >= LEAVES ? 0 : n->kind == BY_RANK || n->kind == BY_STEP ? 2 : 1 + draw(CHILDREN);
    while (n->children < wanted)
        n->child[n->children++] = grow(depth + 1);
    return n;
}

/* The part of a branch by rank that this rank is in. */
static int side_of(const struct node *n) {
    return n->a % 2 ? n->me % 2 : n->me < (n->all + 1) / 2;
}

/* Gives each node that this rank reaches its communicator. */
static void place(struct node *n, MPI_Comm comm) {
    n->comm = comm;
    MPI_Comm_rank(comm, &n->me);
    MPI_Comm_size(comm, &n->all);
    if (n->kind == BY_RANK) {
        MPI_Comm part;
        int side = side_of(n);
        MPI_Comm_split(comm, side, n->me, &part);
        place(n->child[side], part);
    } else
        for (int i = 0; i < n->children; i++)
            place(n->child[i], comm);
}

/* Frees what `place` made. */
static void leave(struct node *n) {
    if (n->kind == BY_RANK) {
        leave(n->child[side_of(n)]);
        MPI_Comm_free(&n->child[side_of(n)]->comm);
    } else
        for (int i = 0; i < n->children; i++)
            leave(n->child[i]);
}

static double out[LARGEST], in[LARGEST];

/* Values of a message: the same for its sender and receiver. */
static int length(const struct node *n, int step) {
    return 1 + (n->a + (n->b % 3 ? 0 : step)) % LARGEST;
}

static void ring(const struct node *n, int step) {
    int by = 1 + n->b % 3, to = (n->me + by) % n->all, from = (n->me + n->all * by - by) % n->all, count = length(n, step);
    MPI_Request request[2];
    sign(out, count, n->me, step);
    MPI_Irecv(in, count, MPI_DOUBLE, from, n->tag, n->comm, &request[0]);
    MPI_Isend(out, count, MPI_DOUBLE, to, n->tag, n->comm, &request[1]);
    if (n->a % 3)
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    else
        for (int done = 0, index; done < 2; done++)
            MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    signed_by(in, count, from, step, "a ring's message");
}

/* Pairs; each exchanges in some steps only. */
static void pair(const struct node *n, int step) {
    int other = n->me ^ 1, count = length(n, step);
    if (other >= n->all || mixed(n->a + step * 64ULL + n->me / 2) % 4 == 0)
        return;
    sign(out, count, n->me, step);
    MPI_Sendrecv(out, count, MPI_DOUBLE, other, n->tag, in, LARGEST, MPI_DOUBLE, other, n->tag, n->comm, MPI_STATUS_IGNORE);
    signed_by(in, count, other, step, "a pair's message");
}

/* All to one, in the order of ranks. */
static void funnel(const struct node *n, int step) {
    int root = n->b % n->all, count = length(n, step);
    if (n->me != root) {
        sign(out, count, n->me, step);
        MPI_Send(out, count, MPI_DOUBLE, root, n->tag, n->comm);
        return;
    }
    for (int from = 0; from < n->all; from++)
        if (from != root) {
            MPI_Recv(in, count, MPI_DOUBLE, from, n->tag, n->comm, MPI_STATUS_IGNORE);
            signed_by(in, count, from, step, "a message to one");
        }
}

/* All to one, in any order; who is fast may be here a step earlier than others. */
static void any(const struct node *n, int step) {
    int root = n->b % n->all;
    MPI_Status status;
    out[0] = n->me;
    if (n->me != root) {
        work((int)(mixed(n->me + step) % 2000));
        MPI_Send(out, 1, MPI_DOUBLE, root, n->tag, n->comm);
        return;
    }
    for (int i = 1; i < n->all; i++) {
        if (n->a % 2)
            MPI_Probe(MPI_ANY_SOURCE, n->tag, n->comm, &status);
        MPI_Recv(in, LARGEST, MPI_DOUBLE, n->a % 2 ? status.MPI_SOURCE : MPI_ANY_SOURCE, n->tag, n->comm, &status);
        expect(in[0], status.MPI_SOURCE, "the source of any message");
    }
}

/* From the rank before, by polling. */
static void poll(const struct node *n, int step) {
    int to = (n->me + 1) % n->all, from = (n->me + n->all - 1) % n->all, count = length(n, step), flag = 0;
    MPI_Request request[2];
    sign(out, count, n->me, step);
    MPI_Isend(out, count, MPI_DOUBLE, to, n->tag, n->comm, &request[0]);
    if (n->b % 2) {
        while (!flag)
            MPI_Iprobe(from, n->tag, n->comm, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(in, count, MPI_DOUBLE, from, n->tag, n->comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(in, count, MPI_DOUBLE, from, n->tag, n->comm, &request[1]);
        while (!flag)
            MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    signed_by(in, count, from, step, "a polled message");
}

static void collective(const struct node *n, int step) {
    double own = n->me, sum = 0, value = step;
    MPI_Request request;
    switch (n->a % 5) {
    case 0:
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, n->comm);
        expect(sum, n->all * (n->all - 1) / 2, "a sum");
        break;
    case 1:
        MPI_Barrier(n->comm);
        break;
    case 2:
        value = n->me == n->b % n->all ? step : -1;
        MPI_Bcast(&value, 1, MPI_DOUBLE, n->b % n->all, n->comm);
        expect(value, step, "a broadcast");
        break;
    case 3:
        MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, (n->b + step) % n->all, n->comm);
        break;
    default:
        MPI_Iallreduce(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, n->comm, &request);
        work(500);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sum, n->all - 1, "a maximum");
    }
}

/* As much for each rank as its number and the step say. */
static void scattered(const struct node *n, int step) {
    int counts[n->all], places[n->all], total = 0;
    for (int i = 0; i < n->all; i++) {
        counts[i] = (int)(mixed(n->a + i * 8ULL + (n->b % 2 ? step : 0)) % 4);
        places[i] = total;
        total += counts[i];
    }
    double all[total + 1], own[4] = {n->me, n->me, n->me, n->me};
    MPI_Allgatherv(own, counts[n->me], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, n->comm);
    for (int i = 0; i < n->all; i++)
        if (counts[i])
            expect(all[places[i]], i, "a gathered value");
}

/* With a type that lives for one message. */
static void typed(const struct node *n, int step) {
    MPI_Datatype type;
    int to = (n->me + 1) % n->all, from = (n->me + n->all - 1) % n->all;
    MPI_Type_vector(1 + (n->a + step) % 4, 1 + n->b % 4, 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    out[0] = n->me;
    MPI_Sendrecv(out, 1, type, to, n->tag, in, 1, type, from, n->tag, n->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    expect(in[0], from, "a typed message");
}

/* Runs a tree at a step of the loop around it. */
static void run(const struct node *n, int step) {
    static void (*const leaf[])(const struct node *, int) = {ring, pair, funnel, any, poll, collective, scattered, typed};
    MPI_Request request[2];
    double early, own = n->me;
    switch (n->kind) {
    case SEQUENCE:
        for (int i = 0; i < n->children; i++)
            run(n->child[i], step);
        break;
    case LOOP:
        /* The number of trips may depend on the step of the loop around. */
        for (int trip = 0, trips = 2 + (n->a + (n->b % 2 ? step : 0)) % 4; trip < trips; trip++)
            for (int i = 0; i < n->children; i++)
                run(n->child[i], trip);
        break;
    case BY_STEP:
        run(n->child[step % (2 + n->a % 3) == 0], step);
        break;
    case BY_RANK:
        run(n->child[side_of(n)], step);
        break;
    case POSTED:
        /* A message around what is inside. */
        MPI_Irecv(&early, 1, MPI_DOUBLE, (n->me + n->all - 1) % n->all, n->tag, n->comm, &request[0]);
        MPI_Isend(&own, 1, MPI_DOUBLE, (n->me + 1) % n->all, n->tag, n->comm, &request[1]);
        for (int i = 0; i < n->children; i++)
            run(n->child[i], step);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        expect(early, (n->me + n->all - 1) % n->all, "an early message");
        break;
    default:
        leaf[n->kind - LEAVES](n, step);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = mixed(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    left = argc > 2 ? atoi(argv[2]) : 40;
    if (left < 1) {
        if (rank == 0)
            fprintf(stderr, "random: a program has one node or more\n");
        MPI_Finalize();
        return 2;
    }
    int count = 0;
    struct node **tree = calloc(left, sizeof *tree);
    while (left > 0 && tree)
        tree[count++] = grow(0);
    for (int i = 0; i < count; i++)
        place(tree[i], MPI_COMM_WORLD);
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < count; i++)
            run(tree[i], step);
    for (int i = 0; i < count; i++)
        leave(tree[i]);
    MPI_Finalize();
    return verdict();
}
