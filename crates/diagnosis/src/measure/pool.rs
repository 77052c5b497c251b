//! Several recordings of one scale as one run, so that differences between recordings average out.
//!
//! The computation between two MPI calls is the median over the recordings (of two, their mean). A stall of the machine
//! in one of three recordings therefore has no effect. Medians of parts do not add up to the median of the whole, so
//! each thread's computation is scaled to the median of its sums. If they are far apart, the recordings did not do the
//! same, and the thread's rows are those of the first recording.
//!
//! Samples divide this time over places. Those of all recordings count alike: each recording's samples after an MPI
//! call are scaled to its share of the pooled time there. A recording in which this time is far from the median does
//! not count there. Everything else (waits, messages, windows, threads without MPI calls) is that of the first
//! recording.

mod numbers;

use headwater_dataflow::numbers::stats;
use headwater_model::run::{CtxId, Run, Sample, Segment};
use numbers::Numbers;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Two calls around some computation of a thread.
type Between = (u16, CtxId, CtxId);

/// The median of a thread's sums over the sum of its medians, within which the recordings did the same.
const SAME: (f64, f64) = (0.8, 1.25);

/// How many times the pooled time, or which part of it, a recording's time after a call may be for its samples to
/// count.
const FAR: f64 = 1.5;

/// Time of some computation in one recording, nanoseconds; zeros where it did not happen.
#[derive(Clone, Copy, Default)]
struct Times {
    cpu: f64,
    blocked: f64,
    longest: f64,
    count: f64,
}

impl Times {
    fn of(s: &Segment) -> Self {
        Self {
            cpu: s.cpu_ns as f64,
            blocked: s.blocked_ns as f64,
            longest: s.max_busy_ns as f64,
            count: s.count as f64,
        }
    }
}

/// One run of several recordings of a scale; `None` where there is none. They measured the same things
/// ([`crate::explain::repeat`] sees to that).
pub fn pool(recordings: &[&Run]) -> Option<Run> {
    let (first, rest) = recordings.split_first()?;
    let mut out = Run::clone(first);
    if rest.is_empty() {
        return Some(out);
    }
    let n = recordings.len();
    let mut numbers = Numbers::new(&out);
    let ids: Vec<Vec<CtxId>> = recordings
        .iter()
        .map(|run| numbers.of(run, &mut out))
        .collect();
    let here = |i: usize, ctx: CtxId| -> CtxId {
        let known = ids.get(i).and_then(|ids| ids.get(ctx.index()?));
        known.copied().unwrap_or(CtxId::NONE)
    };
    (out.segments, out.samples) = Default::default();
    let segments: Vec<_> = (recordings.iter())
        .map(|r| by_rank(&r.segments, |s| s.rank))
        .collect();
    let samples: Vec<_> = (recordings.iter())
        .map(|r| by_rank(&r.samples, |s| s.rank))
        .collect();
    for info in &mut out.ranks {
        let mut of_rank = OfRank {
            n,
            times: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        let mut known: FxHashMap<Between, &Segment> = FxHashMap::default();
        for (i, rows) in segments.iter().enumerate() {
            for s in rows.get(&info.rank).into_iter().flatten() {
                let key = (s.thread, here(i, s.from), here(i, s.to));
                of_rank.take(i, key, s);
                if i == 0 {
                    known.insert(key, s);
                }
            }
        }
        for (i, rows) in samples.iter().enumerate() {
            for s in rows.get(&info.rank).into_iter().flatten() {
                let key = (s.thread, here(i, s.after), here(i, s.ctx));
                of_rank.samples.entry(key).or_default().push((i, s));
            }
        }
        let pooled = of_rank.pooled(&known);
        // What the rank computes less or more than in the first recording, it takes less or more.
        let changed = |all: u64, of: fn(&Segment) -> u64| {
            let (before, now) = (own(known.values().copied(), of), own(&pooled.0, of));
            all.saturating_add(now).saturating_sub(before)
        };
        info.wall_ns = changed(info.wall_ns, |s| s.cpu_ns.saturating_add(s.blocked_ns));
        info.cpu_ns = info.cpu_ns.map(|ns| changed(ns, |s| s.cpu_ns));
        let switches = recordings.iter().filter_map(|run| {
            let own = run.ranks.get(info.rank as usize);
            let own = own.filter(|own| own.rank == info.rank)?;
            own.voluntary_switches.map(|n| n as f64)
        });
        let switches: Vec<f64> = switches.collect();
        if switches.len() == n {
            info.voluntary_switches = Some(stats::median(&switches).round() as u64);
        }
        let rank = info.rank;
        out.segments
            .extend(pooled.0.into_iter().map(|s| Segment { rank, ..s }));
        out.samples
            .extend(pooled.1.into_iter().map(|s| Sample { rank, ..s }));
    }
    let longest = out.ranks.iter().map(|r| r.wall_ns).max();
    out.header.wall_seconds = longest.map_or(out.header.wall_seconds, |ns| ns as f64 * 1e-9);
    out.header.sampling_hz *= n as f64;
    out.header.recordings = n as u32;
    for run in rest {
        let new = run.header.missing.iter();
        let new: Vec<String> = new
            .filter(|said| !out.header.missing.contains(said))
            .cloned()
            .collect();
        out.header.missing.extend(new);
    }
    Some(out)
}

/// Nanoseconds of the thread that calls MPI.
fn own<'s>(segments: impl IntoIterator<Item = &'s Segment>, of: fn(&Segment) -> u64) -> u64 {
    let own = segments.into_iter().filter(|s| s.thread == 0);
    own.fold(0, |sum, s| sum.saturating_add(of(s)))
}

/// Rows by rank.
fn by_rank<T>(rows: &[T], rank: impl Fn(&T) -> u32) -> FxHashMap<u32, Vec<&T>> {
    let mut out: FxHashMap<u32, Vec<&T>> = FxHashMap::default();
    for row in rows {
        out.entry(rank(row)).or_default().push(row);
    }
    out
}

/// What one rank computed in `n` recordings.
struct OfRank<'a> {
    n: usize,
    times: BTreeMap<Between, Vec<Times>>,
    /// Samples with the number of their recording, by thread, the call before and the place.
    samples: BTreeMap<Between, Vec<(usize, &'a Sample)>>,
}

/// By how much the medians of a thread are multiplied: its CPU time and its sleep. `None` if the recordings did not do
/// the same.
type Factors = Option<(f64, f64)>;

impl OfRank<'_> {
    fn take(&mut self, recording: usize, key: Between, s: &Segment) {
        let all = self.times.entry(key);
        let all = all.or_insert_with(|| vec![Times::default(); self.n]);
        if let Some(times) = all.get_mut(recording) {
            *times = Times::of(s);
        }
    }

    /// Pooled segments and samples of the rank; `known` are the segments of the first recording.
    fn pooled(&self, known: &FxHashMap<Between, &Segment>) -> (Vec<Segment>, Vec<Sample>) {
        let mut factors: BTreeMap<u16, Factors> = BTreeMap::new();
        let all: Vec<(&Between, &Vec<Times>)> = self.times.iter().collect();
        for own in all.chunk_by(|a, b| a.0.0 == b.0.0) {
            if let Some(((thread, ..), _)) = own.first() {
                factors.insert(*thread, self.factors(own));
            }
        }
        let of_thread = |thread: u16| factors.get(&thread).copied().flatten();
        let mut segments = Vec::new();
        // Pooled time after each call of a thread.
        let mut after: FxHashMap<(u16, CtxId), Times> = FxHashMap::default();
        for (key, all) in &self.times {
            let segment = match of_thread(key.0) {
                Some(factors) => Some(segment(key, all, known.get(key).copied(), factors)),
                None => known.get(key).map(|s| Segment {
                    from: key.1,
                    to: key.2,
                    ..(*s).clone()
                }),
            };
            if let Some(segment) = segment {
                let sum = after.entry((key.0, key.1)).or_default();
                sum.cpu += segment.cpu_ns as f64;
                sum.blocked += segment.blocked_ns as f64;
                segments.push(segment);
            }
        }
        let shares = self.shares(&after);
        let mut samples = Vec::new();
        for ((thread, from, ctx), all) in &self.samples {
            let shares = shares.get(&(*thread, *from));
            let is_pooled = of_thread(*thread).is_some();
            let mut row = Sample {
                thread: *thread,
                after: *from,
                ctx: *ctx,
                ..Sample::default()
            };
            for (recording, s) in all {
                let share = match (is_pooled, shares) {
                    (true, Some(shares)) => shares.get(*recording).copied().unwrap_or_default(),
                    (true, None) => (1.0 / self.n as f64, 1.0 / self.n as f64),
                    (false, _) if *recording == 0 => (1.0, 1.0),
                    (false, _) => continue,
                };
                add(&mut row, s, share);
            }
            if row.count > 0 || row.blocked_ns > 0 {
                samples.push(row);
            }
        }
        (segments, samples)
    }

    /// The factors of one thread, of which this is the computation.
    fn factors(&self, own: &[(&Between, &Vec<Times>)]) -> Factors {
        let factor = |of: fn(&Times) -> f64| {
            let sum = |i: usize| own.iter().filter_map(|(_, all)| all.get(i)).map(of).sum();
            let sums: Vec<f64> = (0..self.n).map(sum).collect();
            let parts: f64 = own.iter().map(|(_, all)| middle(all, of)).sum();
            let whole = stats::median(&sums);
            (whole, if parts > 0.0 { whole / parts } else { 0.0 })
        };
        let (cpu, by_cpu) = factor(|t| t.cpu);
        let (slept, by_sleep) = factor(|t| t.blocked);
        let is_same = |by: f64| (SAME.0..=SAME.1).contains(&by);
        // Sleep that is little beside the computation may come anywhere.
        let sleeps = slept > (SAME.1 - 1.0) * cpu;
        let same = is_same(by_cpu) && (is_same(by_sleep) || !sleeps);
        let by_sleep = if is_same(by_sleep) { by_sleep } else { 1.0 };
        same.then_some((by_cpu, by_sleep))
    }

    /// By thread and call: what each recording's samples after it are multiplied by, for CPU time and for sleep, so
    /// that they add up to the pooled time and all recordings count alike.
    fn shares(
        &self,
        pooled: &FxHashMap<(u16, CtxId), Times>,
    ) -> FxHashMap<(u16, CtxId), Vec<(f64, f64)>> {
        let mut sampled: FxHashMap<(u16, CtxId), Vec<Times>> = FxHashMap::default();
        for ((thread, from, _), all) in &self.samples {
            let sums = sampled.entry((*thread, *from));
            let sums = sums.or_insert_with(|| vec![Times::default(); self.n]);
            for (i, s) in all {
                if let Some(sum) = sums.get_mut(*i) {
                    sum.cpu += s.cpu_ns as f64;
                    sum.blocked += s.blocked_ns as f64;
                }
            }
        }
        let mut measured: FxHashMap<(u16, CtxId), Vec<Times>> = FxHashMap::default();
        for ((thread, from, _), all) in &self.times {
            let sums = measured.entry((*thread, *from));
            let sums = sums.or_insert_with(|| vec![Times::default(); self.n]);
            for (sum, times) in sums.iter_mut().zip(all) {
                sum.cpu += times.cpu;
                sum.blocked += times.blocked;
            }
        }
        let none = vec![Times::default(); self.n];
        let of_call = |(key, sampled): (&(u16, CtxId), &Vec<Times>)| {
            let whole = pooled.get(key).copied().unwrap_or_default();
            let measured = measured.get(key).unwrap_or(&none);
            let each = |of: fn(&Times) -> f64| {
                let (sampled, measured): (Vec<f64>, Vec<f64>) = (
                    sampled.iter().map(of).collect(),
                    measured.iter().map(of).collect(),
                );
                divided(of(&whole), &sampled, &measured)
            };
            let (cpu, blocked) = (each(|t| t.cpu), each(|t| t.blocked));
            (*key, cpu.into_iter().zip(blocked).collect())
        };
        sampled.iter().map(of_call).collect()
    }
}

/// What each recording's samples are multiplied by to have their share of the pooled time, given what each of them
/// sampled and measured.
fn divided(pooled: f64, sampled: &[f64], measured: &[f64]) -> Vec<f64> {
    let is_near = |m: &f64| *m <= FAR * pooled && *m * FAR >= pooled;
    let has = |(s, m): (&f64, &f64)| *s > 0.0 && is_near(m);
    let mut counts: Vec<bool> = sampled.iter().zip(measured).map(has).collect();
    if !counts.contains(&true) {
        counts = sampled.iter().map(|s| *s > 0.0).collect();
    }
    let n = counts.iter().filter(|c| **c).count().max(1) as f64;
    let factor = |(s, counts): (&f64, bool)| if counts { pooled / (n * s) } else { 0.0 };
    sampled.iter().zip(counts).map(factor).collect()
}

/// Adds the samples of a recording to a row, with its shares of CPU time and sleep.
fn add(row: &mut Sample, s: &Sample, (cpu, blocked): (f64, f64)) {
    let scaled = |ns: u64, by: f64| (ns as f64 * by).round() as u64;
    row.blocked_ns = row.blocked_ns.saturating_add(scaled(s.blocked_ns, blocked));
    if cpu <= 0.0 {
        return;
    }
    row.count = row.count.saturating_add(s.count);
    row.cpu_ns = row.cpu_ns.saturating_add(scaled(s.cpu_ns, cpu));
    row.counters
        .resize(row.counters.len().max(s.counters.len()), 0);
    for (sum, growth) in row.counters.iter_mut().zip(&s.counters) {
        *sum = sum.saturating_add(scaled(*growth, cpu));
    }
}

/// Pooled computation between two calls; `known` is that of the first recording, for all but its times.
fn segment(
    &(thread, from, to): &Between,
    all: &[Times],
    known: Option<&Segment>,
    (cpu, blocked): (f64, f64),
) -> Segment {
    let ns = |of: fn(&Times) -> f64, factor: f64| (middle(all, of) * factor).round() as u64;
    let mut one = known.cloned().unwrap_or_default();
    let besides = one
        .wall_ns
        .saturating_sub(one.cpu_ns.saturating_add(one.blocked_ns));
    (one.thread, one.from, one.to) = (thread, from, to);
    one.cpu_ns = ns(|t| t.cpu, cpu);
    one.blocked_ns = ns(|t| t.blocked, blocked);
    let busy = one.cpu_ns.saturating_add(one.blocked_ns);
    one.count = ns(|t| t.count, 1.0).max(1);
    one.wall_ns = busy.saturating_add(besides);
    one.max_busy_ns = ns(|t| t.longest, 1.0).min(busy);
    one
}

fn middle(all: &[Times], of: fn(&Times) -> f64) -> f64 {
    stats::median(&all.iter().map(of).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests;
