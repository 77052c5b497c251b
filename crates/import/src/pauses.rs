//! When a thread of a trace was not recorded: somebody switched recording off, or the tracer wrote its buffers.
//!
//! Neither is in any figure, as a pause of `MPI_Pcontrol` is in none of a recorded run
//! (`collector/src/threads/thread/pauses.rs`). While recording is off the program goes on unseen, so ranks that were not paused alike
//! are not compared; while buffers are written it does not run, and nothing of it is missing.

/// Why nothing was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Recording was off.
    Off,
    /// The tracer wrote its buffers.
    Flush,
}

/// The stretches in which a thread was not recorded.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Beginnings and ends, apart from each other and in their order.
    all: Vec<(u64, u64)>,
    /// Those of them, or parts of them, that were flushes.
    flushes: Vec<(u64, u64)>,
    /// Those in which recording was off.
    offs: Vec<(u64, u64)>,
    off_since: Option<u64>,
    flush_since: Option<u64>,
}

/// Adds a stretch to some that are apart from each other.
fn add(to: &mut Vec<(u64, u64)>, (from, until): (u64, u64)) {
    if until <= from {
        return;
    }
    let first = to.partition_point(|p| p.1 < from);
    let behind = to.partition_point(|p| p.0 <= until);
    let touched = to.get(first..behind).unwrap_or(&[]);
    let from = touched.first().map_or(from, |p| p.0.min(from));
    let until = touched.last().map_or(until, |p| p.1.max(until));
    to.splice(first..behind.max(first), [(from, until)]);
}

/// How much of some stretches is between two moments.
fn between(all: &[(u64, u64)], from: u64, until: u64) -> u64 {
    let first = all.partition_point(|p| p.1 <= from);
    let these = all.iter().skip(first).take_while(|p| p.0 < until);
    let part = |p: &(u64, u64)| p.1.min(until).saturating_sub(p.0.max(from));
    these.map(part).sum()
}

impl Pauses {
    /// Whether nothing is recorded now.
    pub fn now(&self) -> bool {
        self.off_since.is_some() || self.flush_since.is_some()
    }

    /// Whether recording is off now, and the program goes on.
    pub fn is_off(&self) -> bool {
        self.off_since.is_some()
    }

    /// Nothing is recorded from `ns` on; returns whether that is new.
    pub fn begin(&mut self, why: Why, ns: u64) -> bool {
        let since = match why {
            Why::Off => &mut self.off_since,
            Why::Flush => &mut self.flush_since,
        };
        let new = since.is_none();
        since.get_or_insert(ns);
        new
    }

    /// Recording goes on at `ns`; returns whether it was not going on for that reason.
    pub fn end(&mut self, why: Why, ns: u64) -> bool {
        let (since, own) = match why {
            Why::Off => (&mut self.off_since, &mut self.offs),
            Why::Flush => (&mut self.flush_since, &mut self.flushes),
        };
        let Some(from) = since.take() else {
            return false;
        };
        add(own, (from, ns));
        add(&mut self.all, (from, ns));
        true
    }

    /// Takes over when recording was off for another thread of the process: that switch is the process's.
    pub fn off_with(&mut self, other: &Self) {
        for pause in &other.offs {
            add(&mut self.offs, *pause);
            add(&mut self.all, *pause);
        }
    }

    /// Nanoseconds between two moments in which nothing was recorded, what still lasts included.
    pub fn between(&self, from: u64, until: u64) -> u64 {
        let since = [self.off_since, self.flush_since].into_iter().flatten();
        let since = since.min().unwrap_or(u64::MAX);
        let lasts = until.saturating_sub(since.max(from));
        between(&self.all, from, until.min(since)).saturating_add(lasts)
    }

    /// Nanoseconds between two moments in which buffers were written.
    pub fn flushed(&self, from: u64, until: u64) -> u64 {
        between(&self.flushes, from, until)
    }

    /// How often recording was off between two moments.
    pub fn times_off(&self, from: u64, until: u64) -> u64 {
        let lasts = self.off_since.map(|since| (since, u64::MAX));
        let some = |p: &&(u64, u64)| p.1 > from && p.0 < until;
        self.offs.iter().chain(&lasts).filter(some).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_added_up_whatever_lies_in_them() {
        let mut pauses = Pauses::default();
        assert!(pauses.begin(Why::Off, 10) && !pauses.begin(Why::Off, 12));
        // A flush in the middle of a pause, one that reaches beyond it, and one for itself.
        for (from, until) in [(12, 14), (18, 25), (40, 41)] {
            if from == 18 {
                assert!(pauses.end(Why::Off, 20) && !pauses.now());
            }
            assert!(pauses.begin(Why::Flush, from) && pauses.end(Why::Flush, until));
        }
        assert!(!pauses.end(Why::Flush, 50), "none has begun");
        assert_eq!(pauses.all, [(10, 25), (40, 41)]);
        assert_eq!((pauses.between(0, 99), pauses.between(13, 24)), (16, 11));
        assert_eq!((pauses.flushed(0, 99), pauses.times_off(0, 99)), (10, 1));
        assert_eq!((pauses.times_off(20, 99), pauses.between(25, 40)), (0, 0));
        let mut worker = Pauses::default();
        worker.begin(Why::Off, 15);
        worker.end(Why::Off, 17);
        worker.off_with(&pauses);
        assert_eq!(worker.all, [(10, 20)]);
        assert!(worker.begin(Why::Off, 30) && worker.is_off());
        assert_eq!((worker.between(15, 40), worker.times_off(15, 40)), (15, 2));
    }
}
