! Loops that were once told wrongly: what is true stands behind each.
subroutine mpi_setup(r)
  integer :: r, length
  common /lengths/ length
  length = r
end subroutine
program doubted
  implicit none
  include 'mpif.h'
  integer :: rank, ierr, i, n, length
  character(len=16) :: text
  common /lengths/ length
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  length = 5
  call mpi_setup(rank)
  do i = 1, length  ! = rank
    call work(i)
  end do
  write(text, *) rank
  read(text, *) n
  do i = 1, n  ! = rank
    call work(i)
  end do
  read(*, *) n
  do i = 1, n  ! = input
    call work(i)
  end do
  call MPI_Finalize(ierr)
end program
