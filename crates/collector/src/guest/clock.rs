//! Time: the processor's time stamp counter on x86-64, the system's monotonic clock elsewhere.
//!
//! A reading costs some 10 ns. Clock values are nanoseconds since an arbitrary start that all processes of a node
//! share.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Nanoseconds per tick as a fixed point number with 32 fractional bits; 0 until calibrated.
static SCALE: AtomicU64 = AtomicU64::new(0);
/// Tick and nanosecond at which both clocks were read.
static TICK0: AtomicU64 = AtomicU64::new(0);
static NANO0: AtomicU64 = AtomicU64::new(0);

/// What to add to this rank's clock to get rank 0's, as measured at the start.
static OFFSET: AtomicI64 = AtomicI64::new(0);

/// What to add to this rank's clock to get the common one, by which event windows are chosen, nanoseconds.
#[inline]
pub fn offset() -> i64 {
    OFFSET.load(Relaxed)
}

/// Sets what to add, as measured at the start.
pub fn set_offset(nanoseconds: i64) {
    OFFSET.store(nanoseconds, Relaxed);
}

fn system(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid place for the answer; an unknown clock leaves it zero.
    unsafe { libc::clock_gettime(clock, &mut t) };
    (t.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(t.tv_nsec as u64)
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    system(libc::CLOCK_MONOTONIC)
}

/// How long [`calibrate`] waits at least since [`start`], nanoseconds: the ratio is exact to some parts per million, so
/// that it fits the clocks of other nodes.
pub const EXACTLY: u64 = 10_000_000;
/// The same where the program would wait: exact to some parts in ten thousand.
pub const BRIEFLY: u64 = 1_000_000;

/// Both clocks read at one moment, as system time and ticks, and how many ticks that took.
fn both() -> (u64, u64, u64) {
    let before = ticks();
    let nano = system(libc::CLOCK_MONOTONIC);
    let took = ticks().wrapping_sub(before);
    (nano, before.wrapping_add(took / 2), took)
}

/// Stores a pair of readings; [`calibrate`] compares with it.
pub fn start() {
    // A thread that loses its core between the two readings takes longer. So the quickest of some is used.
    let pairs = [both(), both(), both()];
    let quickest = pairs.into_iter().min_by_key(|pair| pair.2);
    if let Some((nano, tick, _)) = quickest {
        NANO0.store(nano, Relaxed);
        TICK0.store(tick, Relaxed);
    }
}

/// Compares both clocks since [`start`]. It waits until so many nanoseconds have passed.
pub fn calibrate(nanoseconds: u64) {
    /// The most of the time passed that reading both clocks may take, as one part in so many.
    const PART: u64 = 5_000;
    loop {
        let (nano, tick, took) = both();
        let nanos = nano.saturating_sub(NANO0.load(Relaxed));
        let passed = tick.saturating_sub(TICK0.load(Relaxed));
        if nanos >= nanoseconds && passed > 0 && took < passed / PART {
            let scale = (u128::from(nanos) << 32) / u128::from(passed);
            SCALE.store(scale as u64, Relaxed);
            return;
        }
    }
}

/// The clock now, nanoseconds.
#[inline]
pub fn now() -> u64 {
    let passed = ticks().wrapping_sub(TICK0.load(Relaxed));
    let nanos = (u128::from(passed) * u128::from(SCALE.load(Relaxed))) >> 32;
    NANO0.load(Relaxed).wrapping_add(nanos as u64)
}

/// CPU time of the calling thread, nanoseconds (a system call, some 400 ns).
pub fn thread_cpu() -> u64 {
    system(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of a thread of this process, by its number in the system, nanoseconds.
pub fn cpu_of(tid: libc::pid_t) -> Option<u64> {
    let cpu = system(clock_of(tid));
    (cpu > 0).then_some(cpu)
}

/// The clock of a thread's CPU time. The kernel computes its number from the thread's number.
pub fn clock_of(tid: libc::pid_t) -> libc::clockid_t {
    /// `CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED`
    const THREADS_TIME: libc::clockid_t = 4 | 2;
    (!tid << 3) | THREADS_TIME
}

/// CPU time of the process, nanoseconds.
pub fn process_cpu() -> u64 {
    system(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Nanoseconds since 1970 at which the clock was 0.
pub fn unix_base() -> u64 {
    system(libc::CLOCK_REALTIME).wrapping_sub(system(libc::CLOCK_MONOTONIC))
}
