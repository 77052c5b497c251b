//! Finds cores that the machine stopped: the clock of CPU time went on while nothing ran.
//!
//! The machine below the system may stop a core for a while, as a hypervisor stops the core of a virtual machine. The
//! clock of a thread's CPU time goes on, so that the time looks like work. But a working thread is sampled again and
//! again, and the time in which its core was stopped has a single sample. If one repetition of a stretch between two
//! calls is much longer than the others, and samples are missing for just that time, the difference is time without a
//! core. The sampling rate changes over a run, so samples are compared with those of other threads after the same call.

use crate::numbers::stats;
use crate::run::computed::Thread;
use headwater_model::rank::RankSet;
use headwater_model::run::{CtxId, Run};
use headwater_model::words;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// One repetition is examined if it is longer than usual by this many nanoseconds.
const LEAST: f64 = 1e7;

/// Samples must be missing for at least this share of its excess; if they are missing for more than the excess divided
/// by it, something else prevents samples.
const MOST: f64 = 0.6;

/// Least number of threads with samples after a call that show how often samples are taken there.
const SEVERAL: usize = 3;

/// Samples may be fewer than usual by this many standard errors by chance.
const BY_CHANCE: f64 = 2.0;

/// Computation of a thread after a call.
#[derive(Clone, Copy, Default)]
struct Stretch {
    busy: u64,
    count: u64,
    longest: u64,
    /// CPU time of its samples, nanoseconds, and their number.
    sampled: (f64, f64),
}

impl Stretch {
    /// Nanoseconds by which the longest repetition exceeds the mean of the others.
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

    /// Whether samples of this period are missing for the excess of the longest repetition. The stop itself has one
    /// sample, the first after it.
    fn stood_still(&self, period: f64) -> bool {
        let (cpu, n) = self.sampled;
        let missing = cpu - (n + 1.0) * period;
        let certain = missing - BY_CHANCE * n.sqrt() * period;
        self.is_longer_once() && certain >= MOST * self.once() && MOST * missing <= self.once()
    }
}

/// Nanoseconds in which cores were stopped, by thread and the preceding call.
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
    // Several threads must show the usual period.
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

/// The sentence about such time.
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

/// Removes such time from the busy time of a run's ranks. Returns a sentence about it, if there was any.
pub fn set_aside(run: &mut Run) -> Option<String> {
    let found = found(run);
    let said = sentence(run, &found)?;
    // The stop is removed where it was recorded: from the sample with the most time, from the longest repetition
    // between two calls, and from the event that is as long.
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
