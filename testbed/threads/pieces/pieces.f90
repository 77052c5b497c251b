! Cells of a grid are dealt out in blocks, and the cells of the last block take several times as long.
program pieces
  implicit none
  integer, parameter :: cells = 1600, steps = 12, work = 4000
  real(8) :: u(cells), dose
  integer :: s
  character(32) :: word
  dose = 1
  if (command_argument_count() > 0) then
     call get_command_argument(1, word)
     read (word, *) dose
  end if
  u = 1
  do s = 1, steps
     call burn(dose)
  end do
  print '(a,g12.4)', 'cells ', u(9)
contains
  subroutine burn(dose)
    real(8), intent(in) :: dose
    integer :: i, k, terms
    real(8) :: x
    !$omp parallel do schedule(static) private(k, x, terms)
    do i = 1, cells
       terms = work
       if (i > cells - cells / 8) terms = int(work * (1 + 3 * dose))
       x = u(i)
       do k = 1, terms
          x = x + 1 / (k + x)
       end do
       u(i) = x
    end do
    !$omp end parallel do
  end subroutine burn
end program pieces
