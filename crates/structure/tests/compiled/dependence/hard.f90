! Neighbours in memory that have nothing in common, and a loop between what is stored and what is read.
subroutine share(r)
  integer :: r, narrow, wide
  common /both/ narrow, wide
  wide = r
  narrow = 2
end subroutine
program hard
  implicit none
  include 'mpif.h'
  integer :: rank, ierr, i, x(2)
  common /both/ x
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call share(rank)
  do i = 1, x(2)  ! = rank
    call work(i)
  end do
  do i = 1, x(1)  ! = constant
    call work(i)
  end do
  call MPI_Finalize(ierr)
end program
