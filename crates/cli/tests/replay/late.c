/* Goes before MPI: the calls that make a communicator return later than the library has written its handle. */
#include <mpi.h>
#include <unistd.h>

enum { MICROSECONDS = 20000 };

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    int result = PMPI_Comm_dup(comm, made);
    usleep(MICROSECONDS);
    return result;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
    int result = PMPI_Comm_idup(comm, made, request);
    usleep(MICROSECONDS);
    return result;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    usleep(MICROSECONDS / 20);
    return PMPI_Wait(request, status);
}
