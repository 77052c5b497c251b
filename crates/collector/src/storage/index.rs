//! Finds rows of a table by the hash of their key: open addressing, in memory that is reserved once.
//!
//! The index grows without an allocation, because the signal handler makes it grow too. Each generation has twice as
//! many slots as the one before and is behind it: a generation of `n` slots is in the slots `n` to `2 n`. So only the
//! pages of those in use cost memory, and the pages of an old generation are returned to the system. A slot has a
//! part of the hash beside the row. So a slot can be moved without reading the row, and rows that cannot match are
//! skipped.

use crate::guest::memory::{self, Pages};

/// Slots of the first generation; a power of two.
const FIRST: usize = 512;

/// Rows by their hash.
pub struct Index {
    slots: Pages,
    /// Slots of this generation; 0 for an index that finds nothing.
    len: usize,
    /// Rows that are in it.
    rows: usize,
}

/// The word in a slot: the row, and the part of the hash above it. 0 is a free slot.
fn entry(hash: u64, row: u32) -> u64 {
    hash & !u64::from(u32::MAX) | (u64::from(row) + 1)
}

impl Index {
    /// The index of a table of so many rows; `None` if there is no memory for it.
    pub fn new(capacity: u32) -> Option<Self> {
        let last = (capacity as usize / 3 * 4 + 4)
            .next_power_of_two()
            .max(FIRST);
        Some(Self {
            slots: Pages::new(2 * last)?,
            len: FIRST,
            rows: 0,
        })
    }

    /// The index of a table that is not searched.
    pub const fn none() -> Self {
        Self {
            slots: Pages::NONE,
            len: 0,
            rows: 0,
        }
    }

    /// The slot to look at for a hash, `step` slots after the first one.
    #[inline]
    fn slot(&self, hash: u64, step: usize) -> usize {
        self.len + (((hash >> 32) as usize + step) & (self.len - 1))
    }

    /// The row for which `same` holds among those with `hash`, or else the free slot for it; `None` for an index that
    /// finds nothing.
    #[inline]
    pub fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<Result<u32, usize>> {
        let slots = self.slots.words();
        // At least a quarter is free, so a free slot ends every search.
        for step in 0..self.len {
            let at = self.slot(hash, step);
            let found = *slots.get(at)?;
            let Some(row) = (found as u32).checked_sub(1) else {
                return Some(Err(at));
            };
            if found >> 32 == hash >> 32 && same(row) {
                return Some(Ok(row));
            }
        }
        None
    }

    /// Puts a row with `hash` into the free slot that [`Index::find`] returned.
    #[inline]
    pub fn put(&mut self, at: usize, hash: u64, row: u32) {
        if let Some(slot) = self.slots.words_mut().get_mut(at) {
            *slot = entry(hash, row);
            self.rows += 1;
        }
        if 4 * self.rows > 3 * self.len {
            self.grow();
        }
    }

    /// Moves to the next generation. There is one as long as the table has room.
    #[cold]
    fn grow(&mut self) {
        let old = self.len..2 * self.len;
        if 4 * self.len > self.slots.words().len() {
            return;
        }
        self.len *= 2;
        for from in old.clone() {
            let Some(&moved) = self.slots.words().get(from).filter(|s| **s != 0) else {
                continue;
            };
            if let Some(Err(at)) = self.find(moved, |_| false)
                && let Some(slot) = self.slots.words_mut().get_mut(at)
            {
                *slot = moved;
            }
        }
        memory::give_back(&mut self.slots, old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::hash::mix2;

    #[test]
    fn every_row_is_found_while_it_grows_and_none_that_is_not_there() {
        const ROWS: u32 = 20_000;
        let key = |row: u32| mix2(u64::from(row), 7);
        let mut index = Index::new(ROWS).expect("memory");
        for row in 0..ROWS {
            let Some(Err(at)) = index.find(key(row), |r| r == row) else {
                panic!("row {row} is there before it is put")
            };
            index.put(at, key(row), row);
            for known in [0, row / 2, row] {
                assert_eq!(index.find(key(known), |r| r == known), Some(Ok(known)));
            }
        }
        assert_eq!(index.len, (ROWS / 3 * 4).next_power_of_two() as usize);
        let kept = index.slots.words().iter().filter(|s| **s != 0).count();
        // What pages hold beside the ends of a generation may stay.
        assert!(kept < ROWS as usize + 2 * 4096 / 8, "{kept}");
    }

    #[test]
    fn rows_of_one_hash_stand_beside_each_other() {
        let mut index = Index::new(10).expect("memory");
        for row in 0..10 {
            let at = index.find(0, |r| r == row).and_then(Result::err);
            index.put(at.expect("a free slot"), 0, row);
        }
        assert!((0..10).all(|row| index.find(0, |r| r == row) == Some(Ok(row))));
        assert!(Index::none().find(0, |_| true).is_none());
    }
}
