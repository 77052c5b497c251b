//! The times of an event while it is being recorded.
//!
//! Where a program's calls hardly repeat, most events of a compressed row ran a few times. Three histograms would take
//! most of the memory of the trace, so the times of such events are kept as they came. The histograms that they become
//! are the same, whenever they become them.

use crate::budget::{CHUNK, bytes_of};
use crate::times::{Delta, TICK, Times};
use std::slice::ChunksExact;

/// So many times are kept as they came. The three histograms take almost twice as much memory as these.
const MOST: usize = 16;

/// The times of an event behind another one.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// As they came, while they are few.
    few: Vec<Short>,
    /// All of them, once they are more.
    many: Option<Box<Times>>,
}

/// The times of an event in ticks, each below 2³².
#[derive(Clone, Copy, Debug)]
pub struct Short {
    wall: u32,
    cpu: u32,
    call: u32,
}

impl Short {
    /// `None` if this would change them.
    #[inline]
    fn of(delta: Delta) -> Option<Self> {
        let ticks = |nanoseconds: u64| match nanoseconds % TICK {
            0 => u32::try_from(nanoseconds / TICK).ok(),
            _ => None,
        };
        Some(Self {
            wall: ticks(delta.wall)?,
            cpu: ticks(delta.cpu)?,
            call: ticks(delta.call)?,
        })
    }
}

impl From<Short> for Delta {
    #[inline]
    fn from(short: Short) -> Self {
        let nanoseconds = |ticks: u32| u64::from(ticks) * TICK;
        Self {
            wall: nanoseconds(short.wall),
            cpu: nanoseconds(short.cpu),
            call: nanoseconds(short.call),
        }
    }
}

impl Durations {
    /// Whether so many more can be kept as they come.
    fn has_room(&self, more: usize) -> bool {
        self.many.is_none() && self.few.len() + more <= MOST
    }

    /// Makes room for so many more, which [`Self::has_room`] allows.
    fn make_room(&mut self, more: usize) {
        let (length, room) = (self.few.len(), self.few.capacity());
        if room - length < more {
            let grow = room.max(more).min(MOST - length);
            self.few.reserve_exact(grow);
        }
    }

    /// Counts an event.
    pub fn add(&mut self, delta: Delta) {
        match self.has_room(1).then(|| Short::of(delta)).flatten() {
            Some(short) => {
                self.make_room(1);
                self.few.push(short);
            }
            None => self.counted().add(delta),
        }
    }

    /// Counts the event at a position in each of several iterations of a loop.
    pub fn add_all(&mut self, iterations: ChunksExact<Delta>, at: usize) {
        match self.has_room(iterations.len()) {
            true => {
                self.make_room(iterations.len());
                let all = iterations.filter_map(|deltas| deltas.get(at));
                all.for_each(|delta| self.add(*delta));
            }
            false => self.counted().add_all(iterations, at),
        }
    }

    /// Counts all that another one has. Both may be smaller than the histograms that they become; the difference is
    /// less than what the node of the other one takes, which is dropped then.
    pub fn merge(&mut self, other: &Self) {
        match other.many.is_none() && self.has_room(other.few.len()) {
            true => {
                self.make_room(other.few.len());
                self.few.extend_from_slice(&other.few);
            }
            false => other.add_to(self.counted()),
        }
    }

    /// Adds them to histograms.
    pub fn add_to(&self, times: &mut Times) {
        self.few.iter().for_each(|short| times.add((*short).into()));
        if let Some(many) = &self.many {
            times.merge(many);
        }
    }

    /// The histograms of all of them, from now on.
    fn counted(&mut self) -> &mut Times {
        let few = std::mem::take(&mut self.few);
        let many = self.many.get_or_insert_default();
        few.iter().for_each(|short| many.add((*short).into()));
        many
    }

    /// Bytes of memory, itself not included.
    pub fn memory(&self) -> usize {
        let histograms = self.many.as_ref().map_or(0, |_| size_of::<Times>() + CHUNK);
        bytes_of(&self.few) + histograms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(durations: &Durations) -> Times {
        let mut times = Times::default();
        durations.add_to(&mut times);
        times
    }

    fn ticks() -> impl Strategy<Value = u64> {
        (0..90_u64).prop_map(|n| n * TICK)
    }

    fn delta(one: fn() -> BoxedStrategy<u64>) -> impl Strategy<Value = Delta> {
        (one(), one(), one()).prop_map(|(wall, cpu, call)| Delta { wall, cpu, call })
    }

    /// All can be kept as they come; or some are no ticks, and some too long.
    fn rows() -> impl Strategy<Value = Vec<Vec<Delta>>> {
        let mixed =
            || prop_oneof![20 => ticks(), 1 => 0..900_u64, 1 => 1_u64 << 37..1 << 39].boxed();
        let rows = |one| prop::collection::vec(prop::collection::vec(delta(one), 0..40), 1..8);
        prop_oneof![rows(|| ticks().boxed()), rows(mixed)]
    }

    proptest! {
        #[test]
        fn they_are_the_histograms_of_all_times(rows in rows(), length in 1_usize..4, merged in 1_usize..4) {
            let mut all = Durations::default();
            let mut later = Durations::default();
            let mut plain = Times::default();
            for (n, row) in rows.iter().enumerate() {
                let whole = match n % 2 {
                    0 => {
                        row.iter().for_each(|delta| later.add(*delta));
                        row.len()
                    }
                    _ => {
                        (0..length).for_each(|at| later.add_all(row.chunks_exact(length), at));
                        row.len() / length * length
                    }
                };
                row.iter().take(whole).for_each(|delta| plain.add(*delta));
                prop_assert!(later.few.capacity() <= MOST);
                if n % merged == 0 {
                    all.merge(&std::mem::take(&mut later));
                    prop_assert!(all.few.capacity() <= MOST);
                }
            }
            all.merge(&later);
            prop_assert_eq!(counted(&all), plain);
        }
    }

    #[test]
    fn few_times_take_no_more_room_than_they_may() {
        for parts in [&[15, 1][..], &[5, 5, 1], &[7, 9], &[1, 15], &[9, 6]] {
            let mut all = Durations::default();
            for part in parts {
                let mut one = Durations::default();
                (0..*part).for_each(|_| one.add(Delta::default()));
                all.merge(&one);
            }
            assert!(
                all.few.capacity() <= MOST && all.many.is_none(),
                "{parts:?}"
            );
        }
    }

    #[test]
    fn few_take_less_memory_than_histograms() {
        let mut durations = Durations::default();
        for n in 1..=MOST as u64 {
            durations.add(Delta {
                wall: n * TICK,
                ..Delta::default()
            });
            assert!(durations.many.is_none());
            assert!(durations.memory() < size_of::<Times>() * 2 / 3);
        }
        durations.add(Delta::default());
        assert!(durations.many.is_some() && durations.few.capacity() == 0);
    }
}
