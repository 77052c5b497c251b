! The same in Fortran, in the binding that every library with a Fortran layer has. Rank 0 is late once.
program every
    implicit none
    include 'mpif.h'
    integer :: rank, step, got, total, request, half, error, status(MPI_STATUS_SIZE)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    total = 0
    do step = 1, 10
        if (rank == 0) then
            call MPI_Send(step, 1, MPI_INTEGER, 1, step, MPI_COMM_WORLD, error)
            call MPI_Isend(step, 1, MPI_INTEGER, 1, 77, MPI_COMM_WORLD, request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        else if (rank == 1) then
            call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
            total = total + got + status(MPI_SOURCE) + status(MPI_TAG)
            call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        end if
    end do
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half, error)
    call MPI_Barrier(half, error)
    call MPI_Comm_free(half, error)
    if (rank == 0) then
        call sleep(1)
        call MPI_Send(step, 1, MPI_INTEGER, 1, 50, MPI_COMM_WORLD, error)
    else
        call MPI_Recv(got, 1, MPI_INTEGER, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end if
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print *, total
    call MPI_Finalize(error)
end program
