//! Uneven work at a place before it is a candidate: one entry for the results of several phases and rounds, its class,
//! and its sentences.

use crate::find::candidate::{Candidate, Price, REST};
use crate::find::{placement, sleep_class};
use crate::measure::inclusive::communicates;
use crate::measure::late::{mask_of, pick};
use crate::measure::once::happened_once;
use crate::measure::scale::Scale;
use crate::measure::useful;
use crate::measure::{counted, repetition};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::CauseClass;
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Two phases' results at a place are one cause if they have at least this share of ranks in common.
pub const SAME_RANKS: f64 = 0.5;

/// Other ranks are late too if they need longer by this part of the latest ranks' excess: cores that two threads share
/// run at half their speed, and then the times of equal work differ more.
const ALSO_LATE: f64 = 0.25;

/// At most this many call paths are listed.
const LISTED: usize = 4;

/// What differs between ranks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Of {
    /// How long they sleep.
    Sleep,
    /// How long they take, awake or asleep.
    All,
}

/// Uneven work at a place in one phase, or in several.
#[derive(Clone, Debug)]
pub struct Uneven {
    /// What is uneven.
    pub of: Of,
    /// The place.
    pub place: u32,
    /// Its vertices with the part of each in the excess, the largest first.
    pub vertices: Vec<(VertexIx, f64)>,
    /// Late ranks, ascending.
    pub ranks: Vec<u32>,
    /// Seconds of run time that it costs.
    pub cost: f64,
    /// Seconds of run time that removing it would save.
    pub gain: f64,
    /// Standard error of the gain, seconds.
    pub error: f64,
    /// Seconds of a late rank beyond what it should need, mean.
    pub longer: f64,
    /// Keys of the computation.
    pub inside: Vec<u32>,
    /// How the ranks differ, in words.
    pub shape: Option<String>,
}

impl Uneven {
    /// Makes a candidate, with its class and the evidence of counters.
    pub fn candidate(self, pag: &Pag, scale: &Scale, waits: &FxHashSet<VertexIx>) -> Candidate {
        let (u, data) = (self, &scale.view().computation);
        let after = scale.afters(&u.inside);
        // A rank that sleeps until its threads have finished waits for no file or device.
        let sleeping = useful::without(scale, &u.inside, waits);
        let blocked = sum_rows(&data.blocked, &sleeping, scale.p);
        let row = match u.of {
            Of::Sleep => blocked.clone(),
            Of::All => sum_rows(&data.busy, &u.inside, scale.p),
        };
        let is_late = mask_of(&u.ranks, row.len());
        let others = pick(&row, &is_late, false);
        let (high, low) = (stats::mean_of(&row, &u.ranks), stats::mean(&others));
        let asleep = stats::mean_of(&blocked, &u.ranks);
        let mut evidence = vec![match u.of {
            Of::Sleep => format!(
                "{} here, the others {}",
                words::sleepers(u.ranks.len(), scale.p, high),
                words::seconds(low)
            ),
            Of::All => format!(
                "{} here, the others {}",
                words::takers(u.ranks.len(), scale.p, high),
                words::seconds(low)
            ),
        }];
        evidence.extend(u.shape.clone());
        evidence.extend(paths(pag, &u.vertices));
        // Ranks that are late by less lower the mean, but `longer` does not contain them.
        let longer = u.longer.min(high - low.min(high));
        // If all ranks differ, or a few have less than most, a single stall of some ranks is not the reason.
        let at = u.vertices.first().map_or(TopDown::ROOT, |v| v.0);
        let once = u.shape.is_none() && happened_once(pag, scale, at, &u.ranks, &after, longer);
        let often = sleep_class::is_often(scale.run(), &u.ranks);
        let mut class = sleep_class::class(asleep, longer, once, often);
        let times = high / (high - longer).max(1e-12);
        if class == CauseClass::UnevenWork {
            let compared = counted::compare(scale, &u.inside, &u.ranks, times);
            let faults = counted::faults(scale, &after, &u.ranks);
            // Instructions are the better witness.
            let slower = compared
                .as_ref()
                .map_or(faults.is_some(), |(more, _)| !more);
            if slower {
                class = CauseClass::SlowerWork;
            }
            if compared.is_none() && !slower {
                evidence.extend(placement::shared_by(scale.run(), &u.ranks));
            }
            evidence.extend(compared.into_iter().flat_map(|c| c.1));
            evidence.extend(faults.filter(|_| slower));
        }
        // A single event has no scatter.
        let repeats = class != CauseClass::OneOff;
        let scatter = repetition::error(scale, &after, &is_late, u.longer).filter(|_| repeats);
        let mut vertices = u.vertices.iter().map(|v| v.0);
        Candidate {
            in_turn: false,
            price: Price::default(),
            error: u.error.hypot(scatter.unwrap_or(0.0) * u.gain),
            team: None,
            vertex: vertices.next().unwrap_or(TopDown::ROOT),
            twins: vertices.collect(),
            class,
            ranks: u.ranks,
            cost: u.cost,
            gain: u.gain,
            after,
            evidence,
        }
    }

    /// Adds the cost of another one, in other phases or after this one is removed.
    fn add(&mut self, next: &mut Self) {
        self.gain += next.gain;
        self.cost = (self.cost + next.cost).max(self.gain);
        self.longer += next.longer;
        self.error = self.error.hypot(next.error);
        self.inside.append(&mut next.inside);
        self.inside.sort_unstable();
        self.inside.dedup();
    }

    /// Whether a part of the computation belongs to both.
    fn shares(&self, other: &Self) -> bool {
        self.inside.iter().any(|k| other.inside.contains(k))
    }

    /// Whether the place of another one is inside this one, and this one is a single piece of work: if ranks
    /// communicate in it, it would be a step of the program with causes of its own.
    fn holds(&self, pag: &Pag, other: &Self) -> bool {
        let own = || self.vertices.iter().map(|v| v.0);
        let mut others = other.vertices.iter().map(|v| v.0);
        others.any(|o| own().any(|v| pag.top.contains(v, o)))
            && !own().any(|v| communicates(pag, v))
    }
}

/// Of two places, one inside the other, the inner one is named for both if it has at least this share of their gains.
const INNER: f64 = 0.8;

/// Joins two causes at places of which one is inside the other, with mostly the same ranks: one phase showed the outer
/// place and another phase the inner one, or removing one left much around it. A little that is left around it in the
/// same phase is reported with it in words ([`crate::price::ranked`]).
pub fn join(pag: &Pag, mut found: Vec<Uneven>) -> Vec<Uneven> {
    found.sort_by_key(|u| (Reverse(stats::ticks(u.gain)), u.vertices[0].0));
    let mut out: Vec<Uneven> = Vec::new();
    for mut next in found {
        let known = |kept: &&mut Uneven| {
            kept.of == next.of
                && in_common(&kept.ranks, &next.ranks) >= SAME_RANKS
                && (kept.holds(pag, &next) || next.holds(pag, kept))
                && !(next.gain <= REST * kept.gain && next.shares(kept))
        };
        let Some(kept) = out.iter_mut().find(known) else {
            out.push(next);
            continue;
        };
        if next.holds(pag, kept) && kept.gain < INNER * (kept.gain + next.gain) {
            (kept.place, kept.vertices) = (next.place, std::mem::take(&mut next.vertices));
        }
        kept.add(&mut next);
    }
    out
}

/// The order of vertices with their seconds: the most first, of equal ones the one with the smaller number.
pub fn most_first(&(vertex, seconds): &(VertexIx, f64)) -> (Reverse<i64>, VertexIx) {
    (Reverse(stats::ticks(seconds)), vertex)
}

/// A sentence about the call paths to a place, if there are several, with the part of each.
fn paths(pag: &Pag, vertices: &[(VertexIx, f64)]) -> Option<String> {
    let top = &pag.top;
    let mut callers: Vec<(VertexIx, f64)> = Vec::new();
    for (v, excess) in vertices {
        let mut around = top.ancestors(*v).skip(1);
        let caller = around.find(|a| top.get(*a).kind.is_call())?;
        match callers.iter_mut().find(|c| c.0 == caller) {
            Some(known) => known.1 += excess,
            None => callers.push((caller, *excess)),
        }
    }
    let all: f64 = callers.iter().map(|c| c.1).sum();
    if callers.len() < 2 || all <= 0.0 {
        return None;
    }
    callers.sort_by_key(most_first);
    let count = callers.len();
    callers.retain(|c| c.1 > 0.0);
    let name = |(caller, excess): &(VertexIx, f64)| {
        format!(
            "{:.0} % from {}",
            100.0 * excess / all,
            words::location(&pag.place(*caller))
        )
    };
    let mut listed: Vec<String> = callers.iter().take(LISTED).map(name).collect();
    if callers.len() > LISTED {
        let rest: f64 = callers[LISTED..].iter().map(|c| c.1).sum();
        listed.push(format!("{:.0} % from others", 100.0 * rest / all));
    }
    Some(format!(
        "{count} call paths lead here: {}",
        listed.join(", ")
    ))
}

/// Share of common ranks among all ranks of both.
pub fn in_common(a: &[u32], b: &[u32]) -> f64 {
    let set = |ranks: &[u32]| ranks.iter().copied().collect();
    headwater_model::rank::RankSet::jaccard(&set(a), &set(b))
}

/// Merges two results at one place that are `same` into one entry: gains are added, and the ranks are those of the
/// result with the largest gain. The excess of late ranks is added over phases; within `one_phase` it is that of the
/// result with the largest gain.
pub fn merge(
    mut found: Vec<Uneven>,
    one_phase: bool,
    same: impl Fn(&Uneven, &Uneven) -> bool,
) -> Vec<Uneven> {
    found.sort_by_key(|u| (Reverse(stats::ticks(u.gain)), u.vertices[0].0));
    let mut out: Vec<Uneven> = Vec::new();
    for mut next in found {
        let known = |kept: &&mut Uneven| {
            (kept.of, kept.place) == (next.of, next.place) && same(kept, &next)
        };
        let Some(kept) = out.iter_mut().find(known) else {
            out.push(next);
            continue;
        };
        if one_phase {
            // After the excess of the latest ranks is taken off, others are the latest: they are late at this place as
            // well, but by less.
            if next.shape.is_none() && !stats::is_above(ALSO_LATE * kept.longer, next.longer) {
                kept.ranks.append(&mut next.ranks);
                kept.ranks.sort_unstable();
                kept.ranks.dedup();
            }
            (next.cost, next.longer) = (0.0, 0.0);
        }
        kept.add(&mut next);
        let mut sums: FxHashMap<VertexIx, f64> = FxHashMap::default();
        for (v, excess) in kept.vertices.drain(..).chain(next.vertices) {
            *sums.entry(v).or_default() += excess;
        }
        kept.vertices = sums.into_iter().collect();
        kept.vertices.sort_by_key(most_first);
    }
    out
}
