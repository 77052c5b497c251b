c     Two-grid cycles: the fine grid is shared out, the coarse one is
c     gathered and solved by the first rank.
      program coarse
      implicit none
      include 'mpif.h'
      integer nfine, ncoarse, ncycle
      parameter (nfine = 65536, ncoarse = 4096, ncycle = 90)
      double precision u(0:nfine+1), c(0:ncoarse+1), part(ncoarse)
      double precision dose, mine, all
      integer rank, nproc, ierr, n, nc, it, i, visits
      character*32 arg
      call mpi_init(ierr)
      call mpi_comm_rank(mpi_comm_world, rank, ierr)
      call mpi_comm_size(mpi_comm_world, nproc, ierr)
      dose = 1d0
      if (command_argument_count() .ge. 1) then
        call get_command_argument(1, arg)
        read (arg, *) dose
      end if
      visits = int(150d0*dose)
      n = nfine/nproc
      nc = ncoarse/nproc
      do i = 0, n + 1
        u(i) = 1d0 + mod(i, 5)
      end do
      do it = 1, ncycle
        call edges(u, n, rank, nproc)
        call smooth(u, n, 300)
        do i = 1, nc
          part(i) = u(i*(n/nc))
        end do
        call mpi_gather(part, nc, mpi_double_precision, c(1), nc,
     &       mpi_double_precision, 0, mpi_comm_world, ierr)
        if (rank .eq. 0) call solve(c, ncoarse, visits)
        call mpi_scatter(c(1), nc, mpi_double_precision, part, nc,
     &       mpi_double_precision, 0, mpi_comm_world, ierr)
        do i = 1, nc
          u(i*(n/nc)) = 0.5d0*(u(i*(n/nc)) + part(i))
        end do
      end do
      mine = u(n/2)
      call mpi_reduce(mine, all, 1, mpi_double_precision, mpi_sum, 0,
     &     mpi_comm_world, ierr)
      if (rank .eq. 0) print *, 'value', all
      call mpi_finalize(ierr)
      end

      subroutine edges(u, n, rank, nproc)
      implicit none
      include 'mpif.h'
      integer n, rank, nproc, left, right, ierr
      integer status(mpi_status_size)
      double precision u(0:n+1)
      left = mod(rank + nproc - 1, nproc)
      right = mod(rank + 1, nproc)
      call mpi_sendrecv(u(n), 1, mpi_double_precision, right, 1,
     &     u(0), 1, mpi_double_precision, left, 1,
     &     mpi_comm_world, status, ierr)
      call mpi_sendrecv(u(1), 1, mpi_double_precision, left, 2,
     &     u(n+1), 1, mpi_double_precision, right, 2,
     &     mpi_comm_world, status, ierr)
      end

      subroutine smooth(u, n, sweeps)
      implicit none
      integer n, sweeps, i, k
      double precision u(0:n+1)
      do k = 1, sweeps
        do i = 1, n
          u(i) = 0.5d0*u(i) + 0.25d0*(u(i-1) + u(i+1))
        end do
      end do
      end

      subroutine solve(c, n, visits)
      implicit none
      integer n, visits, i, k
      double precision c(0:n+1)
      c(0) = c(n)
      c(n+1) = c(1)
      do k = 1, visits
        do i = n, 1, -1
          c(i) = 0.4d0*c(i) + 0.3d0*(c(i-1) + c(i+1))
        end do
      end do
      end
