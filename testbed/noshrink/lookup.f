c     Every rank makes the whole table, then works on its share.
      program lookup
      include 'mpif.h'
      integer rank, size, ierr, step, i, k, n, rounds
      double precision table(8192), x(0:65537), mine, all, dose
      character*32 arg
      dose = 1d0
      if (command_argument_count() .ge. 1) then
        call get_command_argument(1, arg)
        read (arg, *) dose
      end if
      call mpi_init(ierr)
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
      n = 65536 / size
      rounds = int(160 * dose)
      do i = 0, n + 1
        x(i) = 1d0 / (1 + mod(i, 7))
      end do
      do i = 1, 8192
        table(i) = 1d0
      end do
      do step = 1, 100
        do k = 1, rounds
          do i = 2, 8192
            table(i) = 0.5d0 * table(i) + 0.4d0 * table(i - 1)
          end do
        end do
        do k = 1, 330
          do i = 1, n
            x(i) = 0.25d0 * (x(i - 1) + x(i + 1)) + 0.5d0 * x(i)
          end do
        end do
        mine = x(n / 2) + table(77)
        call mpi_allreduce(mine, all, 1, MPI_DOUBLE_PRECISION,
     &                     MPI_SUM, MPI_COMM_WORLD, ierr)
      end do
      if (rank .eq. 0) print *, 'sum', all
      call mpi_finalize(ierr)
      end
