! Names regions of a program for Headwater: each is part of every call path inside it.
!
!     use headwater_regions
!     call region_begin("solve")
!     do i = 1, n
!        ...
!        call region_iteration()
!     end do
!     call region_end("solve")
!
! There is nothing to link. In a program that runs without Headwater, each call is a test.
module headwater_regions
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: region_begin, region_end, region_iteration

   abstract interface
      subroutine named(name) bind(C)
         import :: c_char
         character(kind=c_char), intent(in) :: name(*)
      end subroutine
      subroutine unnamed() bind(C)
      end subroutine
   end interface
   interface
      type(c_funptr) function dlsym(library, name) bind(C, name="dlsym")
         import :: c_funptr, c_ptr, c_char
         type(c_ptr), value :: library
         character(kind=c_char), intent(in) :: name(*)
      end function
   end interface

   procedure(named), pointer, save :: begin => null(), end => null()
   procedure(unnamed), pointer, save :: iteration => null()
   logical, save :: looked = .false.

contains

   subroutine look()
      type(c_funptr) :: found
      found = dlsym(c_null_ptr, c_char_"headwater_region_begin"//c_null_char)
      if (c_associated(found)) then
         call c_f_procpointer(found, begin)
         found = dlsym(c_null_ptr, c_char_"headwater_region_end"//c_null_char)
         call c_f_procpointer(found, end)
         found = dlsym(c_null_ptr, c_char_"headwater_region_iteration"//c_null_char)
         call c_f_procpointer(found, iteration)
      end if
      looked = .true.
   end subroutine

   subroutine region_begin(name)
      character(len=*), intent(in) :: name
      if (.not. looked) call look()
      if (associated(begin)) call begin(trim(name)//c_null_char)
   end subroutine

   subroutine region_end(name)
      character(len=*), intent(in) :: name
      if (associated(end)) call end(trim(name)//c_null_char)
   end subroutine

   subroutine region_iteration()
      if (associated(iteration)) call iteration()
   end subroutine
end module
