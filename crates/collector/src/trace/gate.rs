//! The gate between a thread and the keeper: one of them has what records the thread's events.
//!
//! It is open while the thread is in a call of MPI. Then the thread does not touch its recorder, and the keeper may hold it;
//! a thread that comes back waits until it is let go. Coming back is frequent and holding is rare, so only holding pays for
//! the order of memory: the keeper says that it holds, makes each thread of the process execute a barrier (`membarrier`),
//! and then looks whether the thread is still in the call. The thread says that it is back, and then looks whether the
//! keeper holds. So at least one of them sees the other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};
use std::time::Duration;

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`, and to register for it.
const BARRIER: libc::c_int = 1 << 3;
const REGISTER: libc::c_int = 1 << 4;

/// The half of the state that says in which call the thread is; 0 in none.
const CALL: u64 = u32::MAX as u64;

/// How long a thread that comes back waits before it looks again.
const LOOKS: Duration = Duration::from_micros(50);

/// The gate of one thread. Both words stay as long as the process.
#[derive(Clone, Copy)]
pub struct Gate {
    /// As in the head of the file with the thread's calls.
    state: &'static AtomicU64,
    /// Whether the keeper has the recorder, or wants it.
    held: &'static AtomicU32,
}

impl Gate {
    /// Of these words.
    pub fn new(state: &'static AtomicU64, held: &'static AtomicU32) -> Self {
        Self { state, held }
    }

    /// The thread goes into a call.
    #[inline]
    pub fn open(&self, state: u64) {
        // What the thread has done to its recorder comes first.
        self.state.store(state, Ordering::Release);
    }

    /// The thread is back from the call.
    #[inline]
    pub fn close(&self, state: u64) {
        self.state.store(state, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if self.held.load(Ordering::Acquire) != 0 {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        while self.held.load(Ordering::Acquire) != 0 {
            std::thread::sleep(LOOKS);
        }
    }

    /// The state, if the thread is in a call.
    pub fn call(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Relaxed);
        (state & CALL != 0).then_some(state)
    }

    /// Runs `run` while the thread is kept in the call of this state. Returns whether it was still there.
    pub fn hold(&self, state: u64, run: impl FnOnce()) -> bool {
        struct LetGo(&'static AtomicU32);
        impl Drop for LetGo {
            fn drop(&mut self) {
                self.0.store(0, Ordering::Release);
            }
        }
        self.held.store(1, Ordering::SeqCst);
        let let_go = LetGo(self.held);
        let is_there = barrier() && self.state.load(Ordering::Acquire) == state;
        if is_there {
            run();
        }
        drop(let_go);
        is_there
    }
}

/// Whether threads can be held in this process.
pub fn can_hold() -> bool {
    membarrier(REGISTER)
}

fn barrier() -> bool {
    membarrier(BARRIER)
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: this call takes numbers alone.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate::new(
            Box::leak(Box::new(AtomicU64::new(0))),
            Box::leak(Box::new(AtomicU32::new(0))),
        )
    }

    #[test]
    fn a_thread_is_held_only_in_the_call_that_was_seen() {
        assert!(can_hold());
        let gate = gate();
        assert_eq!(gate.call(), None);
        gate.open(1 << 32 | 5);
        let seen = gate.call().expect("it is in a call");
        assert!(gate.hold(seen, || ()));
        gate.close(1 << 32);
        assert_eq!(gate.call(), None);
        gate.open(2 << 32 | 5);
        assert!(!gate.hold(seen, || panic!("this is another call")));
    }

    #[test]
    fn thread_and_keeper_never_have_the_recorder_at_the_same_time() {
        assert!(can_hold());
        let gate = gate();
        let both = &*Box::leak(Box::new(AtomicU32::new(0)));
        let own = move || {
            assert_eq!(both.fetch_add(1, Ordering::Relaxed), 0);
            assert_eq!(both.fetch_sub(1, Ordering::Relaxed), 1);
        };
        let ended = &*Box::leak(Box::new(AtomicU32::new(0)));
        let keeper = std::thread::spawn(move || {
            let mut held = 0;
            while ended.load(Ordering::Relaxed) == 0 {
                if let Some(state) = gate.call() {
                    held += u32::from(gate.hold(state, own));
                }
            }
            held
        });
        let mut calls = 0;
        while calls < 20_000 {
            calls += 1;
            gate.open(calls << 32 | 1);
            if calls % 64 == 0 {
                std::thread::yield_now();
            }
            gate.close(calls << 32);
            own();
        }
        ended.store(1, Ordering::Relaxed);
        keeper.join().expect("no assertion fails");
    }
}
