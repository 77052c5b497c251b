! Recording is paused in two of Fortran's bindings.
subroutine old
    use mpi
    implicit none
    integer :: error
    call MPI_Pcontrol(0)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Pcontrol(1)
    call MPI_Barrier(MPI_COMM_WORLD, error)
end subroutine

subroutine new
    use mpi_f08
    implicit none
    call MPI_Pcontrol(0)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Pcontrol(1)
    call MPI_Barrier(MPI_COMM_WORLD)
end subroutine

program pauses
    use mpi
    implicit none
    integer :: error
    call MPI_Init(error)
    call old
    call new
    call MPI_Finalize(error)
end program
