//! Looks functions up by name, through the loader.
//!
//! This object was loaded before the program's libraries, so the real functions are in the objects behind it.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The function of this name in the objects behind this one; 0 if there is none.
pub fn next(name: &CStr) -> usize {
    // SAFETY: a C string; looking up in the objects behind this one.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
}

/// The same for a function that has two versions on x86-64, as some functions of condition variables have. Without a
/// version, the loader finds the oldest.
pub fn next_newest(name: &CStr) -> usize {
    // SAFETY: C strings; looking up in the objects behind this one. If there is no such version, the loader allocates
    // memory for a message, and the caller may be the program's allocator. So this is not used for other functions.
    #[cfg(target_arch = "x86_64")]
    return unsafe {
        libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) as usize
    };
    #[cfg(not(target_arch = "x86_64"))]
    next(name)
}

/// An address in an object that sees MPI, if the program opened MPI for itself.
static SEES_MPI: AtomicUsize = AtomicUsize::new(0);

/// Looks `name` up through the object that holds `caller`, or else through the one that called MPI first. A program
/// may have opened MPI for itself, and may call it by a pointer from an object that does not see it.
fn beside(name: &CStr, caller: u64) -> usize {
    let seen = SEES_MPI.load(Relaxed) as u64;
    match through(name, caller) {
        0 => through(name, seen),
        found => {
            if seen == 0 {
                SEES_MPI.store(caller as usize, Relaxed);
            }
            found
        }
    }
}

/// Looks `name` up through the object that holds the address `from`.
pub fn through(name: &CStr, from: u64) -> usize {
    if from == 0 {
        return 0;
    }
    // SAFETY: plain queries of the loader; the handle is closed again, the object stays loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(from as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return 0;
        }
        let handle = libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return 0;
        }
        let found = libc::dlsym(handle, name.as_ptr()) as usize;
        libc::dlclose(handle);
        found
    }
}

/// The function of this name behind this object, or in the objects that `caller` sees.
pub fn found(name: &CStr, caller: u64) -> usize {
    match next(name) {
        0 => beside(name, caller),
        found => found,
    }
}

/// A symbol of the MPI library. What everybody sees, which may be a program's own copy, comes before what the library
/// has.
pub fn symbol(name: &CStr) -> u64 {
    // SAFETY: a plain query of the loader.
    match unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as u64 } {
        0 => beside(name, 0) as u64,
        found => found,
    }
}

/// The address that the program gets for `name`, whichever module defines it; 0 for none.
pub fn first(name: &CStr) -> usize {
    // SAFETY: a C string; a plain query of the loader.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

/// The file name of the object that holds an address; empty if there is none.
pub fn object_of(address: usize) -> String {
    // SAFETY: a plain query of the loader.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        let path = CStr::from_ptr(info.dli_fname).to_string_lossy();
        path.rsplit('/').next().unwrap_or("").to_string()
    }
}
