//! Counters of a thread: those of the kernel, which always exist, and those of the processor, if `perf_event_open`
//! allows them to an ordinary user.
//!
//! The processor's counters are opened as one group, so that all of them count over the same time. Each reading
//! includes the time for which they counted.

use crate::guest::descriptors::{self, For, Refused};
use crate::guest::usage;
use crate::storage::process_spool;
use headwater_model::run::KERNEL_COUNTERS as KERNEL;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

/// An event of `perf_event_open`: name, type, number.
pub struct Event(pub &'static str, pub u32, pub u64);

/// Counters of the processor, the most important first: a processor that has too few counts the first ones.
const PROCESSOR: [Event; 4] = [
    Event("instructions", 0, 1),
    Event("cycles", 0, 0),
    Event("cache_references", 0, 2),
    Event("cache_misses", 0, 3),
];

/// The most counters in a sample.
pub const MOST: usize = KERNEL.len() + PROCESSOR.len();

/// Bits of the processor's counters that this process has.
static HAD: AtomicU32 = AtomicU32::new(0);

/// The beginning of `perf_event_attr`, as the kernel has it since its first version (64 bytes).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP`
const READ_FORMAT: u64 = 1 | 2 | 8;

/// Which part of a thread's execution is counted.
#[derive(Clone, Copy)]
pub enum Scope {
    /// Its own code, which needs no privilege.
    User,
    /// Also what the kernel does for it, which `perf_event_paranoid` has to allow.
    Everything,
}

/// Opens an event of the thread `tid`, 0 for the calling one. A signal is sent after every `period` events, unless
/// `period` is 0; `leader` is -1 or the descriptor of the group's first event.
pub fn open(
    event: &Event,
    period: u64,
    leader: libc::c_int,
    scope: Scope,
    tid: libc::pid_t,
) -> Result<libc::c_int, Refused> {
    let attributes = Attributes {
        kind: event.1,
        size: size_of::<Attributes>() as u32,
        config: event.2,
        sample_period: period,
        read_format: READ_FORMAT,
        flags: match scope {
            Scope::User => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            Scope::Everything => EXCLUDE_HYPERVISOR,
        },
        wakeup_events: 1,
        ..Default::default()
    };
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let wanted = if period == 0 {
        For::Counting
    } else {
        For::Time
    };
    // SAFETY: the structure is as large as it says, and the kernel reads no more of it.
    descriptors::take(wanted, || unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attributes,
            tid,
            -1,
            leader,
            CLOSE_ON_EXEC,
        ) as libc::c_int
    })
}

/// Closes an event, if the descriptor still is one: a program may close descriptors that it does not know.
pub fn close(event: libc::c_int) {
    const IOC_ID: libc::c_ulong = 0x8008_2407;
    let mut id = 0u64;
    // SAFETY: the kernel writes a number where it knows the request.
    descriptors::give_back(event, || unsafe {
        libc::ioctl(event, IOC_ID as _, &mut id) == 0
    });
}

/// The processor's counters of a thread.
struct Group {
    descriptors: [libc::c_int; PROCESSOR.len()],
    members: usize,
}

/// What a group has counted: over which CPU time of the thread, nanoseconds, and each counter.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    time: u64,
    values: [u64; PROCESSOR.len()],
}

impl Group {
    const NONE: Self = Self {
        descriptors: [-1; PROCESSOR.len()],
        members: 0,
    };

    /// Opens as many of `events`, from the first on, as are available.
    fn open(events: &[Event], tid: libc::pid_t) -> Self {
        let mut this = Self::NONE;
        for (i, event) in events.iter().enumerate() {
            let Ok(fd) = open(event, 0, this.descriptors[0], Scope::User, tid) else {
                break;
            };
            this.descriptors[i] = fd;
            this.members += 1;
        }
        this
    }

    fn close(self) {
        for fd in self.descriptors.into_iter().take(self.members) {
            close(fd);
        }
    }

    /// Reads all at once; safe in a signal handler. If all users together want more counters than the processor has,
    /// the kernel counts in turns. The counts are then scaled up to the whole time.
    fn read(&self) -> Option<Reading> {
        let mut words = [0u64; 3 + PROCESSOR.len()];
        if self.members == 0 {
            return None;
        }
        // SAFETY: reads into our own buffer. This is the system call itself, because `read` is wrapped.
        let n = unsafe {
            libc::syscall(
                libc::SYS_read,
                self.descriptors[0],
                words.as_mut_ptr(),
                size_of_val(&words),
            )
        };
        usage::note_own_read(n);
        let [members, enabled, running, values @ ..] = words;
        if n < 24 || running == 0 {
            return None;
        }
        let mut reading = Reading {
            time: enabled,
            ..Default::default()
        };
        for (to, from) in reading.values.iter_mut().zip(values).take(members as usize) {
            *to = (u128::from(from) * u128::from(enabled) / u128::from(running)) as u64;
        }
        Some(reading)
    }
}

/// What a thread knows about its counters.
pub struct Counters {
    kernel: [u64; KERNEL.len()],
    core: i32,
    group: Group,
    last: Reading,
}

impl Counters {
    /// Nothing opened.
    pub const fn new() -> Self {
        Self {
            kernel: [0; KERNEL.len()],
            core: -1,
            group: Group::NONE,
            last: Reading {
                time: 0,
                values: [0; PROCESSOR.len()],
            },
        }
    }

    /// The kernel's counts begin now, with nothing for a newborn thread.
    pub fn begin(&mut self, is_newborn: bool) {
        if is_newborn {
            (self.kernel, self.core) = ([0; KERNEL.len()], -1);
        } else {
            self.kernel_growth(0);
        }
    }

    /// Begins to count for the thread `tid` what the processor counts. Returns whether all could be opened. A signal handler
    /// may call this.
    pub fn open(&mut self, tid: libc::pid_t) -> bool {
        let had = HAD.load(Ordering::Relaxed).count_ones() as usize;
        self.group = Group::open(PROCESSOR.get(..had).unwrap_or(&[]), tid);
        self.rebase();
        self.group.members == had
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        std::mem::replace(&mut self.group, Group::NONE).close();
    }

    /// Forgets what was counted until now: it was not the program's computation.
    pub fn rebase(&mut self) {
        if let Some(now) = self.group.read() {
            self.last = now;
        }
    }

    /// Writes to `growth` what the processor has counted since the last call, scaled to `cpu_ns`, the time that a
    /// sample represents.
    pub fn processor_growth(&mut self, cpu_ns: u64, growth: &mut [u64; MOST]) {
        let Some(now) = self.group.read() else { return };
        let last = std::mem::replace(&mut self.last, now);
        let time = u128::from(now.time.saturating_sub(last.time).max(1));
        let places = growth.iter_mut().skip(KERNEL.len());
        for (to, (n, l)) in places.zip(now.values.into_iter().zip(last.values)) {
            *to = (u128::from(n.saturating_sub(l)) * u128::from(cpu_ns) / time) as u64;
        }
    }

    /// What the kernel has counted since the last call, and whether the core has changed. `run_delay`
    /// is the thread's time in the run queue, nanoseconds.
    pub fn kernel_growth(&mut self, run_delay: u64) -> ([u64; MOST], bool) {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: zero before, and filled by the call; safe in signal handlers.
        let (usage, core) = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            (usage.assume_init(), libc::sched_getcpu())
        };
        let moved = self.core >= 0 && core != self.core;
        self.core = core;
        let now = [
            (usage.ru_minflt + usage.ru_majflt).max(0) as u64,
            (usage.ru_nvcsw + usage.ru_nivcsw).max(0) as u64,
            run_delay,
            self.kernel[3] + u64::from(moved),
        ];
        let last = std::mem::replace(&mut self.kernel, now);
        let mut growth = [0; MOST];
        for (to, (n, l)) in growth.iter_mut().zip(now.into_iter().zip(last)) {
            *to = n.saturating_sub(l);
        }
        (growth, moved)
    }
}

/// Finds out which counters there are, and writes their names into the spool.
pub fn name() {
    let group = Group::open(&PROCESSOR, 0);
    // A counter that exists but never counts for this thread shows no time.
    let counting = group.read().is_some_and(|r| r.values[0] > 0);
    let had = if counting { group.members } else { 0 };
    HAD.store((1 << had) - 1, Ordering::Relaxed);
    group.close();
    let processor = PROCESSOR.iter().take(had).map(|e| e.0);
    let names: Vec<&str> = KERNEL.into_iter().chain(processor).collect();
    process_spool::with_spool(|spool| {
        let header = spool.header();
        header.counters = names.len() as u16;
        headwater_format::spool::layout::put_text(
            &mut header.counter_names,
            names.join(" ").as_bytes(),
        );
        Some(())
    });
    if had == 0 {
        process_spool::say(
            "Hardware counters (instructions, cycles, cache misses) could not be had: equal work that runs slower cannot be distinguished from more work.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own events go the same way, and every machine has them.
    #[test]
    fn a_group_counts_over_the_time_of_its_thread() {
        const PAGE_FAULTS: Event = Event("page_faults", 1, 2);
        const MINOR_FAULTS: Event = Event("minor_faults", 1, 5);
        let group = Group::open(&[PAGE_FAULTS, MINOR_FAULTS], 0);
        let Some(before) = group.read() else {
            eprintln!("performance events are not permitted here: not tested");
            return;
        };
        let pages: Vec<Vec<u8>> = (0..100).map(|i| vec![i; 1 << 16]).collect();
        assert_eq!(pages.iter().map(Vec::len).sum::<usize>(), 100 << 16);
        let after = group.read().expect("a second reading");
        let [faults, minor, ..] = after.values;
        assert!(faults >= before.values[0] + 100, "each page is touched");
        assert!(after.time > before.time, "{before:?} {after:?}");
        assert!(minor >= before.values[1] + 100, "{before:?} {after:?}");
    }

    #[test]
    fn what_was_counted_is_brought_to_the_time_of_the_sample() {
        let mut counters = Counters::new();
        counters.group = Group::open(&[Event("task_clock", 1, 1)], 0);
        if counters.group.read().is_none() {
            return;
        }
        counters.rebase();
        let mut growth = [0; MOST];
        let mut x = 0u64;
        (0..3_000_000u64).for_each(|i| x = std::hint::black_box(x ^ i));
        counters.processor_growth(5_000_000, &mut growth);
        // This counter runs as fast as the time it is compared with.
        let nanoseconds = growth[KERNEL.len()];
        assert!(
            (4_000_000..6_000_000).contains(&nanoseconds),
            "{nanoseconds}"
        );
    }
}
