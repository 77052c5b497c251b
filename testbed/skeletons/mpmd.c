/* Two roles by rank, with different sequences of calls: workers compute and exchange among themselves, servers answer.
 *
 * Every fourth rank is a server. A worker asks the server of its group of four, which takes requests from anyone: it probes,
 * receives as much as was sent and answers. At the end the servers add up how often they were asked.
 * Argument: steps of a worker (20). Ranks: four or more. */
#include <mpi.h>
#include "skeleton.h"

enum { GROUP = 4, ROUND = 5, ASK = 10, ANSWER, DONE, LARGEST = 64 };

static MPI_Comm role;

static int is_server(int who) {
    return who % GROUP == 0;
}

/* How much a worker asks for at a step. */
static int length(int who, int step) {
    return 1 + (int)(mixed(who * 1000ULL + step) % LARGEST);
}

static void worker(int steps, int server) {
    double values[LARGEST], around = 0, got, sum;
    int me, all;
    MPI_Request request;
    MPI_Comm_rank(role, &me);
    MPI_Comm_size(role, &all);
    for (int step = 0; step < steps; step++) {
        int count = length(rank, step);
        sign(values, count, rank, step);
        MPI_Irecv(&got, 1, MPI_DOUBLE, (me + all - 1) % all, step % 3, role, &request);
        MPI_Send(&around, 1, MPI_DOUBLE, (me + 1) % all, step % 3, role);
        MPI_Send(values, count, MPI_DOUBLE, server, ASK, MPI_COMM_WORLD);
        work(500);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(got, step, "the value of the worker before");
        around++;
        MPI_Recv(values, 1, MPI_DOUBLE, server, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(values[0], count, "an answer");
        if (step % ROUND == 0) {
            MPI_Allreduce(&around, &sum, 1, MPI_DOUBLE, MPI_SUM, role);
            expect(sum, (double)all * (step + 1), "a sum of workers");
        }
    }
    MPI_Send(NULL, 0, MPI_DOUBLE, server, DONE, MPI_COMM_WORLD);
}

static void server(int steps) {
    double values[LARGEST], answer;
    int clients = 0, count, asked = 0, all, step[GROUP] = {0};
    for (int who = rank + 1; who < rank + GROUP && who < size; who++)
        clients++;
    while (clients > 0) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        MPI_Recv(values, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (status.MPI_TAG == DONE) {
            clients--;
            continue;
        }
        signed_by(values, count, status.MPI_SOURCE, step[status.MPI_SOURCE - rank]++, "a request");
        answer = count;
        asked++;
        MPI_Send(&answer, 1, MPI_DOUBLE, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD);
    }
    MPI_Reduce(&asked, &all, 1, MPI_INT, MPI_SUM, 0, role);
    if (rank == 0)
        expect(all, (double)steps * (size - (size + GROUP - 1) / GROUP), "the number of requests");
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < GROUP) {
        if (rank == 0)
            fprintf(stderr, "mpmd: four or more ranks are needed\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Comm_split(MPI_COMM_WORLD, is_server(rank), rank, &role);
    if (is_server(rank))
        server(steps);
    else
        worker(steps, rank / GROUP * GROUP);
    MPI_Comm_free(&role);
    MPI_Finalize();
    return verdict();
}
