! Rain falls on some ranks, ice lies on others.
program climate
  use mpi_f08
  implicit none
  integer :: rank, size, step, n, left, right
  double precision, allocatable :: x(:)
  double precision :: dose, mine, all
  type(MPI_Request) :: request(4)
  character(len=32) :: arg
  dose = 1
  if (command_argument_count() >= 1) then
    call get_command_argument(1, arg)
    read (arg, *) dose
  end if
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  n = 65536/size
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  allocate (x(0:n + 1))
  x = 1
  do step = 1, 100
    call MPI_Irecv(x(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, request(1))
    call MPI_Irecv(x(n + 1), 1, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, request(2))
    call MPI_Isend(x(1), 1, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, request(3))
    call MPI_Isend(x(n), 1, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, request(4))
    call MPI_Waitall(4, request, MPI_STATUSES_IGNORE)
    call dynamics(x, n, 180)
    if (mod(rank, 4) == 0) call rain(x, n, int(240*dose))
    mine = x(n/2)
    call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (rank >= size/2) call ice(x, n, int(120*dose))
    call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  end do
  if (rank == 0) print *, 'most', all
  call MPI_Finalize()
contains
  subroutine dynamics(x, n, rounds)
    integer, intent(in) :: n, rounds
    double precision, intent(inout) :: x(0:n + 1)
    integer :: i, k
    do k = 1, rounds
      do i = 1, n
        x(i) = 0.25d0*(x(i - 1) + x(i + 1)) + 0.5d0*x(i)
      end do
    end do
  end subroutine
  subroutine rain(x, n, rounds)
    integer, intent(in) :: n, rounds
    double precision, intent(inout) :: x(0:n + 1)
    integer :: i, k
    do k = 1, rounds
      do i = 1, n
        x(i) = 0.7d0*x(i) + 0.1d0 + 0.2d0*x(i - 1)
      end do
    end do
  end subroutine
  subroutine ice(x, n, rounds)
    integer, intent(in) :: n, rounds
    double precision, intent(inout) :: x(0:n + 1)
    integer :: i, k
    do k = 1, rounds
      do i = n, 1, -1
        x(i) = 0.6d0*x(i) + 0.1d0 + 0.3d0*x(i + 1)
      end do
    end do
  end subroutine
end program
