//! The unwind tables in force.
//!
//! They point into libraries. So no tables are in force while a thread may be unloading a library.

use crate::modules::{Counts, Loaded, counts, loaded};
use crate::unwind::Tables;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Without this many bytes of memory, nobody looks up which libraries are loaded.
const ROOM_TO_LOOK: usize = 2 << 20;

/// Attempts to look, if other threads unload libraries during each. After the last one, the tables in force stay.
const MOST_LOOKS: usize = 4;

/// The process in which the tables are in force.
pub trait Host {
    /// Whether there are so many bytes of memory at the moment.
    fn has_room(&self, bytes: usize) -> bool;

    /// Records the modules that are loaded now.
    fn note(&self, modules: &[Loaded]);

    /// The same without asking the loader for anything: another thread may hold its lock and wait for what this one has.
    fn note_code(&self, modules: &[Loaded]);

    /// Libraries were unloaded: what is known about addresses in them is no longer true.
    fn unloaded(&self);

    /// Whether the tables are those of a parent process.
    fn is_a_child(&self) -> bool;

    /// From now on there are no tables, for lack of memory.
    fn lost(&self);
}

/// Unwind tables that any thread may use, for as long as the process lives.
pub struct InForce<H> {
    host: H,
    tables: AtomicPtr<Tables>,
    /// Whether there are any, in force or set aside.
    there: AtomicBool,
    state: Mutex<State>,
}

/// What else is known about them. It is locked only for moments, and never while the loader is asked for something.
struct State {
    /// Threads that may be unloading libraries.
    inside: u32,
    /// How often this was locked, and so may have been changed.
    changes: u64,
    /// Tables that are set aside until the last of those threads is done; null for none.
    away: *mut Tables,
    /// How many libraries had been loaded and unloaded when the tables, in force or set aside, were made.
    counts: Counts,
}

// SAFETY: tables are only read, and never freed.
unsafe impl Send for State {}

impl<H: Host> InForce<H> {
    /// None yet.
    pub const fn new(host: H) -> Self {
        Self {
            host,
            tables: AtomicPtr::new(std::ptr::null_mut()),
            there: AtomicBool::new(false),
            state: Mutex::new(State {
                inside: 0,
                changes: 0,
                away: std::ptr::null_mut(),
                counts: Counts {
                    added: 0,
                    removed: 0,
                },
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.changes += 1;
        state
    }

    /// The tables in force; `None` before recording begins, after it has ended, and while libraries may be unloaded.
    #[inline]
    pub fn tables(&self) -> Option<&'static Tables> {
        // SAFETY: null or a leaked box, which is never freed.
        unsafe { self.tables.load(Ordering::Acquire).as_ref() }
    }

    /// If no tables are in force: whether they are only set aside for the moment.
    #[inline]
    pub fn are_away(&self) -> bool {
        self.there.load(Ordering::Acquire)
    }

    /// Puts these tables in force. The caller holds the lock.
    fn put_in_force(&self, tables: *mut Tables) {
        self.there.store(true, Ordering::Release);
        self.tables.store(tables, Ordering::Release);
    }

    /// Records which libraries are loaded now.
    pub fn note_modules(&self) -> Option<Vec<Loaded>> {
        self.noted(H::note)
    }

    /// The same without asking the loader for anything but what is loaded ([`Host::note_code`]). The tables stay.
    pub fn note_code(&self) {
        self.noted(H::note_code);
    }

    fn noted(&self, note: impl Fn(&H, &[Loaded])) -> Option<Vec<Loaded>> {
        if !self.host.has_room(ROOM_TO_LOOK) {
            return None;
        }
        let modules = loaded();
        note(&self.host, &modules);
        Some(modules)
    }

    /// Makes tables of what is loaded now, which `note` records, and returns how many libraries had been loaded and unloaded.
    fn made(&self, note: impl Fn(&H, &[Loaded])) -> Option<(*mut Tables, Counts)> {
        let counts = counts();
        let tables = Tables::new(&self.noted(note)?);
        Some((Box::into_raw(Box::new(tables)), counts))
    }

    /// Whether libraries were opened since the last look.
    pub fn has_new(&self) -> bool {
        // This changes nothing.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.counts.added;
        drop(state);
        self.tables().is_some() && counts().added != known
    }

    /// Records libraries that were opened since the last look. From now on their code can be unwound.
    pub fn look_at_modules(&self) {
        self.look(H::note);
    }

    /// The same without asking the loader for anything but what is loaded ([`Host::note_code`]).
    pub fn look_at_code(&self) {
        self.look(H::note_code);
    }

    fn look(&self, note: impl Fn(&H, &[Loaded])) {
        for _ in 0..MOST_LOOKS {
            let changes = self.state().changes;
            // The old tables stay: a signal handler may be using them.
            let Some((tables, counts)) = self.made(&note) else {
                return;
            };
            let mut state = self.state();
            if state.inside > 0 {
                // The last thread that is done checks whether libraries were unloaded since.
                (state.away, state.counts) = (tables, counts);
                self.there.store(true, Ordering::Release);
                return;
            }
            // If something has changed since, a library that the tables point into may be gone.
            if state.changes == changes + 1 {
                state.counts = counts;
                self.put_in_force(tables);
                return;
            }
        }
    }

    /// From now on nothing is unwound.
    pub fn end(&self) {
        let mut state = self.state();
        state.away = std::ptr::null_mut();
        self.there.store(false, Ordering::Release);
        self.tables.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// The same in a child after `fork`.
    pub fn leave_to_parent(&self) {
        self.tables.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Runs `f`, which may unload libraries. Nothing is unwound until all threads that do so are done. If libraries
    /// were unloaded, the tables are then created again. This also holds if a cancellation or an exception ends `f`.
    pub fn while_modules_change<T>(&self, f: impl FnOnce() -> T) -> T {
        // In a child process, the lock may be held by a thread that does not exist there.
        if self.host.is_a_child() {
            return f();
        }
        self.enter();
        let _inside = Inside(self);
        f()
    }

    fn enter(&self) {
        let mut state = self.state();
        state.inside += 1;
        let tables = self.tables.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !tables.is_null() {
            state.away = tables;
        }
    }

    fn leave(&self) {
        loop {
            let (changes, tables, before) = {
                let mut state = self.state();
                if state.inside > 1 || state.away.is_null() {
                    state.inside -= 1;
                    return;
                }
                (state.changes, state.away, state.counts)
            };
            let now = if counts().removed == before.removed {
                Some((tables, before))
            } else {
                self.host.unloaded();
                let made = std::panic::AssertUnwindSafe(|| self.made(H::note));
                std::panic::catch_unwind(made).ok().flatten()
            };
            let mut state = self.state();
            // Another thread may have changed the state in between.
            if state.changes == changes + 1 {
                state.away = std::ptr::null_mut();
                state.inside -= 1;
                if let Some((tables, counts)) = now {
                    state.counts = counts;
                    self.put_in_force(tables);
                    return;
                }
                drop(state);
                self.host.lost();
                return;
            }
        }
    }
}

/// While this lives, its thread may be unloading libraries.
struct Inside<'a, H: Host>(&'a InForce<H>);

impl<H: Host> Drop for Inside<'_, H> {
    fn drop(&mut self) {
        // This process may have become a child meanwhile.
        if !self.0.host.is_a_child() {
            self.0.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// A process that has memory and records nothing.
    struct Plain;

    impl Host for Plain {
        fn has_room(&self, _bytes: usize) -> bool {
            true
        }

        fn note(&self, _modules: &[Loaded]) {}

        fn note_code(&self, _modules: &[Loaded]) {}

        fn unloaded(&self) {}

        fn is_a_child(&self) -> bool {
            false
        }

        fn lost(&self) {}
    }

    #[test]
    fn tables_are_back_when_the_last_is_done() {
        static ALL: InForce<Plain> = InForce::new(Plain);
        let all = &ALL;
        all.look_at_modules();
        assert!(all.tables().is_some());
        let (entered, has_entered) = channel();
        let (go, may_go) = channel::<()>();
        let first = std::thread::spawn(move || {
            all.while_modules_change(|| {
                entered.send(()).expect("somebody waits");
                may_go.recv().expect("somebody says so");
            });
        });
        has_entered.recv().expect("the first one is inside");
        all.while_modules_change(|| {
            go.send(()).expect("the first one waits");
            first.join().expect("a thread that ends");
            assert!(all.tables().is_none(), "the second one is still inside");
        });
        assert!(all.tables().is_some());
        let left = std::panic::catch_unwind(|| {
            all.while_modules_change(|| {
                assert!(all.tables().is_none() && all.are_away());
                std::panic::panic_any(7);
            });
        });
        assert!(
            left.is_err() && all.tables().is_some(),
            "also when it is left early"
        );
        all.while_modules_change(|| all.end());
        assert!(all.tables().is_none(), "recording has ended meanwhile");
        assert!(!all.are_away());
    }
}
