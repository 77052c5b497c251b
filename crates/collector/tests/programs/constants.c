/* What the header of the library says, in the order of the test that reads it. Handles that are addresses
 * are 0 here. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef OMPI_MAJOR_VERSION
#define NUMBER(handle) 0L
#else
#define NUMBER(handle) (long)(handle)
#endif

int main(void) {
    char text[8192];
    int length;
    MPI_Get_library_version(text, &length);
    printf("%s\n%zu %zu %zu %zu %d %d %d %ld %ld %ld %d %d %d %d %ld %ld %ld\n", strtok(text, "\n"), sizeof(MPI_Comm),
           sizeof(MPI_Status), offsetof(MPI_Status, MPI_SOURCE), offsetof(MPI_Status, MPI_TAG), MPI_ANY_SOURCE,
           MPI_ANY_TAG, MPI_PROC_NULL, (long)MPI_STATUS_IGNORE, (long)MPI_STATUSES_IGNORE, (long)MPI_IN_PLACE,
           MPI_ERR_OTHER, MPI_THREAD_MULTIPLE, MPI_MODE_NOPRECEDE, MPI_LOCK_EXCLUSIVE, NUMBER(MPI_COMM_WORLD),
           NUMBER(MPI_COMM_NULL), NUMBER(MPI_BYTE));
    return 0;
}
