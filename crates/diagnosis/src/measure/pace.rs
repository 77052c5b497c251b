//! Estimates the machine's own pace: how much longer the same work takes at the largest scale.
//!
//! Ranks that share cores, caches or memory with more others than at the smallest scale compute slower. Where
//! instructions are not counted, that looks like work that does not shrink. The program itself shows the pace: if much
//! of its computation, place by place, takes longer by the same factor, that factor is attributed to the machine. This
//! is an assumption, which the diagnosis states. It is made only where the larger scale has more ranks for each core,
//! and not against what the machine shows in places whose work the compiler knows to stay.

use crate::measure::backtrack::structured;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::source_place::SourcePlaces;
use crate::measure::{counted, same_work, scaling};
use headwater_dataflow::numbers::stats;
use headwater_graph::Pag;
use headwater_model::diagnosis::Scaling;
use rustc_hash::FxHashMap;

/// Least share of the computation that must agree on a pace.
const AGREE: f64 = 0.4;

/// A place agrees with the median pace if neither is more than this many times the other.
const BAND: f64 = 1.15;

/// A machine whose cores are shared by ranks is not slower than this. Ranks are compared in CPU time, so waiting for a
/// core is not part of it.
pub const SLOWED: f64 = 2.0;

/// Least share of the computation, in places whose work the compiler knows to stay, that shows the pace by itself.
const KNOWN: f64 = 0.05;

/// A pace below this does not count: it is within the error that every comparison has.
const LEAST: f64 = 1.1;

/// How much longer the same work takes at the largest scale than at the smallest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Time over ideal time; 1 where no pace is assumed.
    pub factor: f64,
    /// Share of the computation that agrees on it.
    pub agrees: f64,
}

impl Pace {
    /// No change of pace.
    pub const NONE: Self = Self {
        factor: 1.0,
        agrees: 0.0,
    };

    /// Whether the machine is assumed to be slower at the largest scale.
    pub fn is_slower(self) -> bool {
        self.factor > 1.0
    }

    /// The pace between the smallest and the largest of `scales`, which ascend and can be compared.
    pub fn new(pag: &Pag, scales: &[Scale], scaling: Scaling) -> Self {
        let [first, .., last] = scales else {
            return Self::NONE;
        };
        let (ends, places) = ([first, last], &SourcePlaces::new(pag));
        let counts = ends.iter().all(|s| counted::counts_instructions(s));
        let fuller = match (ranks_per_core(first), ranks_per_core(last)) {
            (Some(before), Some(now)) => now > before,
            _ => false,
        };
        if counts || !fuller {
            return Self::NONE;
        }
        let [before, now] = ends.map(|s| own_seconds(pag, places, s));
        // Weighted by the time that places should take: otherwise a place that does not shrink would outvote the
        // others.
        let mut ratios: Vec<(f64, f64)> = Vec::new();
        let mut known: Vec<(f64, f64)> = Vec::new();
        let total: f64 = before.values().sum();
        let mut all = 0.0;
        for (place, seconds) in before {
            let should = scaling::ideal(scaling, seconds, first.size, last.size);
            all += should;
            let taken = now.get(&place).copied().unwrap_or(0.0);
            if should > 0.0 && taken > 0.0 {
                ratios.push((taken / should, should));
                if same_work::stays(pag, ends, places.vertices(place)) {
                    known.push((taken / seconds, seconds));
                }
            }
        }
        let factor = stats::weighted_median(&mut ratios).unwrap_or(0.0);
        let near = |ratio: f64| ratio <= BAND * factor && factor <= BAND * ratio;
        let agreeing: f64 = ratios.iter().filter(|r| near(r.0)).map(|r| r.1).sum();
        // What all ranks do takes as long as before, and looks like a common factor of divided work. A factor that agrees
        // with that is no pace, nor is one that is nearer to it than to none.
        let more = f64::from(last.size) / f64::from(first.size);
        let replicated = match scaling {
            Scaling::Strong => more / BAND.min(more.sqrt()),
            Scaling::Weak | Scaling::Single => SLOWED,
        };
        if known.iter().map(|k| k.1).sum::<f64>() >= KNOWN * total
            && !stats::weighted_median(&mut known).is_some_and(near)
        {
            return Self::NONE;
        }
        if agreeing < AGREE * all || !(LEAST..SLOWED.min(replicated)).contains(&factor) {
            return Self::NONE;
        }
        Self {
            factor,
            agrees: agreeing / all,
        }
    }
}

/// What the reader must know about the assumed pace, if there is one.
pub fn sentence(scales: &Scales) -> Option<String> {
    let [first, .., last] = scales.compared() else {
        return None;
    };
    let pace = scales.pace;
    let fuller = if last.size > last.cores && last.threads_each.is_some() {
        "More threads share each core"
    } else if last.p > last.cores {
        "More ranks share each core"
    } else {
        "More of the cores are in use, and share their memory"
    };
    pace.is_slower().then(|| {
        format!(
            "On {}, {:.0} % of the computation takes about {:.2} times as long as on {} for the same work. {fuller}, so this is attributed to a slower machine. Without a count of instructions, it cannot be distinguished from work that does not shrink evenly in all places.",
            last.words(),
            100.0 * pace.agrees,
            pace.factor,
            first.words()
        )
    })
}

/// Ranks for each core; `None` where the cores are not known.
fn ranks_per_core(scale: &Scale) -> Option<f64> {
    (scale.cores > 0).then(|| f64::from(scale.size) / f64::from(scale.cores))
}

/// Seconds of the usual rank in each place, without what is inside it.
fn own_seconds(pag: &Pag, places: &SourcePlaces, scale: &Scale) -> FxHashMap<u32, f64> {
    let data = &scale.view().computation;
    let mut rows: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
    for (key, of) in (0..).zip(&data.keys) {
        let place = places.of(structured(pag, of.vertex));
        let row = rows.entry(place);
        let row = row.or_insert_with(|| vec![0.0; scale.p as usize]);
        if let Some(values) = data.busy.row(key) {
            values.add_to(row);
        }
    }
    let usual = |(place, row): (u32, Vec<f64>)| (place, stats::lower_median(&row));
    rows.into_iter().map(usual).collect()
}
