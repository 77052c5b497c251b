//! What a process has used, and what it may use.

use crate::guest::{clock, uncancelled};
use headwater_format::spool::layout;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name of this node.
pub fn host() -> String {
    let mut name = [0u8; 64];
    // SAFETY: the buffer and its length.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    layout::text(&name)
}

/// Whether the collector is linked into the program, instead of being loaded before it.
pub const IS_LINKED: bool = cfg!(feature = "linked");

/// Cores that the process may use: their number, and a list as text.
pub fn affinity() -> (u32, String) {
    // SAFETY: a zeroed set is a valid empty set, filled by the call.
    let (set, ok) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let ok = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0;
        (set, ok)
    };
    if !ok {
        return (0, String::new());
    }
    // SAFETY: indices below the set's size.
    let cores =
        (0..libc::CPU_SETSIZE as u32).filter(|c| unsafe { libc::CPU_ISSET(*c as usize, &set) });
    let cores: headwater_model::RankSet = cores.collect();
    (cores.len() as u32, cores.to_string())
}

/// What a process used in some interval.
#[derive(Clone, Copy)]
pub struct Used {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Faults and switches.
    pub usage: [u64; 4],
}

impl Used {
    /// By this process since it started.
    pub fn now() -> Self {
        Self {
            cpu_ns: clock::process_cpu(),
            usage: usage(),
        }
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut usage = self.usage;
        let pairs = usage.iter_mut().zip(other.usage);
        pairs.for_each(|(a, b)| *a = join(*a, b));
        Self {
            cpu_ns: join(self.cpu_ns, other.cpu_ns),
            usage,
        }
    }

    /// In both intervals together.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// In this interval without `part` of it.
    pub fn minus(self, part: Self) -> Self {
        self.with(part, u64::saturating_sub)
    }
}

/// Counters of the process since it started: faults and switches.
pub fn usage() -> [u64; 4] {
    // SAFETY: a zeroed structure is valid and filled by the call.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    };
    [u.ru_minflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw].map(|v| v.max(0) as u64)
}

/// How often the collector itself has read, and how many bytes: the system counts that for the process.
static OWN_READS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Notes that the collector has read so many bytes; a negative number is a failed attempt.
#[inline]
pub fn note_own_read(bytes: libc::c_long) {
    let [reads, sum] = &OWN_READS;
    reads.fetch_add(1, Ordering::Relaxed);
    sum.fetch_add(bytes.max(0) as u64, Ordering::Relaxed);
}

/// Begins to count them: a child that records has counters of its own.
pub fn forget_own_reads() {
    OWN_READS
        .iter()
        .for_each(|sum| sum.store(0, Ordering::Relaxed));
}

/// The contents of a file whose path ends with NUL, as far as they fit into `room`; nothing if it cannot be read.
/// Neither allocates nor locks.
pub fn contents<'r>(path: &[u8], room: &'r mut [u8]) -> &'r [u8] {
    let file = uncancelled::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
    if file < 0 {
        return &[];
    }
    // SAFETY: reads into the room. This is the system call itself, because `read` is wrapped.
    let n = unsafe { libc::syscall(libc::SYS_read, file, room.as_mut_ptr(), room.len()) };
    uncancelled::close(file);
    note_own_read(n);
    room.get(..n.max(0) as usize).unwrap_or(&[])
}

/// The words of a text.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(u8::is_ascii_whitespace);
    words.filter(|w| !w.is_empty())
}

/// A whole number.
pub fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The number behind `name` in a text of names and numbers.
fn after(text: &[u8], name: &[u8]) -> Option<u64> {
    number(words(text).skip_while(|w| *w != name).nth(1)?)
}

/// The most memory that the process had at once, bytes.
pub fn peak_memory() -> Option<u64> {
    // Enough unless the user is in some hundred groups. The stack may be a small one of the program's.
    let mut room = [0; 1536];
    let status = contents(b"/proc/self/status\0", &mut room);
    let in_status = after(status, b"VmHWM:");
    let kib = in_status.or_else(|| {
        // SAFETY: a zeroed structure is valid and filled by the call.
        let most = unsafe {
            let mut u: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut u);
            u.ru_maxrss
        };
        u64::try_from(most).ok().filter(|kib| *kib > 0)
    })?;
    kib.checked_mul(1024)
}

/// Bytes read, calls that read, bytes written, calls that write, bytes from and for storage devices. Without what the
/// collector itself has read.
pub fn io() -> Option<[u64; 6]> {
    let [own_reads, own_bytes] = [0, 1].map(|i| OWN_READS[i].load(Ordering::Relaxed));
    let mut room = [0; 512];
    let text = contents(b"/proc/self/io\0", &mut room);
    let of = |name: &[u8]| after(text, name);
    Some([
        of(b"rchar:")?.saturating_sub(own_bytes),
        of(b"syscr:")?.saturating_sub(own_reads),
        of(b"wchar:")?,
        of(b"syscw:")?,
        of(b"read_bytes:")?,
        of(b"write_bytes:")?,
    ])
}

/// Kind of the file system that the file of a name is on, as the system numbers it; 0 if it does not say it.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn file_system(path: *const libc::c_char) -> u64 {
    if path.is_null() {
        return 0;
    }
    // SAFETY: a zeroed structure is filled by the call; `path` as promised.
    let kind_at = |path| unsafe {
        let mut of: libc::statfs = std::mem::zeroed();
        (libc::statfs(path, &mut of) == 0).then_some(of.f_type)
    };
    // A name may begin with the kind of the file system, as in `ufs:out`.
    // SAFETY: no byte behind the NUL is read.
    let behind = || unsafe {
        let colon = libc::strchr(path, libc::c_int::from(b':'));
        (!colon.is_null()).then(|| colon.add(1).cast_const())
    };
    let kind = kind_at(path).or_else(|| kind_at(behind()?));
    kind.map_or(0, as_number)
}

/// The same of an open file, if it is a regular one that a user may have put there.
pub fn file_system_of(file: libc::c_int) -> Option<u64> {
    /// Files in which the kernel reports something.
    const REPORTS: [u64; 3] = [0x9fa0, 0x6265_6572, 0x6462_6720];
    // SAFETY: zeroed structures are filled by the calls.
    let kind = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let mut of: libc::statfs = std::mem::zeroed();
        let is_regular = libc::fstat(file, &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFREG
            && libc::fstatfs(file, &mut of) == 0;
        is_regular.then(|| as_number(of.f_type))?
    };
    (!REPORTS.contains(&kind)).then_some(kind)
}

/// The kernel's number, which has 32 bits and may have been taken for a negative one.
fn as_number(kind: impl Into<i128>) -> u64 {
    kind.into() as u64 & 0xffff_ffff
}

/// CPU time of children that have ended and whose end the process has seen.
pub fn of_children() -> Duration {
    // SAFETY: a zeroed structure is valid and filled by the call.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut u);
        u
    };
    let of = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.max(0) as u64) + Duration::from_micros(t.tv_usec.max(0) as u64)
    };
    of(u.ru_utime) + of(u.ru_stime)
}

/// Nanoseconds since the process started, to the precision of the kernel's ticks.
pub fn age() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let started: Option<f64> = stat
        .rsplit(") ")
        .next()
        .and_then(|s| s.split(' ').nth(19))
        .and_then(|s| s.parse().ok());
    let up: Option<f64> = uptime.split(' ').next().and_then(|s| s.parse().ok());
    // SAFETY: a plain query.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    started
        .zip(up)
        .map_or(0, |(s, u)| ((u - s / per_second).max(0.0) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_counted_without_what_we_read_ourselves() {
        let Some(before) = io() else {
            // Not every kernel counts.
            return;
        };
        for _ in 0..100 {
            assert!(peak_memory().is_some_and(|most| most > 1 << 20));
        }
        std::fs::read("/proc/self/exe").expect("reads");
        let after = io().expect("as before");
        // Other tests read, too.
        assert!(after[0] > before[0] && after[1] > before[1]);
        let text = b"rchar: 12\nsyscr:\t3\n";
        assert_eq!(super::after(text, b"syscr:"), Some(3));
        assert_eq!(super::after(text, b"syscw:"), None);
        assert_eq!(super::after(b"rchar: -1", b"rchar:"), None);
    }

    #[test]
    fn a_name_may_begin_with_the_kind_of_its_file_system() {
        // SAFETY: C strings and null.
        let kinds = [c"/proc/self/status", c"ufs:/proc/self/status", c"/none"]
            .map(|path| unsafe { file_system(path.as_ptr()) });
        assert_eq!(kinds, [0x9fa0, 0x9fa0, 0]);
        // SAFETY: null.
        assert_eq!(unsafe { file_system(std::ptr::null()) }, 0);
    }
}
