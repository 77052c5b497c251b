//! Reads the arguments of a call, from C or from Fortran, as the values that they represent.

use crate::library::Conversion;

/// Arguments in registers.
#[cfg(target_arch = "x86_64")]
pub const REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: usize = 8;

/// The number of arguments that are passed on, even if the function has fewer.
pub const PASSED: usize = 16;

/// Reads the arguments behind those in registers.
///
/// It is a function of its own: in the middle of [`Args::read`], the compiler would hold each value in a register or
/// in a second place, and store twice as many words in a call without such arguments.
///
/// # Safety
/// `stack` has at least as many arguments as `values`.
#[inline(never)]
unsafe fn read_from_stack(values: &mut [u64], stack: *const u64) {
    for (i, value) in values.iter_mut().enumerate() {
        // SAFETY: promised by the caller.
        *value = unsafe { *stack.add(i) };
    }
}

/// Arguments of a call.
#[derive(Clone, Copy)]
pub struct Args {
    values: [u64; PASSED],
    count: usize,
    fortran: bool,
}

impl Args {
    /// Reads the `count` arguments of a call, and at least those in registers. It reads no further, because more may
    /// lie beyond the end of the stack.
    ///
    /// # Safety
    /// `registers` holds the argument registers, `stack` the stack at the call.
    #[inline]
    pub unsafe fn read(
        registers: *const u64,
        stack: *const u64,
        count: usize,
        fortran: bool,
    ) -> Self {
        let mut values = [0; PASSED];
        // Registers are read one by one, as they were stored: the processor stalls if one load takes the bytes of two
        // stores.
        for (i, value) in values.iter_mut().enumerate().take(REGISTERS) {
            // SAFETY: promised by the caller.
            *value = unsafe { registers.add(i).read_volatile() };
        }
        if let Some(more) = values.get_mut(REGISTERS..count.min(PASSED)) {
            // SAFETY: promised by the caller.
            unsafe { read_from_stack(more, stack) };
        }
        Self {
            values,
            count: count.max(REGISTERS),
            fortran,
        }
    }

    /// Whether the call came from Fortran.
    pub fn fortran(&self) -> bool {
        self.fortran
    }

    /// The argument as it was passed.
    #[inline]
    pub fn raw(&self, at: u8) -> u64 {
        self.values.get(at as usize).copied().unwrap_or(0)
    }

    /// The first arguments as they were passed, at most so many.
    #[inline]
    pub fn passed(&self, most: usize) -> &[u64] {
        self.values.get(..most).unwrap_or(&self.values)
    }

    /// Passes another value on instead.
    pub fn replace(&mut self, at: u8, value: u64) {
        if let Some(place) = self.values.get_mut(at as usize) {
            *place = value;
        }
    }

    /// An `int`.
    #[inline]
    pub fn int(&self, at: u8) -> i32 {
        let raw = self.raw(at);
        if self.fortran {
            // SAFETY: Fortran passes the address of an integer.
            unsafe { (raw as *const i32).read() }
        } else {
            raw as i32
        }
    }

    /// A count. It is wider in the functions for large counts.
    #[inline]
    pub fn count(&self, at: u8, large: bool) -> u64 {
        if large && !self.fortran {
            self.raw(at)
        } else {
            self.int(at).max(0) as u64
        }
    }

    /// A handle passed by value; in Fortran converted by `of`.
    #[inline]
    pub fn handle(&self, at: u8, of: &Conversion) -> u64 {
        if self.fortran {
            of.handle(self.int(at))
        } else {
            of.narrow(self.raw(at))
        }
    }

    /// Element `i` of an array of handles, or the handle behind a pointer (`i` = 0).
    #[inline]
    pub fn handle_at(&self, at: u8, i: usize, of: &Conversion) -> u64 {
        let base = self.raw(at);
        if base == 0 {
            return 0;
        }
        // SAFETY: the program passes an array of as many handles as it says.
        unsafe {
            if self.fortran {
                of.handle((base as *const i32).add(i).read())
            } else {
                of.element(base, i)
            }
        }
    }

    /// Element `i` of an array of `int`s, or the `int` behind a pointer (`i` = 0).
    #[inline]
    pub fn int_at(&self, at: u8, i: usize) -> i32 {
        let base = self.raw(at) as *const i32;
        if base.is_null() {
            0
        } else {
            // SAFETY: as above; results are only read after the call has written them.
            unsafe { base.add(i).read() }
        }
    }

    /// Calls `real` with these arguments and returns its error code. A Fortran subroutine has no result. Its code is
    /// where its argument `ierror` points to, the one behind the `roles` of C. `mpi_f08` may leave that argument out.
    ///
    /// # Safety
    /// `real` is the function that the arguments were meant for; it ignores what it does not take.
    #[inline]
    pub unsafe fn call_of(&self, real: usize, roles: usize) -> i32 {
        // SAFETY: promised by the caller.
        let result = unsafe { self.call(real) };
        if !self.fortran {
            return result;
        }
        u8::try_from(roles).map_or(0, |at| self.int_at(at, 0))
    }

    /// Calls `real` with these arguments.
    ///
    /// # Safety
    /// `real` is the function that the arguments were meant for; it ignores what it does not take.
    #[inline]
    pub unsafe fn call(&self, real: usize) -> i32 {
        if self.count <= REGISTERS {
            // SAFETY: promised by the caller.
            return unsafe { self.call_wide(real) } as i32;
        }
        // SAFETY: promised by the caller.
        unsafe { call(real, &self.values) }
    }

    /// Calls `real` with these arguments. A result that is wider than an `int` comes only from a function that takes
    /// no more arguments than there are registers.
    ///
    /// # Safety
    /// As [`Args::call`].
    #[inline]
    pub unsafe fn call_any(&self, real: usize) -> i64 {
        // SAFETY: promised by the caller.
        unsafe {
            if self.count <= REGISTERS {
                self.call_wide(real)
            } else {
                i64::from(self.call(real))
            }
        }
    }

    /// Calls a function that takes no more arguments than there are registers. Its result may be as wide as a
    /// register.
    ///
    /// # Safety
    /// As [`Args::call`].
    #[inline]
    pub unsafe fn call_wide(&self, real: usize) -> i64 {
        let v = &self.values;
        #[cfg(target_arch = "x86_64")]
        type Function = unsafe extern "C-unwind" fn(u64, u64, u64, u64, u64, u64) -> i64;
        #[cfg(target_arch = "aarch64")]
        type Function = unsafe extern "C-unwind" fn(u64, u64, u64, u64, u64, u64, u64, u64) -> i64;
        // SAFETY: an address that the loader gave for this function.
        unsafe {
            let real: Function = std::mem::transmute(real);
            #[cfg(target_arch = "x86_64")]
            return real(v[0], v[1], v[2], v[3], v[4], v[5]);
            #[cfg(target_arch = "aarch64")]
            return real(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
        }
    }
}

/// Calls the function at `real` with so many arguments. An exception of C++ may pass through.
///
/// # Safety
/// `real` is a function whose arguments are integers or addresses, and these are what it expects. Each takes one register or
/// one word of the stack, and a function does not look at more arguments than it has.
#[inline]
pub unsafe fn call(real: usize, arguments: &[u64; PASSED]) -> i32 {
    type Function = unsafe extern "C-unwind" fn(
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
    ) -> i32;
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *arguments;
    // SAFETY: promised by the caller.
    unsafe {
        let real: Function = std::mem::transmute(real);
        real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    }
}
