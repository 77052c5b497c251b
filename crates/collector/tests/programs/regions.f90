! A region with marked iterations.
program regions
   use headwater_regions
   use mpi
   implicit none
   integer :: error, i
   call MPI_Init(error)
   call region_begin("step  ")
   do i = 1, 50
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call region_iteration()
   end do
   call region_end("step")
   call MPI_Finalize(error)
end program
