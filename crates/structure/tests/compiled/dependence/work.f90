subroutine work(i)
  integer :: i
  integer, volatile :: sink
  sink = i
end subroutine
