//! The MPI library: opens it, recognises it and calls it.
//!
//! Events are replayed by calls of `MPI_*`, as any program's, so that tools see them. What the replay asks for itself
//! goes to `PMPI_*`.
#![allow(unsafe_code, reason = "MPI is a C library that is opened at run time")]

use crate::error::Error;
use headwater_mpi_abi::constants::native;
use headwater_mpi_abi::{Abi, Evidence, Kind, Native, PREDEFINED, recognise};
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most arguments that a function of MPI has here.
pub const MOST_ARGUMENTS: usize = headwater_mpi_call::args::PASSED;

/// File names of libraries: of Open MPI, of MPICH and Intel MPI, of the standard ABI.
const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.so.80"];
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const STANDARD: [&str; 3] = ["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"];

/// Variables that only the launcher of Open MPI sets, and those of MPICH's and Intel's.
const OPEN_MPI_STARTED: [&str; 3] = [
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_UNIVERSE_SIZE",
    "PRTE_LAUNCHED",
];
const MPICH_STARTED: [&str; 3] = ["PMI_RANK", "HYDI_CONTROL_FD", "I_MPI_MPIRUN"];

/// A library that is open. It stays so.
pub struct Mpi {
    /// What it looks like.
    pub abi: &'static Abi,
    /// What it calls itself, on one line.
    pub name: String,
    /// The loader's handle, an address.
    handle: usize,
    /// Predefined handles that it has.
    fixed: FxHashMap<(Kind, i64), u64>,
    request_get_status: usize,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("name", &self.name).finish()
    }
}

fn symbol_in(handle: *mut c_void, name: &str) -> usize {
    let Ok(name) = CString::new(name) else {
        return 0;
    };
    // SAFETY: a C string, and a handle of the loader's.
    unsafe { libc::dlsym(handle, name.as_ptr()) as usize }
}

/// Opens a library for all of the process to see: a preloaded tool looks for its functions.
fn open(file: &[u8]) -> Result<*mut c_void, String> {
    let file = CString::new(file).map_err(|e| e.to_string())?;
    // SAFETY: a C string. What the library runs when it is opened is what it runs in any program.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the loader's message about the last error, which nobody overwrites here.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return Err("the loader says nothing".to_owned());
    }
    // SAFETY: as above, a C string.
    Err(unsafe { CStr::from_ptr(why) }
        .to_string_lossy()
        .into_owned())
}

/// The library of the launcher, or any one.
fn find() -> Result<*mut c_void, Error> {
    // One that is loaded already.
    if symbol_in(libc::RTLD_DEFAULT, "PMPI_Init") != 0 {
        return Ok(libc::RTLD_DEFAULT);
    }
    let is_set = |names: &[&str]| names.iter().any(|n| std::env::var_os(n).is_some());
    let names: Vec<&str> = if is_set(&OPEN_MPI_STARTED) {
        OPEN_MPI.iter().chain(&STANDARD).copied().collect()
    } else if is_set(&MPICH_STARTED) {
        MPICH.iter().chain(&STANDARD).copied().collect()
    } else {
        OPEN_MPI
            .iter()
            .chain(&MPICH)
            .chain(&STANDARD)
            .copied()
            .collect()
    };
    let mut all = names.iter();
    let found = all.find_map(|name| open(name.as_bytes()).ok());
    found.ok_or_else(|| Error::NoLibrary(format!("none of {}", names.join(", "))))
}

impl Mpi {
    /// Opens the library in a file, or the one that belongs to the launcher.
    ///
    /// # Errors
    /// There is none, or it is not known.
    pub fn open(file: Option<&Path>) -> Result<Self, Error> {
        let handle = match file {
            None => find()?,
            Some(file) => open(file.as_os_str().as_bytes()).map_err(Error::NoLibrary)?,
        };
        let has = |name| symbol_in(handle, name) != 0;
        let version = version(handle);
        let object = object_of(symbol_in(handle, "PMPI_Send"));
        let line = version.lines().next().unwrap_or("").trim();
        // Open MPI puts all on one line.
        let line = line.split(", package").next().unwrap_or(line);
        let name = if line.is_empty() {
            object.clone()
        } else {
            line.to_owned()
        };
        let abi = recognise(&Evidence {
            ompi_world: has("ompi_mpi_comm_world"),
            mpir: has("MPIR_Err_create_code"),
            standard: standard(handle),
            object: &object,
            version: &version,
        });
        let abi = abi.filter(|_| has("PMPI_Init") && has("PMPI_Request_get_status"));
        let Some(abi) = abi else {
            let file = file.map(|f| f.display().to_string());
            let name = Some(name).filter(|n| !n.is_empty());
            return Err(Error::UnknownLibrary(name.or(file).unwrap_or_default()));
        };
        let fixed = PREDEFINED.iter().filter_map(|known| {
            let value = match known.native(abi.family)? {
                Native::Value(value) => value,
                Native::Symbol(name) => Some(symbol_in(handle, name)).filter(|s| *s != 0)? as u64,
            };
            Some(((known.kind, known.number), value))
        });
        Ok(Self {
            abi,
            name,
            handle: handle as usize,
            fixed: fixed.collect(),
            request_get_status: symbol_in(handle, "PMPI_Request_get_status"),
        })
    }

    /// A predefined handle; `None` if the library lacks it.
    pub fn predefined(&self, kind: Kind, number: i64) -> Option<u64> {
        self.fixed.get(&(kind, number)).copied()
    }

    /// What a program calls under this name; 0 if the library has no such function.
    pub fn function(&self, name: &str) -> usize {
        if symbol_in(self.handle as *mut c_void, &format!("P{name}")) == 0
            && symbol_in(self.handle as *mut c_void, name) == 0
        {
            return 0;
        }
        // A tool that is loaded before the library is seen first.
        match symbol_in(libc::RTLD_DEFAULT, name) {
            0 => symbol_in(self.handle as *mut c_void, name),
            found => found,
        }
    }

    /// Calls a function that [`Mpi::function`] has returned.
    #[inline]
    pub fn call(&self, function: usize, arguments: &[u64; MOST_ARGUMENTS]) -> i32 {
        if function == 0 {
            return self.abi.err_other;
        }
        // SAFETY: a function of MPI. The caller has made the arguments from the function's row in the table.
        unsafe { headwater_mpi_call::args::call(function, arguments) }
    }

    /// Asks the library for something, past all tools.
    pub fn ask(&self, name: &str, arguments: &[u64]) -> i32 {
        let mut all = [0; MOST_ARGUMENTS];
        all.iter_mut().zip(arguments).for_each(|(a, b)| *a = *b);
        self.call(
            symbol_in(self.handle as *mut c_void, &format!("P{name}")),
            &all,
        )
    }

    /// Whether a request is done; it is not completed by this. `status` is the address of a status.
    pub fn is_done(&self, request: u64, status: u64) -> bool {
        let mut flag = [0i32; 2];
        let mut all = [0; MOST_ARGUMENTS];
        all.iter_mut()
            .zip([request, address(&mut flag), status])
            .for_each(|(a, b)| *a = b);
        self.call(self.request_get_status, &all) != 0 || flag.first() != Some(&0)
    }

    /// `MPI_Init`, or `MPI_Init_thread` if several threads will call MPI.
    ///
    /// # Errors
    /// What the library says.
    pub fn init(&self, threads: bool) -> Result<(), Error> {
        let failed = |_| Error::NotStarted(self.name.clone());
        let result = |code| if code == 0 { Ok(()) } else { Err(code) };
        if !threads {
            let code = self.call(self.function("MPI_Init"), &[0; MOST_ARGUMENTS]);
            return result(code).map_err(failed);
        }
        /// `MPI_THREAD_MULTIPLE` in a trace.
        const MULTIPLE: i64 = 3;
        let level = native(self.abi, Kind::ThreadLevel, MULTIPLE).unwrap_or(MULTIPLE);
        let mut provided = [0i32; 2];
        let mut arguments = [0; MOST_ARGUMENTS];
        let values = [0, 0, level as u64, address(&mut provided)];
        arguments.iter_mut().zip(values).for_each(|(a, v)| *a = v);
        let code = self.call(self.function("MPI_Init_thread"), &arguments);
        result(code).map_err(failed)?;
        if provided.first().is_none_or(|p| i64::from(*p) < level) {
            self.finalize();
            return Err(Error::NoThreads(self.name.clone()));
        }
        Ok(())
    }

    /// `MPI_Finalize`.
    pub fn finalize(&self) {
        self.call(self.function("MPI_Finalize"), &[0; MOST_ARGUMENTS]);
    }

    /// `MPI_Abort` of all ranks with this exit code.
    pub fn abort(&self, code: u32) {
        self.ask("MPI_Abort", &[self.comm_world(), u64::from(code)]);
    }

    fn comm_world(&self) -> u64 {
        self.predefined(Kind::Comm, 0).unwrap_or(0)
    }

    /// An `int` that a function says about a handle.
    pub fn number(&self, name: &str, handle: u64) -> Option<u32> {
        let mut value = [0i32; 2];
        let result = self.ask(name, &[handle, address(&mut value)]);
        value
            .first()
            .filter(|_| result == 0)
            .and_then(|v| u32::try_from(*v).ok())
    }

    /// Rank and size of the world.
    pub fn world(&self) -> (u32, u32) {
        let of = |name| self.number(name, self.comm_world()).unwrap_or(0);
        (of("MPI_Comm_rank"), of("MPI_Comm_size"))
    }

    /// Waits for all ranks.
    pub fn barrier(&self) {
        self.ask("MPI_Barrier", &[self.comm_world()]);
    }

    /// All ranks' words, by rank, at rank 0; each rank passes as many. Nothing elsewhere.
    pub fn gather(&self, own: &mut [u64]) -> Vec<u64> {
        let (rank, size) = self.world();
        let byte = self.predefined(Kind::Datatype, 0x247).unwrap_or(0);
        let bytes = 8 * own.len() as u64;
        let mut all = vec![
            0;
            if rank == 0 {
                own.len() * size as usize
            } else {
                0
            }
        ];
        let (from, into) = (address(own), address(&mut all));
        let world = self.comm_world();
        self.ask(
            "MPI_Gather",
            &[from, bytes, byte, into, bytes, byte, 0, world],
        );
        all
    }

    /// The lowest rank that passes true; all call it together.
    pub fn first(&self, is_one: bool) -> Option<u32> {
        let all = self.gather(&mut [u64::from(is_one)]);
        let found = (0u32..).zip(all).find(|(_, one)| *one != 0);
        let mut bytes = found.map_or(u32::MAX, |(rank, _)| rank).to_ne_bytes();
        self.broadcast(&mut bytes);
        Some(u32::from_ne_bytes(bytes)).filter(|rank| *rank != u32::MAX)
    }

    /// Sends bytes from rank 0 to all.
    pub fn broadcast(&self, bytes: &mut [u8]) {
        let byte = self.predefined(Kind::Datatype, 0x247).unwrap_or(0);
        let count = bytes.len() as u64;
        self.ask(
            "MPI_Bcast",
            &[address(bytes), count, byte, 0, self.comm_world()],
        );
    }
}

/// The address of memory that the library writes.
pub fn address<T>(memory: &mut [T]) -> u64 {
    memory.as_mut_ptr() as u64
}

/// The address of a function in place of those that the program passes: operations, error handlers, and what generalized
/// requests call. It looks at no argument and returns `MPI_SUCCESS`, so it may be called as any of them. What operations
/// computed is part of the recorded time of the calls that used them.
pub fn does_nothing() -> u64 {
    extern "C" fn nothing() -> i32 {
        0
    }
    nothing as extern "C" fn() -> i32 as usize as u64
}

fn version(handle: *mut c_void) -> String {
    let real = symbol_in(handle, "PMPI_Get_library_version");
    if real == 0 {
        return String::new();
    }
    let mut text = vec![0u8; 8192];
    let mut length = 0i32;
    // SAFETY: legal at any time; the buffer is as long as any library asks for.
    unsafe {
        let get: unsafe extern "C" fn(*mut u8, *mut i32) -> i32 = std::mem::transmute(real);
        get(text.as_mut_ptr(), &mut length);
    }
    let text = text.split(|b| *b == 0).next().unwrap_or(&[]);
    String::from_utf8_lossy(text).into_owned()
}

/// The first number of the standard ABI's version; `None` if the library does not report it.
fn standard(handle: *mut c_void) -> Option<i32> {
    let names = ["PMPI_Abi_get_version", "MPI_Abi_get_version"];
    let real = names
        .iter()
        .map(|n| symbol_in(handle, n))
        .find(|s| *s != 0)?;
    let (mut major, mut minor) = (-1i32, -1i32);
    // SAFETY: legal at any time; writes two ints.
    unsafe {
        let get: unsafe extern "C" fn(*mut i32, *mut i32) -> i32 = std::mem::transmute(real);
        get(&mut major, &mut minor);
    }
    Some(major)
}

/// The file name of the object that holds an address; empty if there is none.
fn object_of(address: usize) -> String {
    // SAFETY: a plain query of the loader, which fills the record or says that it has not.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        let path = CStr::from_ptr(info.dli_fname).to_string_lossy();
        path.rsplit('/').next().unwrap_or("").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_mpi_library_is_refused() {
        let of = |file: &str| Mpi::open(Some(Path::new(file))).map(|m| m.name);
        assert!(matches!(of("/no/such"), Err(Error::NoLibrary(_))));
        assert!(matches!(of("libm.so.6"), Err(Error::UnknownLibrary(_))));
    }
}
