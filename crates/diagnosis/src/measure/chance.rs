//! Tests whether ranks are late at a place by more than chance: times of equal work scatter, and samples may fall on
//! few ranks.
//!
//! Samples are tested by the likelihood ratio of two rates (Wilks 1938): either all ranks do the same at the place, or
//! late ranks do more. Times are divided by the seconds for each sample, and the quotients are used as counts. The
//! standard error of a time would not be enough: for n samples it is √n, even if no other rank has a sample, so that
//! few samples would hardly count.

use crate::measure::late::{Late, Shape, ranks_of, slowest};
use crate::measure::scale::Scale;
use crate::measure::timing::{self, Timing};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx, sum_rows};

/// Late ranks must have more at a place by this many standard errors of sampling, if it is certain that they are late
/// in what is around it.
const PLACED: f64 = 2.0;

/// Late ranks must have this many samples more at a place.
const SAMPLES: f64 = 2.0;

/// Logarithm of the evidence above which more evidence changes nothing.
const MOST_EVIDENCE: f64 = 50.0;

/// By how much the times of one scale may differ by chance.
pub struct Noise<'a> {
    pag: &'a Pag,
    scale: &'a Scale,
    timing: Timing,
}

impl<'a> Noise<'a> {
    /// Measures how ranks scatter at a scale.
    pub fn new(pag: &'a Pag, scale: &'a Scale) -> Self {
        Self {
            pag,
            scale,
            timing: Timing::new(scale),
        }
    }

    /// Standard error of a late rank's excess over the others, seconds, from the scatter of ranks that do equal work.
    pub fn of_timing(&self, inside: &[u32], row: &[f64], late: &Late) -> f64 {
        let after = self.scale.afters(inside);
        let alike = late.alike(row);
        let usual = self.timing.noise(&alike, row.len(), &after);
        // A line over the ranks that explains the row well shows little noise. Ranks far from the line may be uneven as
        // well. With other numbers, the same ranks would form no line; the result must not become less certain because
        // they do.
        let of_line = late
            .scatter
            .map(|scatter| timing::bounded(scatter / late.high));
        let share = of_line.map_or(usual, |line| line.min(usual));
        let others = row.len() - late.ranks.len();
        share * late.high * (1.0 + 1.0 / others.max(1) as f64).sqrt()
    }

    /// Standard error from sampling of the time of one of `ranks` in some keys, seconds.
    pub fn of_samples(&self, inside: &[u32], ranks: &[u32]) -> f64 {
        self.scale.sampling_noise(self.pag, inside, ranks)
    }

    /// The same for the mean of these ranks.
    pub fn of_mean(&self, inside: &[u32], ranks: &[u32]) -> f64 {
        self.of_samples(inside, ranks) / (ranks.len().max(1) as f64).sqrt()
    }

    /// The excess of late ranks at a place that samples may show by chance, although these ranks do the same there as
    /// the others.
    pub fn misplaced(&self, inside: &[u32], late: &Late, ranks: usize) -> f64 {
        let mask = late.mask(ranks);
        let others = ranks_of(&mask.iter().map(|late| !late).collect::<Vec<bool>>());
        // Where all differ, the excess is that of the latest rank alone.
        let n = match late.shape {
            Shape::Spread { .. } => 1.0,
            Shape::Few | Shape::Most | Shape::Divided => late.ranks.len().max(1) as f64,
        };
        let few = SAMPLES * self.scale.period / n;
        let one = self.of_samples(inside, &others);
        few.max(PLACED * one * (1.0 / n + 1.0 / others.len().max(1) as f64).sqrt())
    }

    /// The excess of late ranks, in standard errors of what equal work and samples show by chance; `timing` is the
    /// error from equal work, seconds.
    pub fn errors(&self, inside: &[u32], row: &[f64], late: &Late, timing: f64) -> f64 {
        let sampling = match late.shape {
            // The excess is that of the latest rank alone.
            Shape::Spread { .. } => self.of_samples(inside, &late.ranks),
            Shape::Few | Shape::Most | Shape::Divided => {
                // Seconds for each sample, if all ranks do the same.
                let all: Vec<u32> = (0..self.scale.p).collect();
                let unit = self.of_samples(inside, &all).powi(2) / stats::mean(row);
                let own = late.ranks.len() as f64;
                let others = (row.len() as f64 - own, late.low);
                late.excess / deviation((own, late.high), others, unit)
            }
        };
        late.excess / timing.hypot(sampling)
    }

    /// Likelihood ratio, at least 1, at this scale: ranks differ at this place, against chance alone.
    fn evidence(&self, vertices: &[VertexIx]) -> f64 {
        let inside = self.scale.keys_inside_all(self.pag, vertices);
        let row = sum_rows(&self.scale.view().computation.busy, &inside, self.scale.p);
        let Some(late) = Late::new(&row, &slowest(&row)) else {
            return 1.0;
        };
        let timing = self.of_timing(&inside, &row, &late);
        let errors = self.errors(&inside, &row, &late, timing);
        ((0.5 * errors * errors).min(MOST_EVIDENCE).exp() / late.choices(row.len())).max(1.0)
    }
}

/// Standard deviations by which `late` ranks have more samples than `others`. For both, the number of ranks and the
/// seconds of one of them are given; `unit` is the seconds for each sample. Infinite where `unit` is 0: the time is
/// measured then.
fn deviation(late: (f64, f64), others: (f64, f64), unit: f64) -> f64 {
    let (a, b) = (late.0 * late.1 / unit, others.0 * others.1 / unit);
    if !(a + b).is_finite() {
        return f64::INFINITY;
    }
    let part = late.0 / (late.0 + others.0);
    let term = |n: f64, expected: f64| {
        if n > 0.0 {
            n * (n / expected).ln()
        } else {
            0.0
        }
    };
    let ratio = term(a, (a + b) * part) + term(b, (a + b) * (1.0 - part));
    (2.0 * ratio.max(0.0)).sqrt()
}

/// The scales below the largest one.
pub struct Smaller<'a>(Vec<Noise<'a>>);

impl<'a> Smaller<'a> {
    /// Measures how ranks scatter at each of `scales` except the last; they ascend.
    pub fn new(pag: &'a Pag, scales: &'a [Scale]) -> Self {
        let smaller = scales.split_last().map_or(&[][..], |s| s.1);
        Self(smaller.iter().map(|s| Noise::new(pag, s)).collect())
    }

    /// Product of the likelihood ratios of a place over the smaller scales, which are recorded independently.
    pub fn evidence(&self, vertices: &[VertexIx]) -> f64 {
        let all = self.0.iter().filter(|n| n.scale.p > 1);
        all.map(|n| n.evidence(vertices)).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_on_one_rank_alone_count_more_than_their_root() {
        // Four samples on one of eight ranks: chance does that once in 8⁴ times for a given rank.
        let alone = deviation((1.0, 4.0), (7.0, 0.0), 1.0);
        assert!((0.5 * alone * alone - 4.0 * 8f64.ln()).abs() < 1e-9);
        // Four samples more than many samples show little.
        let beside = deviation((1.0, 44.0), (7.0, 40.0), 1.0);
        assert!(beside < 0.7, "{beside}");
        assert_eq!(deviation((1.0, 3.0), (3.0, 3.0), 1.0), 0.0);
        // A measured time is certain.
        assert_eq!(deviation((1.0, 4.0), (7.0, 3.0), 0.0), f64::INFINITY);
    }
}
