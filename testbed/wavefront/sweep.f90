! A sweep from the first rank to the last: each needs the edge of the one before.
program sweep
  use mpi
  implicit none
  integer :: rank, size, ierr, step, n, status(MPI_STATUS_SIZE), rounds
  double precision, allocatable :: x(:)
  double precision :: dose, mine, all
  logical :: chained
  character(len=32) :: arg
  dose = 1
  if (command_argument_count() >= 1) then
    call get_command_argument(1, arg)
    read (arg, *) dose
  end if
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
  n = 65536/size
  rounds = 180
  allocate (x(0:n + 1))
  x = 1
  do step = 1, 100
    chained = int(step*dose) > int((step - 1)*dose)
    if (chained .and. rank > 0) call mpi_recv(x(0), 1, MPI_DOUBLE_PRECISION, rank - 1, 7, MPI_COMM_WORLD, status, ierr)
    call relax(x, n, rounds)
    if (chained .and. rank < size - 1) call mpi_send(x(n), 1, MPI_DOUBLE_PRECISION, rank + 1, 7, MPI_COMM_WORLD, ierr)
    mine = x(n / 2)
    call mpi_allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  if (rank == 0) print *, 'sum', all
  call mpi_finalize(ierr)
contains
  subroutine relax(x, n, rounds)
    integer, intent(in) :: n, rounds
    double precision, intent(inout) :: x(0:n + 1)
    integer :: i, k
    do k = 1, rounds
      do i = 1, n
        x(i) = 0.25d0*(x(i - 1) + x(i + 1)) + 0.5d0*x(i)
      end do
    end do
  end subroutine
end program
