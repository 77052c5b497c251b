//! The memory that recorders may take. All threads of a process share it.
//!
//! A recorder takes bytes before it needs them, so what all of them hold is never more than the budget. Vectors grow by
//! an eighth once they are large: one that doubles may need more than is left.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What the recorders of a process may take, unless the user allows more, MiB.
pub const USUAL_MEBIBYTES: u32 = 7;

/// Bytes that are left for the recorders of a process.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

impl Budget {
    /// So many bytes.
    pub const fn new(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// Bytes that nobody has taken.
    pub fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes bytes, if so many are left.
    pub fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    /// Takes bytes until what is returned is dropped, if so many are left.
    pub fn borrow(&self, bytes: usize) -> Option<Borrowed<'_>> {
        // Only a loan that was granted may be given back when it is dropped.
        self.take(bytes).then(|| Borrowed {
            budget: self,
            bytes,
        })
    }

    /// Gives bytes back that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Bytes that are given back when this is dropped, also if what they were for panics.
#[derive(Debug)]
pub struct Borrowed<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// What an allocator takes beside each piece of memory, bytes, on average: its own notes, and what it rounds up by.
pub const CHUNK: usize = 16;

/// Vectors of more bytes grow by an eighth.
const LARGE: usize = 4096;

/// A vector is in two places while it grows. Beyond so many bytes, that counts as memory. Below, what a process may take
/// beside its budget has room for one vector at a time.
const MOVED: usize = 512 << 10;

/// What a vector of so many bytes grows by.
fn growth(bytes: usize) -> usize {
    if bytes < LARGE { bytes } else { bytes / 8 }
}

/// Makes room for `more` elements.
#[inline]
pub fn make_room<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        let grow = growth(vec.capacity() * size_of::<T>()) / size_of::<T>().max(1);
        vec.reserve_exact(more.max(grow));
    }
}

/// Bytes that a vector takes, with what a large one needs to grow next.
pub fn bytes_of<T>(vec: &Vec<T>) -> usize {
    bytes_of_whole(vec)
        + match vec.capacity() * size_of::<T>() {
            bytes if bytes < LARGE => 0,
            bytes => growth(bytes) + bytes.saturating_sub(MOVED),
        }
}

/// Bytes that a vector takes which does not grow any more.
pub fn bytes_of_whole<T>(vec: &Vec<T>) -> usize {
    match vec.capacity() * size_of::<T>() {
        0 => 0,
        bytes => bytes + CHUNK,
    }
}

/// Bytes that are needed for `more` elements in addition to what [`bytes_of`] says.
pub fn needed<T>(vec: &Vec<T>, more: usize) -> usize {
    match vec.capacity() - vec.len() < more {
        true => more * size_of::<T>() + CHUNK + growth(vec.capacity() * size_of::<T>()),
        false => 0,
    }
}

/// Bytes of a hash map with this capacity, of entries of `entry` bytes.
pub fn map_bytes(capacity: usize, entry: usize) -> usize {
    match capacity {
        0 => 0,
        _ => (capacity.saturating_mul(8) / 7 + 1).next_power_of_two() / 2 * 2 * (entry + 1) + 16,
    }
}

/// Bytes that a hash map needs for one more entry while it has both its old and its new table.
pub fn map_needed(length: usize, capacity: usize, entry: usize) -> usize {
    match length < capacity {
        true => 0,
        false => map_bytes(capacity.max(3) * 2, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn a_refused_loan_gives_nothing_back() {
        let budget = Budget::new(10);
        assert!(budget.borrow(11).is_none());
        assert_eq!(budget.left(), 10);
        let loan = budget.borrow(4);
        assert_eq!(budget.left(), 6);
        drop(loan);
        assert_eq!(budget.left(), 10);
    }
}
