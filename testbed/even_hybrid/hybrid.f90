! Two threads a rank with even work, joined by a reduction; next to nothing is done by one of them alone.
program hybrid
  use mpi
  implicit none
  integer, parameter :: n = 2000000, steps = 600
  integer :: rank, size, ierr, step, i, mine, provided
  double precision :: part, all
  double precision, allocatable :: u(:)
  call mpi_init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
  mine = n/size
  allocate (u(mine))
  u = 1
  all = 0
  do step = 1, steps
    part = 0
    !$omp parallel do num_threads(2) reduction(+:part)
    do i = 1, mine
      u(i) = 0.5d0*u(i) + 1/(1 + u(i)*u(i))
      part = part + u(i)
    end do
    !$omp end parallel do
    call mpi_allreduce(part, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  if (rank == 0) print *, 'sum', all
  call mpi_finalize(ierr)
end program
