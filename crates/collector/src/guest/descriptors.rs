//! File descriptors of our own: for performance events of threads, and for the scheduler's statistics of them.
//!
//! A program may count on the lowest free number, on numbers that `select` can take, and on as many open files as its
//! limit allows. So ours get high numbers, and together they take no more than a [share](SHARE) of the limit: later
//! threads get none. A new descriptor has the lowest free number for the moment until it is moved, because no system
//! call opens a file under another number.

use crate::guest::uncancelled;
use std::sync::atomic::{AtomicU64, Ordering};

/// At most one part in so many of the limit is ours.
const SHARE: u64 = 4;

/// A number that is high enough whatever the limit is. It is no higher, because the kernel's table of a process is as
/// long as its highest number and is copied at each `fork`. `select` takes numbers up to 1,023.
const HIGH: u64 = 4096;

/// How many are ours at the moment.
static OURS: AtomicU64 = AtomicU64::new(0);

/// What a thread wants a descriptor for.
#[derive(Clone, Copy, PartialEq)]
pub enum For {
    /// To know when it computes and when it waits.
    Time,
    /// To count instructions. These take only the first half of our share, so that later threads have the other half.
    Counting,
}

/// Why there is no descriptor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    /// All descriptors of our share are in use, or all that the process may have.
    NoneLeft,
    /// What was to be opened could not be.
    NotOpened,
    /// It may not have a high number: `fcntl` is forbidden, as in a sandbox.
    NotMoved,
}

/// Files that the process may have open.
fn limit() -> u64 {
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur
    }
}

/// Where our numbers begin under a limit.
fn floor(limit: u64) -> u64 {
    (limit - limit / SHARE).min(HIGH)
}

/// How many of ours there may be under a limit.
fn most(limit: u64, wanted: For) -> u64 {
    match wanted {
        For::Time => limit / SHARE,
        For::Counting => limit / SHARE / 2,
    }
}

/// Opens something under a high number; it is closed on `exec`.
///
/// # Errors
/// There is none left, or `open` returns a negative number, or it cannot be moved to a high number.
pub fn take(wanted: For, open: impl FnOnce() -> libc::c_int) -> Result<libc::c_int, Refused> {
    let limit = limit();
    if OURS.fetch_add(1, Ordering::Relaxed) >= most(limit, wanted) {
        OURS.fetch_sub(1, Ordering::Relaxed);
        return Err(Refused::NoneLeft);
    }
    let result = match open() {
        low if low < 0 && is_full() => Err(Refused::NoneLeft),
        low if low < 0 => Err(Refused::NotOpened),
        low => moved_up(low, floor(limit)).inspect_err(|_| {
            uncancelled::close(low);
        }),
    };
    if result.is_err() {
        OURS.fetch_sub(1, Ordering::Relaxed);
    }
    result
}

/// Returns a descriptor to our share, and closes it if `is_ours`. Otherwise the program has closed it, and the number
/// may belong to a file of the program.
pub fn give_back(descriptor: libc::c_int, is_ours: impl FnOnce() -> bool) {
    OURS.fetch_sub(1, Ordering::Relaxed);
    if is_ours() {
        uncancelled::close(descriptor);
    }
}

/// Makes the kernel's table of this process as long as our numbers need. A thread that is alone in its process does
/// not wait for that. With other threads, it waits some milliseconds until no core reads the old table any more. So
/// this comes before `MPI_Init` makes threads.
pub fn make_room() {
    // SAFETY: plain numbers.
    let low = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if low >= 0 {
        uncancelled::close(out_of_the_way(low));
    }
}

/// The same file under a high number if one is free; otherwise the descriptor as it was. It does not count for the
/// share.
pub fn out_of_the_way(descriptor: libc::c_int) -> libc::c_int {
    moved_up(descriptor, floor(limit())).unwrap_or(descriptor)
}

/// Why the last call failed.
fn errno() -> libc::c_int {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Whether the last open failed because too many files are open.
fn is_full() -> bool {
    [libc::EMFILE, libc::ENFILE].contains(&errno())
}

fn moved_up(low: libc::c_int, floor: u64) -> Result<libc::c_int, Refused> {
    if low as u64 >= floor {
        return Ok(low);
    }
    // SAFETY: a descriptor of ours and plain numbers.
    let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, floor as libc::c_int) };
    if high < 0 {
        let full = is_full() || errno() == libc::EINVAL;
        return Err(if full {
            Refused::NoneLeft
        } else {
            Refused::NotMoved
        });
    }
    uncancelled::close(low);
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_limit_is_ours_and_lies_at_its_end() {
        for limit in [4, 64, 1024, 4096] {
            assert_eq!(floor(limit) + most(limit, For::Time), limit);
        }
        assert_eq!(floor(1 << 20), HIGH);
        assert_eq!(floor(libc::RLIM_INFINITY), HIGH);
        assert_eq!(most(64, For::Counting), 8);
    }

    #[test]
    fn what_is_opened_has_a_high_number_and_the_low_one_is_free_again() {
        let mut ends = [0; 2];
        // SAFETY: room for two numbers.
        let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) };
        assert_eq!(made, 0);
        let [reader, writer] = ends;
        let fd = take(For::Time, || writer).expect("a descriptor");
        assert!(fd as u64 >= floor(limit()), "{fd}");
        // SAFETY: a plain query of a descriptor.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        assert_eq!(flags, libc::FD_CLOEXEC);
        // Other tests open files at the same time, so a number says nothing: the end of the pipe does.
        let mut byte = 0_u8;
        // SAFETY: room for one byte.
        let mut read = || unsafe { libc::read(reader, (&raw mut byte).cast(), 1) };
        assert_eq!((read(), errno()), (-1, libc::EAGAIN), "the writer is open");
        give_back(fd, || true);
        assert_eq!(read(), 0, "both numbers of the writer are closed");
        uncancelled::close(reader);
        let nothing = || uncancelled::open(b"/dev/null/none\0", libc::O_RDONLY);
        assert_eq!(take(For::Time, nothing), Err(Refused::NotOpened));
    }
}
