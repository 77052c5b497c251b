! A triangular product: rows are dealt out to ranks in turn, so that ranks are even, but each rank gives
! its first rows to one thread and its last ones, which are longer, to the other.
module rows
  implicit none
  integer, parameter :: n = 3000, steps = 400
contains
  ! One product; the rows of this rank are rank+1, rank+1+size, ...
  subroutine product(x, y, mine, rank, size, dose)
    integer, intent(in) :: mine, rank, size
    double precision, intent(in) :: x(n), dose
    double precision, intent(inout) :: y(mine)
    integer :: i, j, last
    double precision :: s
    !$omp parallel do schedule(static) num_threads(2) private(j, s, last)
    do i = 1, mine
      last = n/2 + int(dose*(rank + 1 + (i - 1)*size - n/2))
      s = 0
      do j = 1, last
        s = s + x(j)/(1 + abs(i - j))
      end do
      y(i) = s
    end do
    !$omp end parallel do
  end subroutine
end module

program triangle
  use mpi
  use rows
  implicit none
  integer :: rank, size, ierr, step, mine, provided
  double precision :: dose, norm, all
  double precision :: x(n)
  double precision, allocatable :: y(:)
  character(len=32) :: word
  call mpi_init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
  dose = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) dose
  end if
  mine = n/size
  allocate (y(mine))
  x = 1
  y = 0
  all = 0
  do step = 1, steps
    call product(x, y, mine, rank, size, dose)
    norm = sum(y)
    call mpi_allreduce(norm, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    x(mod(step, n) + 1) = 1 + 1d-12*all
  end do
  if (rank == 0) print *, 'norm', all
  call mpi_finalize(ierr)
end program
