//! The code that is loaded into the process: its unwind tables, and the modules that the spool names.

use crate::guest::{memory, recording};
use crate::libraries::{interpreter, mapped, runtimes};
use crate::storage::process_spool::{say, with_spool};
use headwater_call_path::{Host, InForce, Loaded, Tables};
use headwater_format::spool::layout::ModuleRow;
use std::sync::{Mutex, PoisonError};

/// The unwind tables of this process.
static IN_FORCE: InForce<This> = InForce::new(This);

/// Modules as the spool names them.
static NOTED: Mutex<Vec<ModuleRow>> = Mutex::new(Vec::new());

/// So many modules that were unloaded keep their names.
const MOST_GONE: usize = 256;

/// Adds modules of `before` that were unloaded: samples may be in their code. One goes if another one is in its place.
fn with_those_gone(mut now: Vec<ModuleRow>, before: &[ModuleRow]) -> Vec<ModuleRow> {
    let loaded = now.len();
    for gone in before {
        let is_there = |m: &ModuleRow| m.start < gone.end && gone.start < m.end;
        if now.len() < loaded + MOST_GONE && !now.iter().any(is_there) {
            now.push(*gone);
        }
    }
    now
}

/// Whether a module is among others, at the same place.
fn is_in(rows: &[ModuleRow], row: &ModuleRow) -> bool {
    let same = |other: &ModuleRow| {
        (other.base, other.start, other.end) == (row.base, row.start, row.end)
            && (other.id, other.path) == (row.id, row.path)
    };
    rows.iter().any(same)
}

/// What the unwind tables need of the process.
struct This;

impl Host for This {
    fn has_room(&self, bytes: usize) -> bool {
        memory::room(bytes)
    }

    fn note(&self, modules: &[Loaded]) {
        self.note_code(modules);
        interpreter::note(modules);
    }

    fn note_code(&self, modules: &[Loaded]) {
        let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = with_those_gone(modules.iter().map(|m| m.row).collect(), &noted);
        // A program may open and close one library many times, and each table takes room.
        if rows.len() != noted.len() || !rows.iter().all(|row| is_in(&noted, row)) {
            with_spool(|spool| {
                spool.set_modules(&rows);
                Some(())
            });
            *noted = rows;
        }
        drop(noted);
        mapped::note(modules);
        runtimes::note_runtimes(modules);
    }

    fn unloaded(&self) {
        runtimes::forget();
    }

    fn is_a_child(&self) -> bool {
        recording::is_a_child()
    }

    fn lost(&self) {
        // Calls are still recorded, by their return addresses.
        say(
            "A rank had no memory to note what libraries it had loaded: from then on it took no samples.",
        );
    }
}

/// See [`InForce::tables`].
#[inline]
pub fn tables() -> Option<&'static Tables> {
    IN_FORCE.tables()
}

/// See [`InForce::are_away`].
#[inline]
pub fn are_away() -> bool {
    IN_FORCE.are_away()
}

/// See [`InForce::look_at_modules`].
pub fn look_at_modules() {
    IN_FORCE.look_at_modules();
}

/// See [`InForce::look_at_code`].
pub fn look_at_code() {
    IN_FORCE.look_at_code();
}

/// See [`InForce::note_code`].
pub fn note_code() {
    IN_FORCE.note_code();
}

/// See [`InForce::has_new`].
pub fn has_new() -> bool {
    IN_FORCE.has_new()
}

/// See [`InForce::while_modules_change`].
pub fn while_modules_change<T>(f: impl FnOnce() -> T) -> T {
    IN_FORCE.while_modules_change(f)
}

/// Records which libraries are loaded now.
pub fn note_modules() {
    IN_FORCE.note_modules();
}

/// From now on nothing is unwound.
pub fn end() {
    IN_FORCE.end();
}

/// The same in a child after `fork`.
pub fn leave_to_parent() {
    IN_FORCE.leave_to_parent();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_were_unloaded_keep_their_names_unless_others_are_in_their_place() {
        let module = |start, end| ModuleRow {
            base: start,
            start,
            end,
            id_bytes: 0,
            id: [0; 32],
            path: [0; 448],
        };
        let before = [module(0, 10), module(20, 30), module(40, 50)];
        let after = with_those_gone(vec![module(0, 10), module(45, 60)], &before);
        let starts: Vec<u64> = after.iter().map(|m| m.start).collect();
        assert_eq!(starts, [0, 45, 20]);
        let many: Vec<_> = (0..1000).map(|i| module(100 * i, 100 * i + 1)).collect();
        assert_eq!(
            with_those_gone(vec![module(5, 6)], &many).len(),
            1 + MOST_GONE
        );
    }
}
