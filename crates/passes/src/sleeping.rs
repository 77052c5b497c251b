//! Limits the sleep of ranks to what is possible, and decides the class of a cause with sleep.
//!
//! A rank that sleeps gives its core up, and the system counts that as a voluntary context switch. So a rank cannot
//! have slept in more repetitions of its computation than it has such switches. Recordings say how often each stretch
//! between two calls was repeated and how long the longest repetition was: the two limit how long the rank can have
//! slept. Time off the core beyond that is waiting for a core, for example because a hypervisor took it.

use crate::cores::{self, Cut, Thread};
use crate::stats;
use crate::timing::scatter;
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::{CtxId, Run, Segment};
use rustc_hash::FxHashMap;

/// The excess of late ranks counts as sleep if more than this share of it is sleep.
const MOST: f64 = 0.5;

/// The class of computation that takes some ranks `excess` seconds longer, of which they sleep `asleep` seconds. A
/// stall that `happened_once` is a one-off, asleep or not, unless the ranks sleep `often`.
pub fn class(asleep: f64, excess: f64, happened_once: bool, often: bool) -> CauseClass {
    let is_sleep = asleep > MOST * excess;
    if happened_once && !(is_sleep && often) {
        CauseClass::OneOff
    } else if is_sleep {
        CauseClass::SystemCallOrIo
    } else {
        CauseClass::UnevenWork
    }
}

/// The voluntary context switches of frequent sleep exceed the median of the other ranks by this number, plus this many
/// times the others' scatter.
const MANY: (f64, f64) = (16.0, 4.0);

/// Whether ranks gave their cores up so much more often in the whole run than the others that they did not sleep only
/// once, even if all their sleep is between the same two calls.
pub fn is_often(run: &Run, late: &[u32]) -> bool {
    let switches = |is_late: bool| -> Vec<f64> {
        let of = run
            .ranks
            .iter()
            .filter(|r| late.contains(&r.rank) == is_late);
        of.filter_map(|r| Some(r.voluntary_switches? as f64))
            .collect()
    };
    let (own, others) = (switches(true), switches(false));
    let least = own.iter().copied().fold(f64::INFINITY, f64::min);
    let many = stats::median(&others) + MANY.0 + MANY.1 * scatter(&others);
    !own.is_empty() && !others.is_empty() && least >= many
}

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

    #[test]
    fn ranks_sleep_often_that_switch_much_more_than_the_others() {
        let mut run = Run::default();
        for (rank, switches) in [(0, 40), (1, 620), (2, 44), (3, 30)] {
            run.ranks.push(headwater_model::run::RankInfo {
                rank,
                voluntary_switches: Some(switches),
                ..Default::default()
            });
        }
        assert!(is_often(&run, &[1]));
        assert!(!is_often(&run, &[2]));
        assert!(!is_often(&run, &[1, 2]));
        run.ranks[1].voluntary_switches = None;
        assert!(!is_often(&run, &[1]));
    }

    #[test]
    fn what_happens_once_is_a_one_off_also_asleep() {
        assert_eq!(class(0.9, 1.0, true, false), CauseClass::OneOff);
        assert_eq!(class(0.9, 1.0, true, true), CauseClass::SystemCallOrIo);
        assert_eq!(class(0.4, 1.0, true, true), CauseClass::OneOff);
        assert_eq!(class(0.9, 1.0, false, false), CauseClass::SystemCallOrIo);
        assert_eq!(class(0.4, 1.0, false, false), CauseClass::UnevenWork);
    }
}
