/* Uses MPI by a session, with a communicator of all and one with the ranks the other way round. With "again"
   another one follows when both ranks have left the first, with "world" MPI_Init is called while it is open, and
   with "inside" before. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Open MPI 5 has them before it has all of MPI 4. */
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAS_SESSIONS
#endif

#ifdef HAS_SESSIONS
static MPI_Comm all_of(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Ten messages each way, of which the first one's sender is late, and one over the other communicator. */
static int exchange(MPI_Comm all) {
    MPI_Comm reversed;
    int rank, value = 0, sum = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_split(all, 0, -rank, &reversed);
    if (rank == 1)
        usleep(200000);
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 3, &value, 1, MPI_INT, 1 - rank, 3, all, MPI_STATUS_IGNORE);
        sum += value;
    }
    if (rank == 0)
        MPI_Send(&sum, 1, MPI_INT, 0, 4, reversed);
    else
        MPI_Recv(&sum, 1, MPI_INT, 1, 4, reversed, MPI_STATUS_IGNORE);
    MPI_Barrier(all);
    MPI_Comm_free(&reversed);
    return sum;
}

/* Returns when the other rank has left its session as well, told by a file that its reader removes. Without it
   the memory that MPICH's ranks share mixes what belongs to one session with the next, and some runs abort. */
static void both_left(int rank) {
    char mine[] = "left-0", other[] = "left-0";
    mine[5] += rank;
    other[5] += 1 - rank;
    FILE *file = fopen(mine, "w");
    if (file)
        fclose(file);
    for (int i = 0; i < 20000 && remove(other) != 0; i++)
        usleep(1000);
}
#endif

int main(int argc, char **argv) {
#ifdef HAS_SESSIONS
    const char *more = argc > 1 ? argv[1] : "";
    int sum = 0, size, rank, began;
    char line[64];
    int inside = !strcmp(more, "inside");
    if (inside)
        MPI_Init(&argc, &argv);
    for (int i = 0; i < 1 + !strcmp(more, "again"); i++) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Comm all = all_of(session, "all");
        MPI_Comm_size(all, &size);
        MPI_Comm_rank(all, &rank);
        sum += exchange(all);
        MPI_Comm_free(&all);
        MPI_Initialized(&began);
        if (!strcmp(more, "world")) {
            MPI_Init(&argc, &argv);
            sum += exchange(MPI_COMM_WORLD);
            MPI_Finalize();
        }
        if (inside)
            sum += exchange(MPI_COMM_WORLD);
        MPI_Session_finalize(&session);
        if (!strcmp(more, "again"))
            both_left(rank);
    }
    if (inside)
        MPI_Finalize();
    snprintf(line, sizeof line, "%d ranks, sum %d, began %d\n", size, sum, began);
    fputs(line, stdout);
    fflush(stdout);
    return 0;
#else
    return 77;
#endif
}
