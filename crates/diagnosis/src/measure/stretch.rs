//! A stretch of a team: what its threads do from one point where they come together to the next, and how the time of
//! the slowest one divides.

use headwater_dataflow::numbers::stats::{self, CONFIDENCE, stands_out, two_groups};

/// A thread must compute this many times as long as the others of its team to be late: ScalAna's `AbnormThd`, fixed,
/// because the time of a stretch does not depend on the user's options.
pub const STANDS_OUT: f64 = 1.3;

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
    /// Waiting for others of the team in all, as recorded, of a thread that was made for this stretch: after its end, too.
    pub idle: Option<f64>,
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
    /// Its threads, each with its rank.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u16)> {
        self.shares.iter().map(|t| (self.rank, t.thread))
    }

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

    /// Seconds that the slowest thread computes beyond the mean, as far as the others waited for it; 0 if that is scatter.
    pub fn imbalance(&self) -> f64 {
        let late = self.late();
        if late.is_empty() {
            return 0.0;
        }
        let excess = self.slowest(|s| s.busy) - self.mean();
        self.waited_for(&late)
            .map_or(excess, |most| excess.min(most))
    }

    /// The same where no thread is late, as far as others are known to have waited for the slowest.
    pub fn slight_imbalance(&self) -> f64 {
        let busy = |i: &usize| self.shares.get(*i).map_or(0.0, |s| s.busy);
        let all = 0..self.shares.len();
        let slowest = all.max_by(|a, b| busy(a).total_cmp(&busy(b)).then(b.cmp(a)));
        let Some(slowest) = slowest.filter(|_| self.late().is_empty()) else {
            return 0.0;
        };
        let others = (0..).zip(&self.shares).filter(|(i, _)| *i != slowest);
        let others: Vec<f64> = others.map(|(_, s)| s.at_end).collect();
        let at_end = stats::mean(&others) - self.shares.get(slowest).map_or(0.0, |s| s.at_end);
        let waited = self.waited_for(&[slowest]).unwrap_or(at_end);
        (self.slowest(|s| s.busy) - self.mean())
            .min(waited)
            .max(0.0)
    }

    /// How much longer the other threads waited than the slowest one, mean, seconds. Where threads outnumber cores, those
    /// that draw their work from a common pool compute as long as they happen to have cores, and none waits for it.
    fn waited_for(&self, late: &[usize]) -> Option<f64> {
        let idle: Option<Vec<f64>> = self.shares.iter().map(|s| s.idle).collect();
        let idle = idle?;
        let busy = |i: &usize| self.shares.get(*i).map_or(0.0, |s| s.busy);
        let slowest = late
            .iter()
            .copied()
            .max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
        let others = (0..).zip(&idle).filter(|(i, _)| !late.contains(i));
        let others: Vec<f64> = others.map(|(_, idle)| *idle).collect();
        Some((stats::mean(&others) - idle.get(slowest)?).max(0.0))
    }

    /// Standard error of the imbalance: that of the mean computation of the other threads, and the part `grown` of what
    /// the slowest computes, which may have been the machine's doing.
    pub fn imbalance_error(&self, grown: f64) -> f64 {
        let late = self.late();
        let others = (0..).zip(&self.shares).filter(|(i, _)| !late.contains(i));
        let others: Vec<f64> = others.map(|(_, s)| s.busy).collect();
        if late.is_empty() || others.is_empty() {
            0.0
        } else {
            let of_others = (stats::variance(&others) / others.len() as f64).sqrt();
            let part = others.len() as f64 / self.shares.len() as f64;
            of_others.hypot(part * grown * self.slowest(|s| s.busy) / CONFIDENCE)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads with their seconds of computation and of waiting for others.
    fn stretch(shares: &[(f64, Option<f64>)]) -> Stretch {
        let share = |(busy, idle): &(f64, Option<f64>)| Share {
            busy: *busy,
            idle: *idle,
            ..Share::default()
        };
        Stretch {
            shares: shares.iter().map(share).collect(),
            ..Stretch::default()
        }
    }

    #[test]
    fn a_thread_that_nobody_waited_for_is_not_late() {
        let of = |late: Option<f64>, others: Option<f64>| {
            let threads = [(3.0, late), (1.0, others), (1.0, others), (1.0, others)];
            stretch(&threads).imbalance()
        };
        // Nobody knows who waited.
        assert_eq!(of(None, None), 1.5);
        // Divided beforehand: the others ended earlier. With few cores, they waited for less than they would have.
        assert_eq!(of(Some(0.0), Some(4.0)), 1.5);
        assert_eq!(of(Some(0.0), Some(1.0)), 1.0);
        // A common pool: all end together, and the late one had more of the cores.
        assert_eq!(of(Some(0.0), Some(0.0)), 0.0);
        assert_eq!(of(Some(0.3), Some(0.1)), 0.0);
    }

    #[test]
    fn what_the_slowest_does_beyond_the_mean_counts_once() {
        let of = |busy: f64| {
            let s = stretch(&[(busy, Some(0.0)), (1.0, Some(4.0)), (1.0, Some(4.0))]);
            (s.imbalance(), s.slight_imbalance())
        };
        let (late, slight) = of(1.24);
        assert!(late == 0.0 && (slight - 0.16).abs() < 1e-12, "{slight}");
        let (late, slight) = of(1.6);
        assert!(slight == 0.0 && (late - 0.4).abs() < 1e-12, "{late}");
    }
}
