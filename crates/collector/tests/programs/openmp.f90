! Locks and critical sections in Fortran, whose names for them have an underscore.
program openmp
  use mpi
  use omp_lib
  implicit none
  integer :: error, level, rank, total, everybodys
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      use iso_c_binding
      integer(c_int), value :: microseconds
    end function
  end interface

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  total = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel num_threads(2)
  call omp_set_lock(lock)
  error = usleep(40000)
  total = total + 1
  call omp_unset_lock(lock)
  !$omp barrier
  call omp_set_nest_lock(nest)
  error = usleep(40000)
  total = total + 1
  call omp_unset_nest_lock(nest)
  !$omp barrier
  !$omp critical
  error = usleep(40000)
  total = total + 1
  !$omp end critical
  !$omp end parallel
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  call MPI_Reduce(total, everybodys, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print *, everybodys
  call MPI_Finalize(error)
end program
