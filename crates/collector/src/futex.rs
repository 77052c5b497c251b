//! Waits at the kernel's lock that nobody sees begin: the libc's own locks, of its memory allocator first of all,
//! call the kernel from within.
//!
//! A sample that ends in the kernel comes when that returns, so some fall right behind these calls, or on them where
//! they are taken up again. What the thread has slept until then, since the last look, and no measured wait, sleep
//! or call of MPI explains, is counted as a wait there. That assumes that nothing else puts the thread to sleep
//! unmeasured meanwhile, such as a page that comes from a disk; looks are at most [`LOOK`] samples apart, so what
//! is told wrongly is not much. Where samples leave the kernel out or come from a timer, these waits are not seen.

use crate::guarded::SYSTEM_CALL;
use crate::off_core::sleeps;
use crate::thread::Thread;
use crate::unwind::Tables;
use crate::waits::Awaited;
use crate::{clock, process};
use headwater_model::run::WaitKind;
use std::sync::atomic::Ordering;

/// Samples after which there is a look in any case.
const LOOK: u32 = 32;

/// What a thread had slept unexplained when there was a look, nanoseconds from some beginning; the times that it
/// had gone to sleep; samples since.
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

    /// What was slept until now is known to be something else.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// An interrupted place.
#[derive(Clone, Copy)]
pub struct Place {
    /// Instruction.
    pub ip: u64,
    /// The register that has the number of a system call: before it, and on some processors after it too.
    pub number: u64,
}

/// Whether a place is at or behind a call of the kernel's lock by the libc itself.
fn is_at(tables: &Tables, place: Place) -> bool {
    /// How far before the call its number is loaded, bytes.
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

/// The same of the bytes around a place.
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

/// The same of the bytes around a place.
#[cfg(target_arch = "aarch64")]
fn calls_the_lock(code: &[u8], at: usize, number: u64) -> bool {
    /// `svc #0`
    const SVC: [u8; 4] = [0x01, 0, 0, 0xd4];
    let call = |at: usize| code.get(at..at + 4) == Some(&SVC);
    number == libc::SYS_futex as u64 && (call(at) || at.checked_sub(4).is_some_and(call))
}

impl Thread {
    /// A sample was taken at `ctx` when the thread had had so much CPU time, nanoseconds. For the handler.
    pub fn look_at_sleep(&mut self, ctx: u32, place: Place, cpu: u64) {
        let here = process::tables().is_some_and(|tables| is_at(tables, place));
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

    /// What the thread has slept and nothing explains, from some beginning.
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
