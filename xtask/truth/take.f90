      integer function hw_take(least)
      implicit none
      integer, intent(in) :: least
      integer, parameter :: dp = kind(1.0d0)
      logical, save :: ready = .false.
      integer, save :: rank, ranks, who, when
      integer, save :: count = 0
      real(dp), save :: share, due = 0
      real(dp) :: at, largest
      hw_take = 0
      if (.not. ready) then
        rank = int(env('OMPI_COMM_WORLD_RANK', 0.0_dp))
        ranks = int(env('OMPI_COMM_WORLD_SIZE', 1.0_dp))
        who = int(env('HW_WHO', 0.0_dp))
        when = int(env('HW_WHEN', 0.0_dp))
        at = env('HW_AT', 0.0_dp)
        share = 1
        if (who == 1) share = yes(rank == min(int(at*ranks), ranks-1))
        if (who == 2) share = yes(rank == 0 .or. rank+1 == ranks)
        if (who == 3) share = yes(mod(rank, 4) == 0)
        if (who == 4) share = yes(2*rank < ranks)
        if (who == 5) share = rank / max(ranks-1.0_dp, 1.0_dp)
        largest = env('HW_LARGEST', 0.0_dp)
        if (largest > 0) then
          share = share * env('HW_SIZE', real(ranks, dp)) / largest
        end if
        share = share * env('HW_DOSE', 0.0_dp)
        ready = .true.
      end if
      if (share <= 0) return
      count = count + 1
      if (who == 6 .and. mod(count, ranks) /= rank) return
      if (when > 0 .and. count /= when) return
      due = due + share
      if (due < least) return
      hw_take = int(min(due, 2.0e9_dp))
      due = due - hw_take
      contains
      function yes(is)
        logical, intent(in) :: is
        real(dp) :: yes
        yes = merge(1.0_dp, 0.0_dp, is)
      end function yes
      function env(name, other)
        character(*), intent(in) :: name
        real(dp), intent(in) :: other
        real(dp) :: env
        character(40) :: text
        integer :: status
        call get_environment_variable(name, text, status=status)
        env = other
        if (status == 0) read(text, *) env
      end function env
      end function hw_take
      subroutine hw_enter()
      call hw_mark(1)
      end subroutine hw_enter
      subroutine hw_leave()
      call hw_mark(2)
      end subroutine hw_leave
      subroutine hw_mark(which)
      use, intrinsic :: iso_c_binding
      implicit none
      integer, intent(in) :: which
      abstract interface
      subroutine mark() bind(c)
      end subroutine mark
      end interface
      interface
      function look(from, name) bind(c, name='dlsym')
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: from
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: look
      end function look
      end interface
      type(c_funptr), save :: found(2)
      logical, save :: ready = .false.
      procedure(mark), pointer :: found_mark
      if (.not. ready) then
        found(1) = look(c_null_ptr, 'hw_bench_enter'//c_null_char)
        found(2) = look(c_null_ptr, 'hw_bench_leave'//c_null_char)
        ready = .true.
      end if
      if (.not. c_associated(found(which))) return
      call c_f_procpointer(found(which), found_mark)
      call found_mark()
      end subroutine hw_mark
