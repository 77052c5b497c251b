! A spectral step: rows, transposition, columns; every rank has as many lines as any other.
program spectral
  use mpi
  implicit none
  integer, parameter :: m = 128
  integer :: rank, nproc, ierr, lines, step
  double precision, allocatable :: a(:, :), b(:, :)
  double precision :: mine, all
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, nproc, ierr)
  lines = m/nproc
  allocate (a(m, lines), b(m, lines))
  a = 1 + rank
  do step = 1, 100
    call transform(a, lines)
    call mpi_alltoall(a, m*lines/nproc, mpi_double_precision, b, m*lines/nproc, mpi_double_precision, &
                      mpi_comm_world, ierr)
    call transform(b, lines)
    mine = sum(b(1:4, 1))
    call mpi_allreduce(mine, all, 1, mpi_double_precision, mpi_max, mpi_comm_world, ierr)
    a = b/all
  end do
  if (rank == 0) print *, 'norm', all
  call mpi_finalize(ierr)
contains
  subroutine transform(f, lines)
    integer, intent(in) :: lines
    double precision, intent(inout) :: f(m, lines)
    double precision :: g(m)
    integer :: l, i, pass
    do l = 1, lines
      do pass = 1, 2400
        do i = 1, m
          g(i) = 0.7d0*f(i, l) + 0.3d0*f(m + 1 - i, l)
        end do
        f(:, l) = g
      end do
    end do
  end subroutine
end program
