//! System calls that the libc makes points of cancellation, called here without the libc.
//!
//! So a cancelled thread of the program does not end in our code, where the program has no such point.

use std::os::fd::RawFd;

/// Opens the file at `path`, which ends with NUL. Returns a negative number if that fails.
pub fn open(path: &[u8], flags: libc::c_int) -> RawFd {
    if !path.contains(&0) {
        return -1;
    }
    // SAFETY: a path that ends; plain numbers.
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) as RawFd }
}

/// Closes a descriptor of ours.
pub fn close(file: RawFd) {
    // SAFETY: a descriptor that nobody else uses.
    unsafe { libc::syscall(libc::SYS_close, file) };
}

/// Waits for a millisecond, or until a signal comes.
pub fn wait_briefly() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    let nowhere = std::ptr::null_mut::<libc::timespec>();
    // SAFETY: a time to read, and no place for the rest of it.
    unsafe { libc::syscall(libc::SYS_nanosleep, &time, nowhere) };
}

/// Reserves disk space for `bytes` of a file at `offset`. Returns `false`, with `errno`, if there is none.
pub fn allocate(file: RawFd, offset: u64, bytes: u64) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_fallocate, file, 0, offset, bytes) == 0 }
}
