//! The counters of a thread: how much each has grown between two readings, and where.

use super::{Shared, Thread};
use headwater_format::spool::layout::MOST_COUNTERS;

/// What is known of counters.
#[derive(Default)]
pub struct Counters {
    /// The last readings.
    last: [Option<u64>; MOST_COUNTERS],
    /// Whether the counter has grown, up to its next reading, where nothing was recorded.
    unseen: [bool; MOST_COUNTERS],
}

impl Counters {
    /// What grows until the next reading is not counted.
    pub fn forget(&mut self) {
        (self.last, self.unseen) = ([None; MOST_COUNTERS], [true; MOST_COUNTERS]);
    }
}

impl Thread {
    /// A counter was read.
    pub fn counter(&mut self, shared: &mut Shared<'_>, which: usize, value: u64) {
        let Some(slot) = self.counters.last.get_mut(which) else {
            return;
        };
        let before = slot.replace(value).unwrap_or(value);
        self.grown(shared, which, value.saturating_sub(before));
    }

    /// A counter is recorded to have grown since it was last recorded.
    pub fn counter_grew(&mut self, shared: &mut Shared<'_>, which: usize, by: u64) {
        let unseen = self.counters.unseen.get_mut(which);
        if unseen.is_some_and(std::mem::take) {
            return;
        }
        self.grown(shared, which, by);
    }

    fn grown(&mut self, shared: &mut Shared<'_>, which: usize, by: u64) {
        let computes = self.call.is_none() && !self.over && !self.pauses.now();
        if by == 0 || !computes || self.now <= shared.init_ns {
            return;
        }
        if let Some(sum) = self.sample(shared).counters.get_mut(which) {
            *sum = sum.saturating_add(by);
        }
    }
}
