//! The spool of this process.

use crate::storage::spool::Spool;
use headwater_format::spool::layout::{self, put_text};
use std::sync::Mutex;

/// Taken only for rare events, such as the start of a thread, a new table or communicator, a pause and the end. Never
/// taken on the common path of a call.
static SPOOL: Mutex<Option<Spool>> = Mutex::new(None);

/// Runs `f` with the spool, if there is one.
pub fn with_spool<T>(f: impl FnOnce(&mut Spool) -> Option<T>) -> Option<T> {
    SPOOL.lock().ok()?.as_mut().and_then(f)
}

/// From now on this is the spool of the process. Returns `false` if that is not possible.
pub fn set(spool: Spool) -> bool {
    SPOOL.lock().is_ok_and(|mut place| {
        *place = Some(spool);
        true
    })
}

/// Removes the spool, and its file.
pub fn remove() {
    if let Ok(mut place) = SPOOL.lock()
        && let Some(spool) = place.take()
    {
        spool.remove();
    }
}

/// Adds a sentence to the notes about what could not be measured.
pub fn say(note: &str) {
    with_spool(|spool| {
        let notes = &mut spool.header().notes;
        if layout::text(notes).lines().any(|said| said == note) {
            return Some(());
        }
        let used = notes.iter().position(|b| *b == 0).unwrap_or(notes.len());
        let text = if used == 0 {
            note.to_string()
        } else {
            format!("\n{note}")
        };
        put_text(notes.get_mut(used..)?, text.as_bytes());
        Some(())
    });
}
