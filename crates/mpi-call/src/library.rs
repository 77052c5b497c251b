//! The MPI library of a process, as far as the meaning of its calls depends on it: its family, its handles, and its
//! functions by name.

use headwater_mpi_abi::Abi;

/// Handles, conversions and functions that are the library's own.
pub struct Library {
    /// How its family represents things.
    pub abi: &'static Abi,
    /// `MPI_COMM_WORLD`.
    pub world: u64,
    /// `MPI_COMM_NULL`.
    pub comm_null: u64,
    /// `MPI_BYTE`.
    pub byte: u64,
    /// Addresses of Fortran's `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    pub fortran_ignore: Vec<u64>,
    /// Addresses of Fortran's `MPI_IN_PLACE`.
    pub fortran_in_place: Vec<u64>,
    /// Conversions of Fortran handles.
    pub comm: Conversion,
    /// Conversions of Fortran handles.
    pub request: Conversion,
    /// Conversions of Fortran handles.
    pub datatype: Conversion,
    /// Conversions of Fortran handles.
    pub message: Conversion,
    /// Conversions of Fortran handles.
    pub win: Conversion,
    /// Conversions of Fortran handles.
    pub group: Conversion,
    /// Conversions of Fortran handles.
    pub session: Conversion,
    /// What the library calls itself.
    pub version: String,
    /// Returns the address of the library's own function with this C name, 0 for none. It is called when something new is
    /// met: a communicator, a group, a datatype.
    pub find: fn(&str) -> usize,
}

impl Library {
    /// The library's own function with this C name; `None` if it has none.
    pub fn function(&self, name: &str) -> Option<usize> {
        Some((self.find)(name)).filter(|at| *at != 0)
    }

    /// Functions by their C names; `None` if the library lacks any of them.
    pub fn functions<const N: usize>(&self, names: [&str; N]) -> Option<[usize; N]> {
        Some(names.map(self.find)).filter(|all| !all.contains(&0))
    }

    /// The number that a function such as `MPI_Comm_rank` returns for a communicator; `None` if the library has no
    /// such function.
    pub fn ask(&self, name: &str, comm: u64) -> Option<i32> {
        let real = self.function(name)?;
        let mut number = 0i32;
        // SAFETY: such functions take a communicator and write one int.
        unsafe {
            let get: unsafe extern "C" fn(u64, *mut i32) -> i32 = std::mem::transmute(real);
            get(comm, &mut number);
        }
        Some(number)
    }

    /// Cuts a handle to its width: the upper half of a register that holds an `int` is undefined.
    #[inline]
    pub fn narrow(&self, handle: u64) -> u64 {
        narrow(handle, self.abi.handle_bytes)
    }
}

#[inline]
fn narrow(handle: u64, bytes: usize) -> u64 {
    if bytes == 4 {
        handle & 0xffff_ffff
    } else {
        handle
    }
}

/// Handles of one kind: how wide they are, and the function that converts those of Fortran, such as `MPI_Comm_f2c`, in
/// the standard ABI `MPI_Comm_fromint`.
#[derive(Clone, Copy)]
pub struct Conversion {
    function: usize,
    bytes: usize,
}

impl Conversion {
    /// Handles of so many bytes; `function` is the address of the conversion, 0 if Fortran's handles are the same.
    ///
    /// # Safety
    /// The function takes an `int` and returns a handle.
    pub const unsafe fn new(function: usize, bytes: usize) -> Self {
        Self { function, bytes }
    }

    /// The C handle of a Fortran handle.
    #[inline]
    pub fn handle(&self, fortran: i32) -> u64 {
        if self.function == 0 {
            return u64::from(fortran as u32);
        }
        // SAFETY: promised where this was made.
        unsafe {
            let convert: unsafe extern "C" fn(i32) -> u64 = std::mem::transmute(self.function);
            self.narrow(convert(fortran))
        }
    }

    /// Cuts a handle that was passed in a register to its width.
    #[inline]
    pub fn narrow(&self, handle: u64) -> u64 {
        narrow(handle, self.bytes)
    }

    /// The C handle number `i` at `base`.
    ///
    /// # Safety
    /// There are so many handles.
    #[inline]
    pub(crate) unsafe fn element(&self, base: u64, i: usize) -> u64 {
        // SAFETY: promised by the caller.
        unsafe {
            if self.bytes == 4 {
                u64::from((base as *const u32).add(i).read())
            } else {
                (base as *const u64).add(i).read()
            }
        }
    }
}
