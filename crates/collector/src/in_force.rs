//! The unwind tables in force.
//!
//! They point into libraries. So no tables are in force while a thread may be unloading a library.

use crate::memory;
use crate::modules::{Loaded, loaded, removals};
use crate::openmp;
use crate::process::{self, with_spool};
use crate::unwind::Tables;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Without this many bytes of memory, nobody looks up which libraries are loaded.
const ROOM_TO_LOOK: usize = 2 << 20;

/// Attempts to look, if other threads unload libraries during each. After the last one, the tables in force stay.
const MOST_LOOKS: usize = 4;

static TABLES: AtomicPtr<Tables> = AtomicPtr::new(std::ptr::null_mut());

/// Whether there are any, in force or set aside.
static THERE: AtomicBool = AtomicBool::new(false);

/// What else is known about them. It is locked only for moments, and never while the loader is asked for something.
struct State {
    /// Threads that may be unloading libraries.
    inside: u32,
    /// How often this was locked, and so may have been changed.
    changes: u64,
    /// Tables that are set aside until the last of those threads is done; null for none.
    away: *mut Tables,
    /// How many libraries had been unloaded when the tables, in force or set aside, were made.
    removals: u64,
}

// SAFETY: tables are only read, and never freed.
unsafe impl Send for State {}

static STATE: Mutex<State> = Mutex::new(State {
    inside: 0,
    changes: 0,
    away: std::ptr::null_mut(),
    removals: 0,
});

fn state() -> MutexGuard<'static, State> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.changes += 1;
    state
}

/// The tables in force; `None` before recording begins, after it has ended, and while libraries may be unloaded.
#[inline]
pub fn tables() -> Option<&'static Tables> {
    // SAFETY: null or a leaked box, which is never freed.
    unsafe { TABLES.load(Ordering::Acquire).as_ref() }
}

/// If no tables are in force: whether they are only set aside for the moment.
pub fn are_away() -> bool {
    THERE.load(Ordering::Acquire)
}

/// Puts these tables in force. The caller holds the lock.
fn put_in_force(tables: *mut Tables) {
    THERE.store(true, Ordering::Release);
    TABLES.store(tables, Ordering::Release);
}

/// Records which libraries are loaded now.
pub fn note_modules() -> Option<Vec<Loaded>> {
    if !memory::room(ROOM_TO_LOOK) {
        return None;
    }
    let modules = loaded();
    let rows: Vec<_> = modules.iter().map(|m| m.row).collect();
    with_spool(|spool| {
        spool.set_modules(&rows);
        Some(())
    });
    openmp::note_runtimes(&modules);
    Some(modules)
}

/// Makes tables of what is loaded now, and returns how many libraries had been unloaded.
fn made() -> Option<(*mut Tables, u64)> {
    let removals = removals();
    let tables = Tables::new(&note_modules()?);
    Some((Box::into_raw(Box::new(tables)), removals))
}

/// Records libraries that were opened since the last look. From now on their code can be unwound.
pub fn look_at_modules() {
    for _ in 0..MOST_LOOKS {
        let changes = state().changes;
        // The old tables stay: a signal handler may be using them.
        let Some((tables, removals)) = made() else {
            return;
        };
        let mut state = state();
        if state.inside > 0 {
            // The last thread that is done checks whether libraries were unloaded since.
            (state.away, state.removals) = (tables, removals);
            THERE.store(true, Ordering::Release);
            return;
        }
        // If something has changed since, a library that the tables point into may be gone.
        if state.changes == changes + 1 {
            state.removals = removals;
            put_in_force(tables);
            return;
        }
    }
}

/// From now on nothing is unwound.
pub fn end() {
    let mut state = state();
    state.away = std::ptr::null_mut();
    THERE.store(false, Ordering::Release);
    TABLES.store(std::ptr::null_mut(), Ordering::Release);
}

/// The same in a child after `fork`.
pub fn leave_to_parent() {
    TABLES.store(std::ptr::null_mut(), Ordering::Release);
}

/// Runs `f`, which may unload libraries. Nothing is unwound until all threads that do so are done. If libraries were
/// unloaded, the tables are then created again. This also holds if a cancellation or an exception ends `f`.
pub fn while_modules_change<T>(f: impl FnOnce() -> T) -> T {
    // In a child process, the lock may be held by a thread that does not exist there, and the file is its parent's.
    if process::is_a_child() {
        return f();
    }
    enter();
    let _inside = Inside;
    f()
}

/// While this lives, its thread may be unloading libraries.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        // This process may have become a child meanwhile.
        if !process::is_a_child() {
            leave();
        }
    }
}

fn enter() {
    let mut state = state();
    state.inside += 1;
    let tables = TABLES.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !tables.is_null() {
        state.away = tables;
    }
}

fn leave() {
    loop {
        let (changes, tables, before) = {
            let mut state = state();
            if state.inside > 1 || state.away.is_null() {
                state.inside -= 1;
                return;
            }
            (state.changes, state.away, state.removals)
        };
        let now = if removals() == before {
            Some((tables, before))
        } else {
            openmp::forget();
            std::panic::catch_unwind(made).ok().flatten()
        };
        let mut state = state();
        // Another thread may have changed the state in between.
        if state.changes == changes + 1 {
            state.away = std::ptr::null_mut();
            state.inside -= 1;
            if let Some((tables, removals)) = now {
                state.removals = removals;
                put_in_force(tables);
                return;
            }
            drop(state);
            // Calls are still recorded, by their return addresses.
            process::say(
                "A rank had no memory to note what libraries it had loaded: from then on it took no samples.",
            );
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn tables_are_back_when_the_last_is_done() {
        look_at_modules();
        assert!(tables().is_some());
        let (entered, has_entered) = channel();
        let (go, may_go) = channel::<()>();
        let first = std::thread::spawn(move || {
            while_modules_change(|| {
                entered.send(()).expect("somebody waits");
                may_go.recv().expect("somebody says so");
            });
        });
        has_entered.recv().expect("the first one is inside");
        while_modules_change(|| {
            go.send(()).expect("the first one waits");
            first.join().expect("a thread that ends");
            assert!(tables().is_none(), "the second one is still inside");
        });
        assert!(tables().is_some());
        let left = std::panic::catch_unwind(|| {
            while_modules_change(|| {
                assert!(tables().is_none() && are_away());
                std::panic::panic_any(7);
            });
        });
        assert!(
            left.is_err() && tables().is_some(),
            "also when it is left early"
        );
        while_modules_change(end);
        assert!(tables().is_none(), "recording has ended meanwhile");
        assert!(!are_away());
    }
}
