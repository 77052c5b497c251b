//! Places of a program in virtual time: calls, and computation between two of them.

use rustc_hash::FxHashMap;

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Calls with a signature, by its identity in the trace.
    Call(u64),
    /// Computation between calls of two signatures.
    Between {
        /// The call before; [`headwater_trace::trace::BEGIN`] at the beginning.
        before: u64,
        /// The call after.
        after: u64,
    },
    /// Computation at a place in the source, by the caller's number.
    Source(u32),
}

/// Places by number.
#[derive(Clone, Debug, Default)]
pub struct Places {
    all: Vec<Place>,
    numbers: FxHashMap<Place, u32>,
}

impl Places {
    /// The place with a number.
    pub fn get(&self, number: u32) -> Option<Place> {
        self.all.get(number as usize).copied()
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Place)> {
        (0..).zip(self.all.iter().copied())
    }

    /// The number of a place.
    pub fn number(&self, place: Place) -> Option<u32> {
        self.numbers.get(&place).copied()
    }

    pub(crate) fn add(&mut self, place: Place) -> u32 {
        *self.numbers.entry(place).or_insert_with(|| {
            self.all.push(place);
            self.all.len() as u32 - 1
        })
    }
}
