//! The scheduler's statistics of a thread: how long it has waited for a core since its birth.
//!
//! To find their file in `/proc` takes as long as some threads live. So it is opened when they are first read. That
//! loses nothing, because they count from the thread's birth.

use crate::guest::{
    descriptors::{self, For},
    uncancelled, usage,
};
use std::sync::atomic::{AtomicI32, Ordering};

/// In place of a descriptor: the file has not been opened yet.
const UNOPENED: libc::c_int = -2;
/// The same: it cannot be had.
const NONE: libc::c_int = -1;

/// The statistics of one thread.
pub struct Schedstat {
    /// The thread's number in the system.
    tid: AtomicI32,
    file: AtomicI32,
}

impl Schedstat {
    /// Those of no thread.
    pub const fn none() -> Self {
        Self {
            tid: AtomicI32::new(0),
            file: AtomicI32::new(NONE),
        }
    }

    /// From now on these are the statistics of the thread `tid`.
    pub fn follow(&self, tid: libc::pid_t) {
        self.close();
        self.tid.store(tid, Ordering::Relaxed);
        self.file.store(UNOPENED, Ordering::Release);
    }

    /// Whether they have not been read yet.
    pub fn is_unread(&self) -> bool {
        self.file.load(Ordering::Relaxed) == UNOPENED
    }

    /// How long the thread has waited for a core, nanoseconds; 0 if that is not known. Any thread of the process and any
    /// signal handler may call this.
    pub fn run_delay(&self) -> u64 {
        let file = self.opened();
        if file < 0 {
            return 0;
        }
        let mut text = [0u8; 64];
        // SAFETY: reads into our own buffer. This is the system call itself, because `pread` is wrapped.
        let n = unsafe { libc::syscall(libc::SYS_pread64, file, text.as_mut_ptr(), text.len(), 0) };
        usage::note_own_read(n);
        second_number(text.get(..n.max(0) as usize).unwrap_or(&[]))
    }

    fn opened(&self) -> libc::c_int {
        let file = self.file.load(Ordering::Acquire);
        if file != UNOPENED {
            return file;
        }
        let mut path = [0u8; 64];
        let tid = self.tid.load(Ordering::Relaxed);
        let open = || {
            let written = {
                use std::io::Write;
                let mut rest = path.as_mut_slice();
                write!(rest, "/proc/self/task/{tid}/schedstat\0").is_ok()
            };
            if written {
                uncancelled::open(&path, libc::O_RDONLY | libc::O_CLOEXEC)
            } else {
                NONE
            }
        };
        let ours = descriptors::take(For::Time, open).unwrap_or(NONE);
        // The thread's own handler, or another thread, may have opened it meanwhile.
        let put = (self.file).compare_exchange(UNOPENED, ours, Ordering::AcqRel, Ordering::Acquire);
        match put {
            Ok(_) => ours,
            Err(theirs) => {
                if ours >= 0 {
                    descriptors::give_back(ours, || true);
                }
                theirs
            }
        }
    }

    /// Forgets the thread.
    pub fn close(&self) {
        let file = self.file.swap(NONE, Ordering::AcqRel);
        if file >= 0 {
            descriptors::give_back(file, || is_in_proc(file));
        }
    }
}

/// The second of the numbers that a text has, with a space between them.
fn second_number(text: &[u8]) -> u64 {
    let second = text.split(|b| *b == b' ').nth(1).unwrap_or(&[]);
    second
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0u64, |n, b| {
            n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))
        })
}

/// Whether a descriptor still refers to a file in `/proc`. A program may close descriptors that it does not know.
fn is_in_proc(file: libc::c_int) -> bool {
    const PROC: libc::c_long = 0x9fa0;
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut of: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file, &mut of) == 0 && of.f_type as libc::c_long == PROC
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn the_second_number_is_the_time_of_waiting() {
        assert_eq!(second_number(b"123 4567 8\n"), 4567);
        for text in [&b""[..], b"12", b"12 ", b"12 x"] {
            assert_eq!(second_number(text), 0);
        }
    }

    #[test]
    fn what_a_thread_waited_before_the_first_reading_is_read() {
        if !std::path::Path::new("/proc/self/schedstat").exists() {
            eprintln!("this kernel has no statistics of the scheduler: not tested");
            return;
        }
        // More threads than cores, so each waits for one.
        let threads = 4 * std::thread::available_parallelism().map_or(1, |n| n.get());
        let waited = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let stat = Schedstat::none();
                    assert_eq!(stat.run_delay(), 0);
                    // SAFETY: a plain query.
                    stat.follow(unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t });
                    let begun = std::time::Instant::now();
                    while begun.elapsed().as_millis() < 100 {}
                    assert!(stat.is_unread());
                    waited.fetch_add(stat.run_delay(), Ordering::Relaxed);
                    assert!(!stat.is_unread());
                    stat.close();
                    assert_eq!(stat.run_delay(), 0);
                });
            }
        });
        let waited = waited.into_inner();
        assert!(waited > 50_000_000, "{waited}");
    }
}
