//! Computation that takes longer in some executions than in others.
//!
//! A trace has how long a rank computes at a place in all, and a histogram of the executions of all ranks. A simulation
//! gives each execution of a rank the rank's mean. If the slow rank is another one in each iteration, all ranks have the
//! same mean, and the waits for the slow one are not simulated. The histogram shows that executions were longer than the
//! mean of the slowest rank. Outliers that the trace has one by one are simulated as they were.

use crate::recorded::Recorded;
use headwater_trace::times::BUCKETS;
use headwater_trace::trace::{Body, Node};
use rustc_hash::FxHashMap;

/// Executions that were longer than the mean of the slowest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changing {
    /// The place where most of it is.
    pub place: u32,
    /// How many.
    pub executions: u64,
    /// By how much they were longer, seconds of a rank: at least so much, as buckets have lower ends.
    pub seconds: f64,
}

impl Recorded<'_> {
    /// What the means of ranks hide; `None` if nothing.
    pub fn changing(&self) -> Option<Changing> {
        // The place of a segment, and the largest part of the mean of all ranks that a rank has.
        let mut slowest: FxHashMap<(u32, u64, u64), (u32, f64)> = FxHashMap::default();
        for ((stream, before, signature), segment) in &self.survey.segments {
            let thread = self.streams.get(*stream as usize).map_or(0, |s| s.1);
            let own = slowest.entry((thread, *before, *signature));
            let own = own.or_insert((segment.place, segment.factor));
            own.1 = own.1.max(segment.factor);
        }
        let mut all = Vec::new();
        let outliers = &self.survey.outliers;
        for (thread, row) in &self.trace.streams {
            beyond(row, *thread, &slowest, outliers, &mut all);
        }
        let sum: f64 = all.iter().map(|longer| longer.nanoseconds).sum();
        let most = all.iter().max_by(|a, b| {
            let longer = a.nanoseconds.total_cmp(&b.nanoseconds);
            longer.then(b.place.cmp(&a.place))
        })?;
        Some(Changing {
            place: most.place,
            executions: all.iter().map(|longer| longer.executions).sum(),
            seconds: sum / self.ranks().max(1) as f64 * 1e-9,
        })
    }
}

/// Executions at a place, of all ranks, that are longer than the mean of the slowest rank.
struct Longer {
    place: u32,
    executions: u64,
    nanoseconds: f64,
}

fn beyond(
    row: &[Node],
    thread: u32,
    slowest: &FxHashMap<(u32, u64, u64), (u32, f64)>,
    outliers: &FxHashMap<(u32, u64, u64), [u32; BUCKETS]>,
    all: &mut Vec<Longer>,
) {
    for node in row {
        let event = match &node.body {
            Body::Loop(row) => {
                beyond(row, thread, slowest, outliers, all);
                continue;
            }
            Body::Event(event) => event,
        };
        for (before, times) in &event.times {
            let Some((place, factor)) = slowest.get(&(thread, *before, event.signature)) else {
                continue;
            };
            let mean = times.cpu.mean() * factor;
            let mut longer = Longer {
                place: *place,
                executions: 0,
                nanoseconds: 0.0,
            };
            let known = outliers.get(&(thread, *before, event.signature));
            let known = known.copied().unwrap_or_default();
            let unknown = times.cpu.buckets.iter().zip(known);
            let unknown = unknown.map(|(n, known)| n.saturating_sub(known));
            for (b, n) in unknown.enumerate().skip(1) {
                // Bucket `b` begins with 4^(b - 1).
                let begin = (2.0 * (b as f64 - 1.0)).exp2();
                if begin > mean && n > 0 {
                    longer.executions += u64::from(n);
                    longer.nanoseconds += f64::from(n) * (begin - mean);
                }
            }
            if longer.executions > 0 {
                all.push(longer);
            }
        }
    }
}
