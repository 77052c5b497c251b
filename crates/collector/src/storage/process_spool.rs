//! The spool of this process.

use crate::guest::{clock, uncancelled};
use crate::storage::spool::Spool;
use headwater_format::spool::layout::{self, FileHeader, STOP_DONE, put_text};
use headwater_model::hash::mix2;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, TryLockError};

/// Taken only for rare events, such as the start of a thread, a new table or communicator, a pause and the end. Never
/// taken on the common path of a call.
static SPOOL: Mutex<Option<Spool>> = Mutex::new(None);

/// Runs `f` with the spool, if there is one.
pub fn with_spool<T>(f: impl FnOnce(&mut Spool) -> Option<T>) -> Option<T> {
    SPOOL.lock().ok()?.as_mut().and_then(f)
}

/// The same for a signal handler, which may have interrupted the thread that has the spool: then nothing is run.
pub fn try_with_spool<T>(f: impl FnOnce(&mut Spool) -> Option<T>) -> Option<T> {
    SPOOL.try_lock().ok()?.as_mut().and_then(f)
}

/// Its header; null if there is none.
static HEADER: AtomicPtr<FileHeader> = AtomicPtr::new(std::ptr::null_mut());

/// The header of the spool, for those who may take no lock: a process that ends in a signal handler. Others write
/// fields of their own.
pub fn header() -> *mut FileHeader {
    HEADER.load(Ordering::Acquire)
}

/// What `headwater stop` has written into the header, or the process when it did as asked.
fn stop() -> u64 {
    let header = header();
    if header.is_null() {
        return 0;
    }
    // SAFETY: the header is in our mapping, which is there until the process ends. Another process writes this word.
    unsafe { (&raw const (*header).stop).read_volatile() }
}

/// Whether `headwater stop` has asked this process to end its recording, also if it has done so.
pub fn is_asked_to_stop() -> bool {
    stop() != 0
}

/// Whether this process has ended its recording because it was asked to.
pub fn has_stopped() -> bool {
    stop() == STOP_DONE
}

/// Whether nobody has the spool, or whoever has it gives it back soon. A signal handler may have interrupted the thread
/// that has it; that one never does.
pub fn is_free_soon() -> bool {
    (0..50).any(|_| {
        let free = !matches!(SPOOL.try_lock(), Err(TryLockError::WouldBlock));
        if !free {
            uncancelled::wait_briefly();
        }
        free
    })
}

/// From now on this is the spool of the process. Returns `false` if that is not possible.
pub fn set(spool: Spool) -> bool {
    HEADER.store(spool.header(), Ordering::Release);
    SPOOL.lock().is_ok_and(|mut place| {
        *place = Some(spool);
        true
    })
}

/// A number that no other file has: neither of another job in this directory nor of an earlier one.
pub fn file_number() -> u64 {
    let process = u64::from(std::process::id());
    mix2(clock::unix_base().wrapping_add(clock::now()), process).max(1)
}

/// Removes the spool, and its file.
pub fn remove() {
    if let Ok(mut place) = SPOOL.lock()
        && let Some(spool) = place.take()
    {
        HEADER.store(std::ptr::null_mut(), Ordering::Release);
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
        append(notes, note);
        Some(())
    });
}

/// Adds a sentence to notes that may have some. Neither allocates nor locks.
pub fn append(notes: &mut [u8], note: &str) {
    let used = notes.iter().position(|b| *b == 0).unwrap_or(notes.len());
    let begin = used + usize::from(used > 0);
    if used > 0 && begin < notes.len() {
        put_text(notes.get_mut(used..).unwrap_or_default(), b"\n");
    }
    if let Some(free) = notes.get_mut(begin..) {
        put_text(free, note.as_bytes());
    }
}

/// Takes a sentence out of the notes.
pub fn take_back(note: &str) {
    with_spool(|spool| {
        let notes = &mut spool.header().notes;
        let all = layout::text(notes);
        let others: Vec<&str> = all.lines().filter(|said| *said != note).collect();
        notes.fill(0);
        put_text(notes, others.join("\n").as_bytes());
        Some(())
    });
}
