//! Waits at the kernel's lock (futex).
//!
//! A call of `syscall` by the program is wrapped, so its wait is measured. The libc's own locks, above all those of its
//! memory allocator, call the kernel from within the libc. The beginning of these waits is not seen.
//!
//! If a sampling period ends in the kernel, the sample comes when the kernel returns. So some samples fall right
//! behind these calls, or on them if the kernel restarts them. The sleep of the thread since the last look that no
//! measured wait, sleep or call of MPI explains is then counted as a wait there. This assumes that nothing else puts
//! the thread to sleep unmeasured meanwhile, such as a page that is read from a disk. Looks are at most [`LOOK`]
//! samples apart, so little is attributed wrongly. If samples exclude the kernel or come from a timer, these waits
//! are not seen.

use crate::guest::{clock, off_core::sleeps};
use crate::libraries::code;
use crate::threads::{
    locks::{BRIEFEST, Wait},
    team,
    thread::{Caller, Thread},
    waits::{Awaited, Holder, last, note_last},
};
use headwater_call_path::Tables;
use headwater_model::run::WaitKind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The libc's `syscall`; 0 before it was looked up.
pub static SYSTEM_CALL: AtomicUsize = AtomicUsize::new(0);

/// After so many samples there is a look in any case.
const LOOK: u32 = 32;

/// The thread's unexplained sleep at the last look, nanoseconds from an arbitrary start, and how often it had gone to
/// sleep by then; samples since then.
#[derive(Default)]
pub struct Slept {
    last: Option<(i64, u64)>,
    samples: u32,
}

impl Slept {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            last: None,
            samples: 0,
        }
    }

    /// The sleep until now is known to be something else.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// Operations of the futex that wait, and those that wake.
const FUTEX_WAITS: [u64; 4] = [0, 6, 9, 13];
const FUTEX_WAKES: [u64; 4] = [1, 3, 4, 5];

/// The program calls `syscall` for a futex: libraries and languages make locks of their own with it.
pub fn system_call(from: Caller, address: u64, operation: u64, go: impl FnOnce() -> i64) -> i64 {
    let Some(t) = team::recorded() else {
        return go();
    };
    let operation = operation & 0x7f;
    if FUTEX_WAKES.contains(&operation) {
        note_last(
            address,
            Holder {
                thread: t.number,
                address: from.return_address,
            },
        );
    }
    if !FUTEX_WAITS.contains(&operation) {
        return go();
    }
    let ctx = t.context(from);
    let wait = Wait::begin(t, ctx, from.stack_pointer);
    let start = clock::now();
    let result = go();
    let end = clock::now();
    drop(wait);
    if end.saturating_sub(start) > BRIEFEST && t.expects_waits() && t.is_at(from.stack_pointer) {
        // SAFETY: `errno` is the program's to read.
        unsafe {
            let errno = *libc::__errno_location();
            let what = Awaited {
                kind: WaitKind::Futex,
                lock: address,
                holder: last(address),
            };
            t.waited(ctx, what, start, end);
            *libc::__errno_location() = errno;
        }
    }
    result
}

/// An interrupted place.
#[derive(Clone, Copy)]
pub struct Place {
    /// Instruction.
    pub ip: u64,
    /// The register that holds the number of a system call: before the call, and on some processors after it too.
    pub number: u64,
}

/// Whether a place is at or right behind a call of the futex by the libc itself.
fn is_at(tables: &Tables, place: Place) -> bool {
    /// How far before the call its number is loaded, at most, bytes.
    const BEFORE: u64 = 24;
    let libc = tables.module_of(SYSTEM_CALL.load(Ordering::Relaxed) as u64);
    let from = place.ip.saturating_sub(BEFORE + 8);
    if libc.is_none_or(|(start, end)| from < start || place.ip + 8 > end) {
        return false;
    }
    // SAFETY: code of a module that is loaded, as was just looked up.
    let code = unsafe { std::slice::from_raw_parts(from as *const u8, (BEFORE + 16) as usize) };
    calls_the_lock(code, (BEFORE + 8) as usize, place.number)
}

/// The same for the bytes around a place.
#[cfg(target_arch = "x86_64")]
fn calls_the_lock(code: &[u8], at: usize, number: u64) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    /// `mov eax, SYS_futex`
    const LOADS: [u8; 5] = [0xb8, libc::SYS_futex as u8, 0, 0, 0];
    let call = |at: usize| code.get(at..at + 2) == Some(&SYSCALL);
    if call(at) {
        return number == libc::SYS_futex as u64;
    }
    let Some(before) = at.checked_sub(2).filter(|b| call(*b)) else {
        return false;
    };
    let window = code.get(before.saturating_sub(24)..before).unwrap_or(&[]);
    window.windows(LOADS.len()).any(|bytes| bytes == LOADS)
}

/// The same for the bytes around a place.
#[cfg(target_arch = "aarch64")]
fn calls_the_lock(code: &[u8], at: usize, number: u64) -> bool {
    /// `svc #0`
    const SVC: [u8; 4] = [0x01, 0, 0, 0xd4];
    let call = |at: usize| code.get(at..at + 4) == Some(&SVC);
    number == libc::SYS_futex as u64 && (call(at) || at.checked_sub(4).is_some_and(call))
}

impl Thread {
    /// A sample was taken at `ctx` when the thread had used `cpu` nanoseconds of CPU time. The signal handler calls
    /// this.
    pub fn look_at_sleep(&mut self, ctx: u32, place: Place, cpu: u64) {
        let here = code::tables().is_some_and(|tables| is_at(tables, place));
        self.slept.samples += 1;
        if !here && self.slept.last.is_some() && self.slept.samples < LOOK {
            return;
        }
        let now = (self.unexplained(cpu), sleeps());
        let last = self.slept.last.replace(now);
        self.slept.samples = 0;
        let Some((before, slept)) = last.filter(|_| here) else {
            return;
        };
        let wall = u64::try_from(now.0 - before).unwrap_or(0);
        let times = now.1.saturating_sub(slept);
        if wall > 0 && times > 0 {
            self.count_waits(ctx, Awaited::unknown(WaitKind::Futex), wall, times);
            self.note_asleep(ctx, wall);
            // It is explained now.
            self.slept.last = Some((self.unexplained(cpu), now.1));
        }
    }

    /// The sleep of the thread that nothing explains, nanoseconds from an arbitrary start.
    fn unexplained(&self, cpu: u64) -> i64 {
        let known = cpu + self.run_delay() + self.waits.explained + self.slept_in_mpi();
        clock::now() as i64 - known as i64
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_kernels_lock_are_known_by_their_code() {
        // mov eax, SYS_futex; xor edx, edx; syscall
        let code = [0x90, 0x90, 0xb8, 202, 0, 0, 0, 0x31, 0xd2, 0x0f, 0x05, 0x90];
        assert!(calls_the_lock(&code, 11, 0), "behind it");
        assert!(calls_the_lock(&code, 9, 202), "on it");
        assert!(!calls_the_lock(&code, 9, 0));
        assert!(!calls_the_lock(&code, 7, 202));
        let mut other = code;
        other[3] = 1;
        assert!(!calls_the_lock(&other, 11, 0), "another call");
        assert!(!calls_the_lock(&code, 100, 0));
    }
}
