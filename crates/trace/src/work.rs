//! How long each rank computes at each place. Histograms of times are over all ranks; without this, a merged trace does
//! not show which rank computes longer.
//!
//! Figures are CPU time in units of about 1/1024 of the run, rounded to the nearest: ranks that differ by less are one
//! entry, and places that take less are not stored. So it takes some bytes for each place that matters.

use crate::ranks::Ranks;
use crate::trace::{Body, Node, Trace};
use std::collections::BTreeMap;

/// Computation before the calls of a signature, after those of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The thread.
    pub thread: u32,
    /// Signature of the call.
    pub signature: u64,
    /// Signature of the call before it.
    pub before: u64,
}

/// Units, and the ranks that each compute for so long. No rank is in two rows; ranks in none have less than half a unit.
pub type Units = Vec<(u64, Ranks)>;

/// Computation by place and rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// A unit is 2 to the power of this, nanoseconds.
    pub grain: u32,
    /// Units by place.
    pub places: BTreeMap<Place, Units>,
}

/// How long the executions of a rank at a place take, nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// All of them, by the mean of all ranks.
    pub all: f64,
    /// All but outliers, by the mean of all ranks.
    pub others: f64,
    /// The outliers, as they were.
    pub outliers: f64,
}

impl Expected {
    /// By what the others, and the outliers, are multiplied where the rank takes `own` in all. Outliers stay as they are,
    /// unless rounding has made them longer than that.
    pub fn factors(self, own: f64) -> (f64, f64) {
        let is_beyond = self.outliers > own || self.others <= 0.0;
        let of_outliers = if is_beyond {
            ratio(own, self.outliers)
        } else {
            1.0
        };
        (ratio(own - self.outliers, self.others), of_outliers)
    }
}

/// How many times a time, at least 0, is another one; 1 where that is 0.
pub fn ratio(time: f64, of: f64) -> f64 {
    if of > 0.0 { time.max(0.0) / of } else { 1.0 }
}

/// A run has at least so many units.
const UNITS: u64 = 1024;

impl Work {
    /// What `rank` computes at a place in all, nanoseconds. `None` if no rank computes there for long.
    pub fn of(&self, place: Place, rank: u32) -> Option<u64> {
        let units = self.places.get(&place)?;
        let own = units.iter().find(|(_, ranks)| ranks.contains(rank));
        Some(own.map_or(0, |(units, _)| units << self.grain.min(63)))
    }

    /// What `rank` computes at a place, of which `mean` is known: what it would be if all ranks computed as long each time,
    /// nanoseconds. It is the mean where the rank's own figure, which is rounded, agrees with it, or is not known.
    pub fn own(&self, place: Place, rank: u32, mean: f64) -> f64 {
        let Some(rounded) = self.of(place, rank) else {
            return mean;
        };
        let half = 0.5 * f64::from(self.grain).exp2();
        match (mean - rounded as f64).abs() <= half {
            true => mean,
            false => rounded as f64,
        }
    }

    /// Adds the work of other ranks.
    pub fn merge(&mut self, mut other: Self) {
        self.coarsen(other.grain);
        other.coarsen(self.grain);
        for (place, units) in other.places {
            let mine = self.places.entry(place).or_default();
            units
                .into_iter()
                .for_each(|(n, ranks)| add(mine, n, &ranks));
        }
    }

    /// Makes units larger.
    fn coarsen(&mut self, grain: u32) {
        let Some(shift) = grain.checked_sub(self.grain).filter(|s| *s > 0) else {
            return;
        };
        self.grain = grain;
        for units in self.places.values_mut() {
            for (n, ranks) in std::mem::take(units) {
                add(units, rounded(n, shift), &ranks);
            }
        }
        self.places.retain(|_, units| !units.is_empty());
    }
}

fn rounded(n: u64, shift: u32) -> u64 {
    let half = 1_u64.checked_shl(shift.wrapping_sub(1)).unwrap_or(0);
    n.saturating_add(half).checked_shr(shift).unwrap_or(0)
}

fn add(units: &mut Units, n: u64, ranks: &Ranks) {
    if n == 0 {
        return;
    }
    match units.binary_search_by_key(&n, |(n, _)| *n) {
        Ok(at) => {
            if let Some((_, all)) = units.get_mut(at) {
                all.unite(ranks);
            }
        }
        Err(at) => units.insert(at, (n, ranks.clone())),
    }
}

impl Trace {
    /// Adds the work of a row of nodes, which are of one rank alone.
    pub(crate) fn add_work(&mut self, rank: u32, thread: u32, row: &[Node]) {
        let (mut total, mut sums) = (0, BTreeMap::new());
        visit(row, thread, &mut total, &mut sums);
        let grain = (total / UNITS).max(1).ilog2();
        let units = |(place, n): (Place, u64)| {
            let n = rounded(n, grain);
            (n > 0).then(|| (place, vec![(n, Ranks::one(rank))]))
        };
        self.work.merge(Work {
            grain,
            places: sums.into_iter().filter_map(units).collect(),
        });
    }
}

fn visit(row: &[Node], thread: u32, total: &mut u64, sums: &mut BTreeMap<Place, u64>) {
    for node in row {
        match &node.body {
            Body::Loop(row) => visit(row, thread, total, sums),
            Body::Event(event) => {
                for (before, times) in &event.times {
                    let all = times.wall.sum.saturating_add(times.call.sum);
                    *total = total.saturating_add(all);
                    let place = Place {
                        thread,
                        signature: event.signature,
                        before: *before,
                    };
                    let sum = sums.entry(place).or_default();
                    *sum = sum.saturating_add(times.cpu.sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        thread: 0,
        signature: 1,
        before: 2,
    };

    fn of(grain: u32, units: &[(u64, u32)]) -> Work {
        let mut all = Units::new();
        units
            .iter()
            .for_each(|(n, rank)| add(&mut all, *n, &Ranks::one(*rank)));
        Work {
            grain,
            places: [(PLACE, all)].into(),
        }
    }

    #[test]
    fn ranks_with_the_same_work_are_one_entry() {
        let mut work = of(4, &[(100, 0)]);
        work.merge(of(3, &[(201, 1), (2, 2), (0, 3)]));
        let units = &work.places[&PLACE];
        assert_eq!(units.len(), 3, "{units:?}");
        assert_eq!(
            [0, 1, 2, 3].map(|r| work.of(PLACE, r)),
            [1600, 1616, 16, 0].map(Some)
        );
        // What the rounding allows is the mean.
        assert_eq!(
            [1608.0, 1609.0].map(|m| work.own(PLACE, 0, m)),
            [1608.0, 1600.0]
        );
        let unknown = Place { thread: 1, ..PLACE };
        assert_eq!(work.own(unknown, 0, 5.0), 5.0);
        work.merge(of(6, &[(25, 4)]));
        assert_eq!(work.places[&PLACE].len(), 1);
        assert_eq!(
            [0, 1, 2, 4].map(|r| work.of(PLACE, r)),
            [1600, 1600, 0, 1600].map(Some)
        );
    }
}
