/* Tasks and frames of Intel's ITT, before, while and after MPI is there. */
#include <ittnotify.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    __itt_domain *early = __itt_domain_create("early");
    __itt_string_handle *step = __itt_string_handle_create("step");
    __itt_task_begin(early, __itt_null, __itt_null, step);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    __itt_task_end(early);
    __itt_domain *late = __itt_domain_create("late");
    __itt_string_handle *solve = __itt_string_handle_create("solve");
    if (late && __itt_string_handle_create("solve") != solve)
        puts("one name has two handles");
    for (int i = 0; i < 200; i++) {
        __itt_frame_begin_v3(late, NULL);
        __itt_task_begin(early, __itt_null, __itt_null, step);
        __itt_task_begin(late, __itt_null, __itt_null, solve);
        MPI_Barrier(MPI_COMM_WORLD);
        __itt_task_end(late);
        __itt_task_end(early);
        __itt_frame_end_v3(late, NULL);
    }
    /* Domains end their tasks in any order; a domain without a task has none to end. */
    __itt_domain *third = __itt_domain_create("third");
    __itt_string_handle *outer = __itt_string_handle_create("outer");
    __itt_string_handle *inner = __itt_string_handle_create("inner");
    int sum = 0;
    __itt_task_begin(early, __itt_null, __itt_null, outer);
    __itt_task_begin(late, __itt_null, __itt_null, inner);
    __itt_task_end(third);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    __itt_task_end(early);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    __itt_task_end(late);
    MPI_Finalize();
    __itt_task_begin(late, __itt_null, __itt_null, solve);
    __itt_task_end(late);
    if (rank == 0)
        puts("done");
    return 0;
}
