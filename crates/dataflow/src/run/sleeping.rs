//! Limits the sleep of ranks to what is possible.
//!
//! A rank that sleeps gives its core up, and the system counts that as a voluntary context switch. So a rank cannot
//! have slept in more repetitions of its computation than it has such switches. Recordings say how often each stretch
//! between two calls was repeated and how long the longest repetition was: the two limit how long the rank can have
//! slept. Time off the core beyond that is waiting for a core, for example because a hypervisor took it.

use crate::run::computed::Thread;
use crate::run::cores::{self, Cut};
use headwater_model::run::{CtxId, Run, Segment};
use rustc_hash::FxHashMap;

/// Removes time off the core that cannot be sleep from the busy time of a run's ranks.
pub fn set_aside(run: &mut Run) {
    let mut cut: FxHashMap<(Thread, CtxId), Cut> = FxHashMap::default();
    let counted: FxHashMap<u32, u64> = run
        .ranks
        .iter()
        .filter_map(|r| Some((r.rank, r.voluntary_switches?)))
        .collect();
    let mut by_rank: FxHashMap<u32, Vec<&Segment>> = FxHashMap::default();
    for s in run.segments.iter().filter(|s| s.blocked_ns > 0) {
        by_rank.entry(s.rank).or_default().push(s);
    }
    for (rank, segments) in by_rank {
        let Some(switches) = counted.get(&rank) else {
            continue;
        };
        for (s, slept) in segments.iter().zip(possible(&segments, *switches)) {
            let beyond = s.blocked_ns.saturating_sub(slept);
            if beyond > 0 {
                let after = cut.entry(((rank, s.thread), s.from)).or_default();
                after.asleep += beyond;
            }
        }
    }
    if !cut.is_empty() {
        cores::shorten(run, &cut);
    }
    let never = |rank: u32| counted.get(&rank) == Some(&0);
    for s in run.samples.iter_mut().filter(|s| never(s.rank)) {
        s.blocked_ns = 0;
    }
    for t in run.teams.iter_mut().filter(|t| never(t.rank)) {
        t.runq_ns += std::mem::take(&mut t.blocked_ns);
    }
}

/// Nanoseconds that a rank with `switches` voluntary context switches can have slept in each of its `segments`.
fn possible(segments: &[&Segment], switches: u64) -> Vec<u64> {
    let longest = |s: &Segment| {
        if s.max_busy_ns > 0 {
            s.max_busy_ns
        } else {
            s.busy_ns()
        }
    };
    let most = |s: &Segment, switches: u64| {
        let repetitions = s.count.max(1).min(switches);
        longest(s).saturating_mul(repetitions).min(s.blocked_ns)
    };
    let own: Vec<u64> = segments.iter().map(|s| most(s, switches)).collect();
    // All segments share the switches: the most is sleep in the longest repetitions.
    let mut order: Vec<&Segment> = segments.to_vec();
    order.sort_by_key(|s| std::cmp::Reverse(longest(s)));
    let (mut left, mut together) = (switches, 0u64);
    for s in order {
        together = together.saturating_add(longest(s).saturating_mul(s.count.max(1).min(left)));
        left = left.saturating_sub(s.count.max(1));
    }
    let all: u64 = own.iter().fold(0, |sum, s| s.saturating_add(sum));
    if all <= together {
        return own;
    }
    let share = together as f64 / all as f64;
    own.iter().map(|s| (*s as f64 * share) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(count: u64, blocked: u64, longest: u64) -> Segment {
        Segment {
            count,
            wall_ns: blocked,
            blocked_ns: blocked,
            max_busy_ns: longest,
            ..Default::default()
        }
    }

    #[test]
    fn what_switches_can_explain_is_all_that_can_be_sleep() {
        let (often, once) = (segment(100, 1_000, 10), segment(1, 500, 500));
        let both = [&often, &once];
        assert_eq!(possible(&both, 0), [0, 0]);
        assert_eq!(possible(&both, 200), [1_000, 500]);
        for switches in 0..200 {
            let slept = possible(&both, switches);
            assert!(slept[0] <= 1_000 && slept[1] <= 500);
            let most = if switches > 0 {
                500 + (switches - 1) * 10
            } else {
                0
            };
            assert!(slept.iter().sum::<u64>() <= most, "{switches}: {slept:?}");
        }
    }
}
