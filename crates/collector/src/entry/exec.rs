//! The functions of `exec` that take the arguments of the new program as arguments of their own.

use crate::entry::guarded;
use crate::threads::thread::Caller;
use headwater_mpi_call::args::Args;
use std::ffi::CStr;

/// Argument registers.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };

/// Arguments that have room on the stack, as little as a program may call this on.
const FEW: usize = 256;

/// Room for a list of so many words that is not from the allocator: a child of `fork` or `vfork` may call this, and
/// another thread may have had the allocator's lock, or has the memory after the child has gone.
struct Mapped {
    at: *mut u64,
    words: usize,
}

impl Mapped {
    fn new(words: usize) -> Option<Self> {
        let bytes = words.checked_mul(size_of::<u64>())?;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0)
        };
        (at != libc::MAP_FAILED).then_some(Self {
            at: at.cast(),
            words,
        })
    }

    fn words(&mut self) -> &mut [u64] {
        // SAFETY: the mapping, which is zeros and lives as long as this.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.words) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: errno is this thread's; the mapping is ours and nobody uses it any more.
        unsafe {
            let errno = *libc::__errno_location();
            libc::munmap(self.at.cast(), self.words * size_of::<u64>());
            *libc::__errno_location() = errno;
        }
    }
}

/// What the function returns that fails with this error.
fn fails(errno: i32) -> i64 {
    // SAFETY: errno belongs to this thread.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Calls the function `by` with a list of the arguments behind the first one. They are in registers and on the stack,
/// as is the environment behind them if the list is to be followed by it.
pub fn with_list(by: &CStr, args: &Args, from: Caller, environment: bool) -> i64 {
    let at = |i: usize| match i.checked_sub(REGISTERS) {
        None => args.raw(i as u8),
        // SAFETY: a word on the stack at the call. The program promises a null pointer behind the last argument.
        Some(i) => unsafe { (from.stack_pointer as *const u64).add(i).read() },
    };
    let count = (1..).take_while(|i| at(*i) != 0).count();
    let real = guarded::real_of(by);
    if real == 0 {
        return fails(libc::ENOSYS);
    }
    let environment = if environment { at(count + 2) } else { 0 };
    let call = |list: &mut [u64]| {
        (1..).zip(&mut *list).for_each(|(i, slot)| *slot = at(i));
        type Function = unsafe extern "C" fn(u64, *const u64, u64) -> i32;
        // SAFETY: the libc's own function, with the program's arguments as it takes them. One without an environment
        // ignores the last argument.
        let result = unsafe {
            std::mem::transmute::<usize, Function>(real)(args.raw(0), list.as_ptr(), environment)
        };
        i64::from(result)
    };
    let mut few = [0u64; FEW];
    match few.get_mut(..=count) {
        Some(list) => call(list),
        None => Mapped::new(count + 1).map_or_else(|| fails(libc::E2BIG), |mut m| call(m.words())),
    }
}
