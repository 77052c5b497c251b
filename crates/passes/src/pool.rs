//! Several recordings of one scale as one run, so that what differs from recording to recording averages out.
//!
//! What ranks compute between two MPI calls is the median over the recordings (of two their mean): a stall of the machine
//! that one recording has is in none of three. Each rank's computation is then brought to the median of its sums, as medians
//! of parts do not add up to the median of the whole. Samples are those of all recordings, each for its share of the time: with
//! more samples, their division over places is more exact. Everything else (waits, messages, windows, threads) is that of the
//! first recording.

use crate::stats;
use headwater_model::run::{Context, CtxId, Module, Run, Sample, Segment, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Rank, thread, and the two calls around some computation.
type Between = (u32, u16, CtxId, CtxId);

/// Time of some computation in one recording, nanoseconds; nothing where it did not come.
#[derive(Clone, Copy, Default)]
struct Times {
    cpu: f64,
    blocked: f64,
    longest: f64,
    count: f64,
}

/// Whether two recordings measured the same things, so that their figures can be averaged.
fn is_alike(a: &Run, b: &Run) -> bool {
    let of = |run: &Run| {
        (
            run.header.ranks,
            run.header.pauses(),
            run.header.incomplete.clone(),
        )
    };
    of(a) == of(b) && a.header.counters == b.header.counters
}

/// One run of several recordings of a scale; `None` where there is none. Those that measured something else than the first
/// one are left out.
pub fn pool(recordings: &[&Run]) -> Option<Run> {
    let (first, rest) = recordings.split_first()?;
    let alike = rest.iter().filter(|run| is_alike(first, run));
    let others: Vec<&Run> = alike.copied().collect();
    let mut out = Run::clone(first);
    if others.is_empty() {
        return Some(out);
    }
    let n = 1 + others.len();
    let mut places = Places::new(&out);
    let mut between: BTreeMap<Between, Vec<Times>> = BTreeMap::new();
    let mut samples: BTreeMap<Between, Sample> = BTreeMap::new();
    for (i, run) in std::iter::once(*first).chain(others).enumerate() {
        let ids = places.of(run, &mut out);
        let here = |ctx: CtxId| ctx.index().and_then(|i| ids.get(i)).copied();
        let here = |ctx| here(ctx).unwrap_or(CtxId::NONE);
        for s in &run.segments {
            let key = (s.rank, s.thread, here(s.from), here(s.to));
            let all = between.entry(key);
            let all = all.or_insert_with(|| vec![Times::default(); n]);
            if let Some(times) = all.get_mut(i) {
                *times = Times {
                    cpu: s.cpu_ns as f64,
                    blocked: s.blocked_ns as f64,
                    longest: s.max_busy_ns as f64,
                    count: s.count as f64,
                };
            }
        }
        for s in &run.samples {
            let key = (s.rank, s.thread, here(s.after), here(s.ctx));
            add(samples.entry(key).or_default(), s, key);
        }
    }
    let known = std::mem::take(&mut out.segments);
    out.segments = segments(&known, &between, n);
    for s in samples.values_mut() {
        let part = |ns: &mut u64| *ns /= n as u64;
        part(&mut s.cpu_ns);
        part(&mut s.blocked_ns);
        s.counters.iter_mut().for_each(part);
    }
    out.samples = samples.into_values().collect();
    out.header.sampling_hz *= n as f64;
    Some(out)
}

/// Adds the samples of a recording to a row.
fn add(row: &mut Sample, s: &Sample, key: Between) {
    (row.rank, row.thread, row.after, row.ctx) = key;
    row.count = row.count.saturating_add(s.count);
    row.cpu_ns = row.cpu_ns.saturating_add(s.cpu_ns);
    row.blocked_ns = row.blocked_ns.saturating_add(s.blocked_ns);
    row.counters
        .resize(row.counters.len().max(s.counters.len()), 0);
    for (sum, growth) in row.counters.iter_mut().zip(&s.counters) {
        *sum = sum.saturating_add(*growth);
    }
}

/// The computation of all ranks, of `n` recordings; `known` is that of the first one, for all but its times.
fn segments(known: &[Segment], between: &BTreeMap<Between, Vec<Times>>, n: usize) -> Vec<Segment> {
    let known: FxHashMap<Between, &Segment> = (known.iter())
        .map(|s| ((s.rank, s.thread, s.from, s.to), s))
        .collect();
    let mut out = Vec::new();
    let of_threads: Vec<(&Between, &Vec<Times>)> = between.iter().collect();
    for own in of_threads.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
        let whole = |of: fn(&Times) -> f64| {
            let sum = |i: usize| own.iter().filter_map(|(_, all)| all.get(i)).map(of).sum();
            let sums: Vec<f64> = (0..n).map(sum).collect();
            let parts: f64 = own.iter().map(|(_, all)| middle(all, of)).sum();
            if parts > 0.0 {
                stats::median(&sums) / parts
            } else {
                1.0
            }
        };
        let (cpu, blocked) = (whole(|t| t.cpu), whole(|t| t.blocked));
        for (key, all) in own {
            let ns = |of: fn(&Times) -> f64, factor: f64| (middle(all, of) * factor).round() as u64;
            let mut one = known
                .get(*key)
                .map_or_else(Segment::default, |s| (*s).clone());
            let besides = one.wall_ns.saturating_sub(one.cpu_ns + one.blocked_ns);
            (one.rank, one.thread, one.from, one.to) = **key;
            one.cpu_ns = ns(|t| t.cpu, cpu);
            one.blocked_ns = ns(|t| t.blocked, blocked);
            one.count = ns(|t| t.count, 1.0).max(1);
            one.wall_ns = one.busy_ns() + besides;
            one.max_busy_ns = ns(|t| t.longest, 1.0).min(one.busy_ns());
            out.push(one);
        }
    }
    out
}

fn middle(all: &[Times], of: fn(&Times) -> f64) -> f64 {
    stats::median(&all.iter().map(of).collect::<Vec<f64>>())
}

/// Numbers of the calling contexts of a pooled run.
struct Places {
    modules: FxHashMap<Module, u32>,
    contexts: FxHashMap<Context, CtxId>,
}

impl Places {
    /// Those of the first recording.
    fn new(run: &Run) -> Self {
        Self {
            modules: (run.modules.iter().cloned()).zip(0..).collect(),
            contexts: (run.contexts.iter().copied())
                .zip((0..).map(CtxId))
                .collect(),
        }
    }

    /// The numbers of another recording's contexts, by its own; what is new is added to `out`.
    fn of(&mut self, run: &Run, out: &mut Run) -> Vec<CtxId> {
        let module = |m: &Module| {
            *self.modules.entry(m.clone()).or_insert_with(|| {
                out.modules.push(m.clone());
                out.modules.len() as u32 - 1
            })
        };
        let modules: Vec<u32> = run.modules.iter().map(module).collect();
        let here = |module: u32| modules.get(module as usize).copied().unwrap_or(u32::MAX);
        let mut ids: Vec<CtxId> = Vec::with_capacity(run.contexts.len());
        for context in &run.contexts {
            // A parent stands before its children.
            let parent = context.parent.index().and_then(|i| ids.get(i)).copied();
            let context = Context {
                parent: parent.unwrap_or(CtxId::NONE),
                module: here(context.module),
                ..*context
            };
            ids.push(*self.contexts.entry(context).or_insert_with(|| {
                out.contexts.push(context);
                CtxId(out.contexts.len() as u32 - 1)
            }));
        }
        let symbol = |s: &Symbol| Symbol {
            module: here(s.module),
            ..s.clone()
        };
        out.symbols.extend(run.symbols.iter().map(symbol));
        let place = |s: &Symbol| (s.module, s.offset);
        out.symbols.sort_by_key(place);
        out.symbols.dedup_by_key(|s| place(s));
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(contexts: &[u64], times: [(u32, u64); 3]) -> Run {
        let context = |offset: &u64| Context {
            parent: CtxId::NONE,
            module: 0,
            offset: *offset,
            exact: true,
        };
        let segment = |(ctx, ms): (u32, u64)| Segment {
            from: CtxId(ctx),
            to: CtxId(ctx),
            count: 1,
            wall_ns: ms * 1_000_000,
            cpu_ns: ms * 1_000_000,
            max_busy_ns: ms * 1_000_000,
            ..Segment::default()
        };
        let sample = |(ctx, ms): (u32, u64)| Sample {
            after: CtxId(ctx),
            ctx: CtxId(ctx),
            count: 1,
            cpu_ns: ms * 1_000_000,
            ..Sample::default()
        };
        let mut run = Run {
            modules: vec![Module::default()],
            contexts: contexts.iter().map(context).collect(),
            segments: times.map(segment).to_vec(),
            samples: times.map(sample).to_vec(),
            ..Run::default()
        };
        run.header.ranks = 1;
        run.header.sampling_hz = 200.0;
        run
    }

    /// Milliseconds by offset.
    fn times(run: &Run) -> Vec<(u64, u64)> {
        let of = |s: &Segment| (run.contexts[s.from.0 as usize].offset, s.cpu_ns / 1_000_000);
        run.segments.iter().map(of).collect()
    }

    #[test]
    fn one_recording_stays_what_it_is() {
        let one = run(&[1, 2, 3], [(0, 5), (1, 6), (2, 7)]);
        assert_eq!(pool(&[&one]), Some(one.clone()));
        let mut twice = pool(&[&one, &one]).expect("a run");
        assert_eq!(twice.header.sampling_hz, 400.0);
        assert!(twice.samples.iter().all(|s| s.count == 2));
        assert_eq!(twice.segments, one.segments);
        twice.samples.iter_mut().for_each(|s| s.count = 1);
        assert_eq!(twice.samples, one.samples);
        assert_eq!(pool(&[]), None);
    }

    #[test]
    fn places_are_the_same_whatever_their_numbers() {
        let a = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
        let b = run(&[3, 9, 1], [(0, 30), (1, 20), (2, 10)]);
        let both = pool(&[&a, &b]).expect("a run");
        assert_eq!(both.contexts.len(), 4);
        assert_eq!(times(&both), [(1, 10), (2, 10), (3, 30), (9, 10)]);
        assert_eq!(both.samples.len(), 4);
    }

    #[test]
    fn a_stall_of_one_recording_is_in_none_of_three() {
        let usual = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
        let stalled = run(&[1, 2, 3], [(0, 10), (1, 90), (2, 30)]);
        let all = pool(&[&stalled, &usual, &usual]).expect("a run");
        assert_eq!(times(&all), times(&usual));
    }

    #[test]
    fn parts_add_up_to_the_usual_whole() {
        // Each recording computes for 60 ms, elsewhere each time.
        let runs = [(0, 40), (1, 40), (2, 40)].map(|(most, ms)| {
            run(
                &[1, 2, 3],
                [0, 1, 2].map(|i| (i, if i == most { ms } else { 10 })),
            )
        });
        let all = pool(&runs.iter().collect::<Vec<_>>()).expect("a run");
        let sum: u64 = all.segments.iter().map(|s| s.cpu_ns).sum();
        assert_eq!(sum, 60_000_000);
    }

    #[test]
    fn what_measured_something_else_is_left_out() {
        let a = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
        let mut b = run(&[1, 2, 3], [(0, 50), (1, 50), (2, 50)]);
        b.header.counters = vec!["cycles".into()];
        assert_eq!(pool(&[&a, &b]), Some(a));
    }
}
