//! What a process has used, and what it may use.

use crate::guest::clock;
use headwater_format::spool::layout;
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
