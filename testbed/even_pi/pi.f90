! Numerical integration, one reduction at the end.
program pi
  use mpi
  implicit none
  integer :: rank, size, ierr, block
  integer(8) :: i, n, first, last
  double precision :: mine, all, h, x
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
  n = 16000000
  h = 1d0/n
  mine = 0
  do block = 1, 50
    first = rank*n/size + 1
    last = (rank + 1)*n/size
    do i = first, last
      x = h*(i - 0.5d0)
      mine = mine + 4/(1 + x*x)
    end do
    call mpi_barrier(MPI_COMM_WORLD, ierr)
  end do
  call mpi_reduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'pi', all*h/50
  call mpi_finalize(ierr)
end program
