/* A tool behind the collector that wants to know what else it is told. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

int MPI_Pcontrol(const int level, ...) {
    va_list more;
    va_start(more, level);
    const char *word = va_arg(more, const char *);
    double first = va_arg(more, double);
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum = 10 * sum + va_arg(more, int);
    double second = va_arg(more, double);
    int last = va_arg(more, int);
    va_end(more);
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("tool: %d %s %g %d %g %d\n", level, word, first, sum, second, last);
    return MPI_SUCCESS;
}
