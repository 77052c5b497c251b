! Locks and critical sections in Fortran, whose names for them have an underscore.
program openmp
  use mpi
  use omp_lib
  use iso_c_binding, only: c_int
  implicit none
  integer :: error, level, rank, came, total, everybodys
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  came = 0
  total = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel num_threads(2)
  call come()
  call omp_set_lock(lock)
  call hold(1)
  call omp_unset_lock(lock)
  !$omp barrier
  call come()
  call omp_set_nest_lock(nest)
  call hold(2)
  call omp_unset_nest_lock(nest)
  !$omp barrier
  call come()
  !$omp critical
  call hold(3)
  !$omp end critical
  !$omp end parallel
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  call MPI_Reduce(total, everybodys, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print *, everybodys
  call MPI_Finalize(error)

contains

  subroutine come()
    !$omp atomic
    came = came + 1
  end subroutine

  ! Holds a section for as long as it takes until both threads have come to it, and on.
  subroutine hold(sections)
    integer, intent(in) :: sections
    integer :: seen
    integer(c_int) :: slept
    do
      slept = usleep(1000)
      !$omp atomic read
      seen = came
      if (seen >= 2 * sections) exit
    end do
    slept = usleep(100000)
    total = total + 1
  end subroutine
end program
