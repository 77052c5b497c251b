/* Many kinds of messages, which have to come back from a trace with all parameters and with what was decided at run time.
 * Every function is one kind; all of them are called in each round. Collectives, windows and files are in every.c.
 * Argument: rounds (2). Ranks: two or more. */
#include <mpi.h>
#include "skeleton.h"

enum { COUNT = 32 };

static const MPI_Comm WORLD = MPI_COMM_WORLD;
static int next, last, round_;
static double out[COUNT], in[COUNT];

/* Rank 0 receives from anyone, with and without a tag; the others answer in an order that nobody knows. */
static void wildcards(void) {
    MPI_Status status;
    double sum = 0;
    if (rank > 0)
        for (int i = 0; i < 2; i++) {
            out[0] = rank;
            work((int)(mixed(rank + round_) % 5000));
            MPI_Send(out, 1 + rank % 3, MPI_DOUBLE, 0, 10 + i * (1 + rank % 2), WORLD);
        }
    for (int i = 0; rank == 0 && i < 2 * (size - 1); i++) {
        int count;
        MPI_Recv(in, COUNT, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        expect(count, 1 + status.MPI_SOURCE % 3, "the length of a wildcard's message");
        sum += in[0];
    }
    if (rank == 0)
        expect(sum, (double)size * (size - 1), "the wildcards' sum");
    MPI_Barrier(WORLD);
}

/* Every way to complete several requests. */
static void waits(void) {
    MPI_Request request[8];
    int index, some[8], count, flag;
    double got[8];
    for (int way = 0; way < 6; way++) {
        for (int i = 0; i < 4; i++) {
            MPI_Irecv(&got[i], 1, MPI_DOUBLE, i % 2 ? MPI_ANY_SOURCE : last, 20 + i, WORLD, &request[i]);
            out[i] = i;
        }
        for (int i = 4; i < 8; i++)
            MPI_Isend(&out[i - 4], 1, MPI_DOUBLE, next, 20 + i - 4, WORLD, &request[i]);
        if (way == 0)
            for (int done = 0; done < 8; done++)
                MPI_Waitany(8, request, &index, MPI_STATUS_IGNORE);
        else if (way == 1)
            for (int done = 0; done < 8; done += count)
                MPI_Waitsome(8, request, &count, some, MPI_STATUSES_IGNORE);
        else if (way == 2)
            for (flag = 0; !flag;)
                MPI_Testall(8, request, &flag, MPI_STATUSES_IGNORE);
        else if (way == 3)
            for (int done = 0; done < 8; done += flag)
                MPI_Testany(8, request, &index, &flag, MPI_STATUS_IGNORE);
        else if (way == 4)
            for (int done = 0; done < 8; done += count)
                MPI_Testsome(8, request, &count, some, MPI_STATUSES_IGNORE);
        else
            for (int i = 0; i < 8; i++)
                for (flag = 0; !flag;)
                    MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4; i++)
            expect(got[i], i, "a completed receive");
        MPI_Barrier(WORLD);
    }
}

/* All modes of sending, packed data, and a receive that is cancelled. */
static void modes(void) {
    MPI_Request request;
    int flag, place = 0, size_of, value = rank;
    char packed[64];
    void *buffer = malloc(MPI_BSEND_OVERHEAD + sizeof out + 64);
    MPI_Irecv(in, COUNT, MPI_DOUBLE, last, 30, WORLD, &request);
    MPI_Barrier(WORLD);
    MPI_Rsend(out, COUNT, MPI_DOUBLE, next, 30, WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, COUNT, MPI_DOUBLE, last, 31, WORLD, &request);
    MPI_Ssend(out, COUNT, MPI_DOUBLE, next, 31, WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(buffer, MPI_BSEND_OVERHEAD + sizeof out + 64);
    MPI_Bsend(out, COUNT, MPI_DOUBLE, next, 32, WORLD);
    MPI_Recv(in, COUNT, MPI_DOUBLE, last, 32, WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &size_of);
    free(buffer);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 33, last, 33, WORLD, MPI_STATUS_IGNORE);
    expect(value, last, "a replaced value");
    MPI_Pack(&value, 1, MPI_INT, packed, sizeof packed, &place, WORLD);
    MPI_Pack(out, 2, MPI_DOUBLE, packed, sizeof packed, &place, WORLD);
    MPI_Sendrecv_replace(packed, place, MPI_PACKED, next, 34, last, 34, WORLD, MPI_STATUS_IGNORE);
    place = 0;
    MPI_Unpack(packed, sizeof packed, &place, &value, 1, MPI_INT, WORLD);
    expect(value, (rank + 2 * size - 2) % size, "an unpacked value");
    MPI_Irecv(in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 999, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, 1, "a cancelled receive");
    MPI_Sendrecv(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void) {
    MPI_Request request[2];
    MPI_Recv_init(in, COUNT, MPI_DOUBLE, last, 40, WORLD, &request[0]);
    MPI_Send_init(out, COUNT, MPI_DOUBLE, next, 40, WORLD, &request[1]);
    for (int i = 0; i < 5; i++) {
        sign(out, COUNT, rank, i);
        if (i % 2)
            MPI_Startall(2, request);
        else
            for (int k = 0; k < 2; k++)
                MPI_Start(&request[k]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        signed_by(in, COUNT, last, i, "a persistent receive");
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
#if MPI_VERSION >= 4
    MPI_Precv_init(in, 4, COUNT / 4, MPI_DOUBLE, last, 41, WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Psend_init(out, 4, COUNT / 4, MPI_DOUBLE, next, 41, WORLD, MPI_INFO_NULL, &request[1]);
    for (int i = 0; i < 3; i++) {
        int flag;
        sign(out, COUNT, rank, i);
        MPI_Startall(2, request);
        for (int k = 0; k < 4; k++)
            MPI_Pready((k + rank) % 4, request[1]);
        MPI_Parrived(request[0], 0, &flag);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        signed_by(in, COUNT, last, i, "a partitioned receive");
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
#endif
}

/* Types that are made, used once and freed, over and over; a library may give each the same handle. */
static void types(void) {
    for (int i = 1; i <= 6; i++) {
        MPI_Datatype type[5];
        int lengths[2] = {1, i}, places[2] = {0, 2}, whole[2] = {4, 8}, part[2] = {2, i}, start[2] = {1, 0};
        MPI_Aint bytes[2] = {0, 16};
        MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
        MPI_Type_vector(2, i, 8, MPI_DOUBLE, &type[0]);
        MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &type[1]);
        MPI_Type_create_struct(2, lengths, bytes, parts, &type[2]);
        MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &type[3]);
        MPI_Type_create_resized(type[1], 0, 8 * COUNT, &type[4]);
        for (int t = 0; t < 5; t++) {
            MPI_Type_commit(&type[t]);
            MPI_Sendrecv(out, 1, type[t], next, 50 + t, in, 1, type[t], last, 50 + t, WORLD, MPI_STATUS_IGNORE);
        }
        for (int t = 5; t-- > 0;)
            MPI_Type_free(&type[t]);
    }
}

/* Probes of all kinds, with idle polls before the message is there: rank 0 is the last to send. */
static void probes(void) {
    MPI_Message message;
    MPI_Status status;
    int flag = 0, count;
    work(rank == 0 ? 200000 : 10);
    for (int way = 0; way < 4; way++) {
        MPI_Request request;
        MPI_Isend(out, 1 + way + rank % 4, MPI_DOUBLE, next, 70 + way, WORLD, &request);
        if (way == 0)
            MPI_Probe(MPI_ANY_SOURCE, 70, WORLD, &status);
        for (flag = way != 1; !flag;)
            MPI_Iprobe(last, 71, WORLD, &flag, &status);
        if (way == 2)
            MPI_Mprobe(last, MPI_ANY_TAG, WORLD, &message, &status);
        for (flag = way != 3; !flag;)
            MPI_Improbe(last, 73, WORLD, &flag, &message, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        expect(count, 1 + way + last % 4, "the length of a probed message");
        if (way >= 2)
            MPI_Mrecv(in, count, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
        else
            MPI_Recv(in, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    static void (*const kinds[])(void) = {wildcards, waits, modes, persistent, types, probes};
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "mixed: two or more ranks are needed\n");
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
