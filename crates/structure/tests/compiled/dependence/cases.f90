module shared
  implicit none
  include 'mpif.h'
  integer :: me, np, cells
  type setup
    integer :: rank, cells
  end type
contains
  subroutine begin()
    integer :: ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    cells = 1000 / np
  end subroutine
end module
subroutine sweep(n)
  integer :: n, i
  do i = 1, n  ! = rank
    call work(i)
  end do
end subroutine
subroutine find_out(s)
  use shared
  type(setup) :: s
  integer :: ierr
  call MPI_Comm_rank(MPI_COMM_WORLD, s%rank, ierr)
  s%cells = 30
end subroutine
program cases
  use shared
  implicit none
  integer :: i, n, ierr, own, total, peer
  integer :: rank
  type(setup) :: s
  interface
    subroutine find_out(s)
      use shared
      type(setup) :: s
    end subroutine
  end interface
  call MPI_Init(ierr)
  call begin()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  do i = 1, rank  ! = rank
    call work(i)
  end do
  n = 10
  if (rank == 0) n = 100
  do i = 1, n  ! = rank
    call work(i)
  end do
  do i = 1, cells  ! = size
    call work(i)
  end do
  do i = 1, me  ! = rank
    call work(i)
  end do
  do i = 1, 7700  ! = constant
    call work(i)
  end do
  own = 4
  call MPI_Allreduce(own, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  do i = 1, total  ! = reduction
    call work(i)
  end do
  call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  do i = 1, n  ! = message
    call work(i)
  end do
  read(*,*) peer
  do i = 1, peer  ! = input
    call work(i)
  end do
  call find_out(s)
  do i = 1, s%rank  ! = rank
    call work(i)
  end do
  do i = 1, s%cells  ! = constant
    call work(i)
  end do
  call sweep(rank + 2)
  call MPI_Finalize(ierr)
end program
