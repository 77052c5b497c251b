//! Cores that stood still: CPU time that went on by the clock while nothing ran.
//!
//! The machine under the system may stop a core for a while, as that of a virtual machine does. The clock of a thread's CPU
//! time goes on, so that the time looks like work. But a thread that works is sampled again and again, and of time in
//! which its core stood still there is a single sample. Where one repetition of a stretch between two calls is that much
//! longer than the others, and samples are missing for just that, the difference is time without a core. How often samples
//! come changes over a run, so they are compared with those of other threads after the same call.

use crate::cores::Thread;
use crate::stats;
use headwater_model::rank::RankSet;
use headwater_model::run::{CtxId, Run};
use headwater_model::words;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Nanoseconds by which one repetition must be longer than usual to be looked at.
const LEAST: f64 = 1e7;

/// Share of what it is longer by that samples must be missing for; for more than that divided by it something else takes
/// samples away.
const MOST: f64 = 0.6;

/// Threads that must have samples after a call to tell how often they come there.
const SEVERAL: usize = 3;

/// Standard errors by which samples may be fewer than usual by chance.
const BY_CHANCE: f64 = 2.0;

/// What a thread does after a call.
#[derive(Clone, Copy, Default)]
struct Stretch {
    busy: u64,
    count: u64,
    longest: u64,
    /// CPU time of its samples, nanoseconds, and their number.
    sampled: (f64, f64),
}

impl Stretch {
    /// Nanoseconds by which the longest repetition is longer than the others are on the mean.
    fn once(&self) -> f64 {
        let others = self.count.saturating_sub(1).max(1) as f64;
        self.longest as f64 - self.busy.saturating_sub(self.longest) as f64 / others
    }

    fn is_longer_once(&self) -> bool {
        self.count > 1 && self.once() >= LEAST && self.sampled.1 > 0.0
    }

    /// CPU time of a sample, nanoseconds.
    fn period(&self) -> Option<f64> {
        (self.sampled.1 > 0.0).then(|| self.sampled.0 / self.sampled.1)
    }

    /// Whether samples of this period are missing for what the longest repetition is longer by. The stop itself has one
    /// sample, the first after it.
    fn stood_still(&self, period: f64) -> bool {
        let (cpu, n) = self.sampled;
        let missing = cpu - (n + 1.0) * period;
        let certain = missing - BY_CHANCE * n.sqrt() * period;
        self.is_longer_once() && certain >= MOST * self.once() && MOST * missing <= self.once()
    }
}

/// Nanoseconds in which cores stood still, by thread and the call after which they did.
fn found(run: &Run) -> BTreeMap<(Thread, CtxId), u64> {
    let mut stretches: FxHashMap<(Thread, CtxId), Stretch> = FxHashMap::default();
    for s in &run.segments {
        let own = stretches.entry(((s.rank, s.thread), s.from)).or_default();
        own.busy += s.busy_ns();
        own.count += s.count;
        own.longest = own.longest.max(s.max_busy_ns);
    }
    for s in &run.samples {
        if let Some(own) = stretches.get_mut(&((s.rank, s.thread), s.after)) {
            own.sampled.0 += s.cpu_ns as f64;
            own.sampled.1 += f64::from(s.count);
        }
    }
    let mut periods: FxHashMap<CtxId, Vec<f64>> = FxHashMap::default();
    let longer = stretches.iter().filter(|(_, s)| s.is_longer_once());
    for ((_, after), _) in longer {
        periods.entry(*after).or_default();
    }
    for ((_, after), s) in &stretches {
        if let (Some(all), Some(period)) = (periods.get_mut(after), s.period()) {
            all.push(period);
        }
    }
    // Most of those that come there must tell the usual one.
    periods.retain(|_, all| all.len() >= SEVERAL);
    let periods: FxHashMap<CtxId, f64> = periods
        .into_iter()
        .map(|(after, all)| (after, stats::median(&all)))
        .collect();
    let stop = |(key, s): (&(Thread, CtxId), &Stretch)| {
        let period = periods.get(&key.1)?;
        s.stood_still(*period).then(|| (*key, s.once() as u64))
    };
    stretches.iter().filter_map(stop).collect()
}

/// What to say of such time.
fn sentence(run: &Run, found: &BTreeMap<(Thread, CtxId), u64>) -> Option<String> {
    let ranks: RankSet = found.keys().map(|((rank, _), _)| *rank).collect();
    let most = found.values().max()?;
    let who = words::ranks(&ranks, run.header.ranks, 40);
    Some(format!(
        "With {}, the machine seems to have stopped the core of {who} for up to {}: CPU time passed there without samples. It is counted as waiting for a core.",
        words::count(run.header.ranks as usize),
        words::seconds(*most as f64 * 1e-9)
    ))
}

/// Takes such time out of what the ranks of a run were busy. Gives what to say of it, if there was some.
pub fn set_aside(run: &mut Run) -> Option<String> {
    let found = found(run);
    let said = sentence(run, &found)?;
    // The stop is taken out where it was recorded: in the sample with the most time, in the longest repetition between two
    // calls, and in the event that is as long.
    let mut samples: FxHashMap<(Thread, CtxId), (u64, usize)> = FxHashMap::default();
    for (i, s) in run.samples.iter().enumerate() {
        let key = ((s.rank, s.thread), s.after);
        let each = s.cpu_ns / u64::from(s.count.max(1));
        if found.contains_key(&key) {
            let known = samples.entry(key).or_insert((each, i));
            if each > known.0 {
                *known = (each, i);
            }
        }
    }
    for (key, (_, i)) in samples {
        if let (Some(s), Some(ns)) = (run.samples.get_mut(i), found.get(&key)) {
            s.cpu_ns = s.cpu_ns.saturating_sub(*ns);
        }
    }
    let mut segments: FxHashMap<(Thread, CtxId), usize> = FxHashMap::default();
    let longest = |i: usize| run.segments.get(i).map_or(0, |s| s.max_busy_ns);
    for (i, s) in run.segments.iter().enumerate() {
        let key = ((s.rank, s.thread), s.from);
        if found.contains_key(&key) {
            let known = segments.entry(key).or_insert(i);
            if s.max_busy_ns > longest(*known) {
                *known = i;
            }
        }
    }
    let mut stops: FxHashMap<Thread, Vec<(u64, u64)>> = FxHashMap::default();
    for (key, i) in segments {
        if let (Some(s), Some(ns)) = (run.segments.get_mut(i), found.get(&key)) {
            let ns = (*ns).min(s.cpu_ns);
            stops.entry(key.0).or_default().push((s.max_busy_ns, ns));
            s.cpu_ns -= ns;
            s.runq_ns += ns;
            s.max_busy_ns = s.max_busy_ns.saturating_sub(ns);
        }
    }
    for e in &mut run.events {
        let own = stops.get(&(e.rank, e.thread)).into_iter().flatten();
        if let Some((_, ns)) = own
            .max()
            .filter(|stop| e.busy_ns as f64 >= MOST * stop.0 as f64)
        {
            e.busy_ns = e.busy_ns.saturating_sub(*ns);
        }
    }
    Some(said)
}
