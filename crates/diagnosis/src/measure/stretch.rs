//! A stretch of a team: what its threads do from one point where they come together to the next, and how the time of
//! the slowest one divides.

use headwater_dataflow::numbers::stats::{self, CONFIDENCE, stands_out, two_groups};

/// A thread must compute this many times as long as the others of its team to be late: ScalAna's `AbnormThd`, fixed,
/// because the time of a stretch does not depend on the user's options.
const STANDS_OUT: f64 = 1.3;

/// What a thread did in one stretch, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Thread within the rank.
    pub thread: u16,
    /// CPU time and time asleep, without waiting for other threads.
    pub busy: f64,
    /// Waiting for locks as it would be with a core for each thread.
    pub locked: f64,
    /// Waiting for the memory allocator, likewise.
    pub allocator: f64,
    /// Waiting for locks, as recorded.
    pub waited: f64,
    /// Waiting for the last of the team at the end, as recorded.
    pub at_end: f64,
}

/// Work of a team on one rank from one point where it comes together to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Rank.
    pub rank: u32,
    /// By thread.
    pub shares: Vec<Share>,
    /// Repetitions.
    pub repeats: u64,
    /// Seconds from the start until the last thread has arrived, if each thread had a core.
    pub duration: Option<f64>,
}

impl Stretch {
    /// The most seconds of a thread.
    pub fn slowest(&self, time: impl Fn(&Share) -> f64) -> f64 {
        self.shares.iter().map(time).fold(0.0, f64::max)
    }

    /// Mean computation of the threads, seconds.
    pub fn mean(&self) -> f64 {
        let all: f64 = self.shares.iter().map(|s| s.busy).sum();
        all / self.shares.len().max(1) as f64
    }

    /// Positions of the threads that compute clearly longer than the others.
    pub fn late(&self) -> Vec<usize> {
        let busy: Vec<f64> = self.shares.iter().map(|s| s.busy).collect();
        let groups = two_groups(&busy).filter(|g| stands_out(g, STANDS_OUT, 0.0));
        groups.map_or_else(Vec::new, |g| g.upper.iter().map(|i| *i as usize).collect())
    }

    /// Seconds that the slowest thread computes beyond the mean; 0 if that is scatter.
    pub fn imbalance(&self) -> f64 {
        if self.late().is_empty() {
            0.0
        } else {
            self.slowest(|s| s.busy) - self.mean()
        }
    }

    /// Standard error of the imbalance: that of the mean computation of the other threads.
    pub fn imbalance_error(&self) -> f64 {
        let late = self.late();
        let others = (0..).zip(&self.shares).filter(|(i, _)| !late.contains(i));
        let others: Vec<f64> = others.map(|(_, s)| s.busy).collect();
        if late.is_empty() || others.is_empty() {
            0.0
        } else {
            (stats::variance(&others) / others.len() as f64).sqrt()
        }
    }

    /// Seconds that waiting for locks adds. A thread that waits each time takes longer by that. If threads wait by
    /// turns, as the order in which they come changes, each waits at the lock for a part of it, and at the end for the
    /// thread whose turn it was to be last: the stretch itself was longer then. It was longer by at most the time that
    /// all threads waited for the lock. The lock is the reason only as far as they waited at the end for as long as at
    /// the lock.
    pub fn locks(&self) -> f64 {
        let (each, more, likely) = self.in_turn();
        each + likely * more
    }

    /// Standard error of the seconds that waiting for locks adds: from threads that wait by turns for a part of the
    /// time.
    pub fn locks_error(&self) -> f64 {
        let (_, more, likely) = self.in_turn();
        likely.min(1.0 - likely) * more / CONFIDENCE
    }

    /// The seconds that a thread takes longer because it waits each time, the seconds that waiting by turns may add,
    /// and how likely the latter are.
    fn in_turn(&self) -> (f64, f64, f64) {
        let own = self.slowest(|s| s.busy);
        let each = self.slowest(|s| s.busy + s.locked) - own;
        let sum = |of: fn(&Share) -> f64| self.shares.iter().map(of).sum::<f64>();
        let (locked, at_end) = (sum(|s| s.locked), sum(|s| s.at_end));
        match self.duration.filter(|_| locked > 0.0) {
            Some(all) => {
                let most = (all - own).min(locked);
                (each, (most - each).max(0.0), (at_end / locked).min(1.0))
            }
            None => (each, 0.0, 0.0),
        }
    }

    /// Seconds that waiting for the allocator adds.
    pub fn allocation(&self) -> f64 {
        self.slowest(|s| s.busy + s.locked + s.allocator) - self.slowest(|s| s.busy + s.locked)
    }
}
