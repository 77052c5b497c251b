//! The code that is loaded into the process: its unwind tables, and the modules that the spool names.

use crate::guest::{memory, recording};
use crate::libraries::{interpreter, mapped, runtimes};
use crate::storage::process_spool::{say, with_spool};
use headwater_call_path::{Host, InForce, Loaded, Tables};

/// The unwind tables of this process.
static IN_FORCE: InForce<This> = InForce::new(This);

/// What the unwind tables need of the process.
struct This;

impl Host for This {
    fn has_room(&self, bytes: usize) -> bool {
        memory::room(bytes)
    }

    fn note(&self, modules: &[Loaded]) {
        self.note_code(modules);
        runtimes::note_runtimes(modules);
        interpreter::note(modules);
    }

    fn note_code(&self, modules: &[Loaded]) {
        let rows: Vec<_> = modules.iter().map(|m| m.row).collect();
        with_spool(|spool| {
            spool.set_modules(&rows);
            Some(())
        });
        mapped::note(modules);
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
