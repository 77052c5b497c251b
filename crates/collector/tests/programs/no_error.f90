! Calls of mpi_f08 without the argument for the error, with wildcards and ignored statuses.
program no_error
    use mpi_f08
    implicit none
    integer :: rank, step, got, total
    type(MPI_Request) :: request
    type(MPI_Comm) :: half
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do step = 1, 10
        if (rank == 0) then
            call MPI_Send(step, 1, MPI_INTEGER, 1, step, MPI_COMM_WORLD)
            call MPI_Send(step, 1, MPI_INTEGER, 1, 77, MPI_COMM_WORLD)
        else if (rank == 1) then
            call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request)
            call MPI_Wait(request, MPI_STATUS_IGNORE)
        end if
    end do
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, half)
    call MPI_Barrier(half)
    call MPI_Comm_free(half)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Barrier(MPI_COMM_WORLD)
    total = rank
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print *, total
    call MPI_Finalize()
end program
