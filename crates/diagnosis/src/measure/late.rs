//! Which ranks are late at a place, by how much, and how long they would take if they were not late.
//!
//! Differences of less than a nanosecond do not count: ranks of which a cause was taken off need equal times except for
//! rounding, and rounding must not make one of them late.

use headwater_dataflow::numbers::stats;

/// A rank is late too if it has this part of the usual excess of late ranks: it is then nearer to the late ranks than
/// to the others.
const HALF: f64 = 0.5;

/// A rank is one of the slowest if it is beyond this part of the way from the mean to the slowest rank (or to the one
/// that sleeps longest).
const HALF_WAY: f64 = 0.5;

/// Late ranks are a group only if the gap to the next rank is at least this part of their excess. Otherwise the work
/// rises over the ranks without a step.
const STEP: f64 = 0.25;

/// The gap between late ranks and others must be this many times the spread within the two groups. Cutting an even
/// distribution in two results in a gap of 3.5 times that spread, cutting a normal one in 2.7 times (natural breaks:
/// Fisher 1958, Jenks).
const APART: f64 = 4.0;

/// Least share of the variance over ranks that a straight line must explain for work to rise or fall with the rank.
const STRAIGHT: f64 = 0.8;

/// A rank changes its group at a place only if it differs by this many standard errors of sampling.
const CERTAIN: f64 = 3.0;

/// Least number of ranks that show a line.
const LINE: usize = 6;

/// How the ranks divide into late ones and others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A few ranks, apart from the others; they should need the median or mean of these.
    Few,
    /// Most ranks: a few others have less. The excess of most ranks cannot be removed, only evened out.
    Most,
    /// A few ranks, as in `Few`, but nothing shows that they do more than has to be done: it can only be divided evenly.
    Divided,
    /// All ranks differ, without a step between late ranks and others; the late ones are those above the mean. `slope`
    /// is by how much the time rises with each rank, if it rises in a line.
    Spread {
        /// Seconds for each rank.
        slope: Option<f64>,
    },
}

/// The late ranks of a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// Ranks, ascending.
    pub ranks: Vec<u32>,
    /// How they differ from the others.
    pub shape: Shape,
    /// Time that they should need, seconds.
    pub level: f64,
    /// Time that they need, mean, seconds.
    pub high: f64,
    /// Time that the other ranks need, mean, seconds.
    pub low: f64,
    /// By how much a late rank usually exceeds the others, seconds.
    pub excess: f64,
    /// By how much ranks scatter around what these figures explain, seconds; `None` where the row does not show it.
    pub scatter: Option<f64>,
}

/// The values of the ranks for which `mask` is `wanted`.
pub fn pick(row: &[f64], mask: &[bool], wanted: bool) -> Vec<f64> {
    let all = row.iter().zip(mask).filter(|(_, m)| **m == wanted);
    all.map(|(value, _)| *value).collect()
}

/// By rank: whether it is one of the slowest, in the upper half of the way from the mean to the slowest rank.
pub fn slowest(row: &[f64]) -> Vec<bool> {
    let (most, mean) = (stats::max(row), stats::mean(row));
    let from = mean + HALF_WAY * (most - mean);
    row.iter().map(|t| !stats::is_above(from, *t)).collect()
}

/// For each of `count` ranks: whether it is one of `ranks`.
pub fn mask_of(ranks: &[u32], count: usize) -> Vec<bool> {
    let mut mask = vec![false; count];
    for rank in ranks {
        if let Some(slot) = mask.get_mut(*rank as usize) {
            *slot = true;
        }
    }
    mask
}

/// The ranks for which `mask` holds, ascending.
pub fn ranks_of(mask: &[bool]) -> Vec<u32> {
    let all = (0..).zip(mask).filter(|(_, m)| **m);
    all.map(|(rank, _)| rank).collect()
}

impl Late {
    /// The ranks that are late in `row`, the seconds of all ranks at a place; `first` says by rank whether it is late
    /// in the whole phase. `None` if those ranks are not late here.
    pub fn new(row: &[f64], first: &[bool]) -> Option<Self> {
        let mut mask = first.to_vec();
        let mut excess = 0.0;
        // A few rounds decide to which group each rank is nearer.
        for _ in 0..4 {
            let level = stats::median(&pick(row, &mask, false));
            let both: Vec<bool> = mask.iter().zip(first).map(|(m, f)| *m && *f).collect();
            excess = stats::median(&pick(row, &both, true)) - level;
            if !stats::is_above(excess, 0.0) || !both.contains(&true) {
                return None;
            }
            let from = level + HALF * excess;
            let next: Vec<bool> = row.iter().map(|v| !stats::is_above(from, *v)).collect();
            if !next.contains(&true) || !next.contains(&false) {
                return None;
            }
            if next == mask {
                break;
            }
            mask = next;
        }
        let (late, others) = (pick(row, &mask, true), pick(row, &mask, false));
        let lowest = late.iter().copied().fold(f64::INFINITY, f64::min);
        let of = |group: &[f64]| stats::variance(group) * group.len() as f64;
        let within = ((of(&late) + of(&others)) / row.len() as f64).sqrt();
        // What late ranks should need is what the others do, so these must be alike themselves: where work is divided
        // unevenly, two ranks may have equal shares by chance, and others less, each another one.
        let within = within.max(stats::variance(&others).sqrt());
        let gap = stats::mean(&late) - stats::mean(&others);
        let step = lowest - stats::max(&others);
        if stats::is_above(STEP * excess, step) || gap < APART * within {
            return Self::spread(row);
        }
        let (shape, level) = if 2 * late.len() > row.len() {
            (Shape::Most, stats::mean(row))
        } else {
            (Shape::Few, stats::median(&others))
        };
        Some(Self {
            ranks: ranks_of(&mask),
            shape,
            level,
            high: stats::mean(&late),
            low: stats::mean(&others),
            excess,
            scatter: None,
        })
    }

    /// The late ranks at a place that contains most of the excess in `whole`. They are those of the whole, except ranks
    /// that certainly differ from them: samples that divide time between places leave an error of `blur` seconds in the
    /// time of each rank, so that other ranks would seem late here, and some of these not. `None` if they have no
    /// excess here.
    pub fn within(row: &[f64], whole: &Self, blur: f64) -> Option<Self> {
        if let Shape::Spread { .. } = whole.shape {
            return Self::spread(row);
        }
        let mut mask = whole.mask(row.len());
        let level = stats::median(&pick(row, &mask, false));
        let excess = stats::mean(&pick(row, &mask, true)) - level;
        if !stats::is_above(excess, 0.0) {
            return None;
        }
        let half = level + HALF * excess;
        for (is_late, value) in mask.iter_mut().zip(row) {
            let certain = if *is_late {
                level + excess - value > CERTAIN * blur
            } else {
                value - level > CERTAIN * blur
            };
            if certain {
                *is_late = !stats::is_above(half, *value);
            }
        }
        let (late, others) = (pick(row, &mask, true), pick(row, &mask, false));
        if late.is_empty() || others.is_empty() {
            return None;
        }
        let most = 2 * late.len() > row.len();
        let level = if most {
            stats::mean(row)
        } else {
            stats::mean(&others)
        };
        Some(Self {
            ranks: ranks_of(&mask),
            shape: if most { Shape::Most } else { Shape::Few },
            level,
            high: stats::mean(&late),
            low: stats::mean(&others),
            excess: stats::mean(&late) - stats::mean(&others),
            scatter: None,
        })
    }

    /// All ranks above the mean.
    fn spread(row: &[f64]) -> Option<Self> {
        let level = stats::mean(row);
        let mask: Vec<bool> = row.iter().map(|v| stats::is_above(*v, level)).collect();
        let line = line(row);
        mask.contains(&true).then(|| Self {
            ranks: ranks_of(&mask),
            shape: Shape::Spread {
                slope: line.map(|l| l.0),
            },
            level,
            high: stats::mean(&pick(row, &mask, true)),
            low: stats::mean(&pick(row, &mask, false)),
            excess: stats::max(row) - level,
            scatter: line.map(|l| l.1),
        })
    }

    /// Whether late ranks can only give work to others, not save it.
    pub fn evens_out(&self) -> bool {
        self.shape != Shape::Few
    }

    /// The same ranks, whose work can only be divided evenly.
    pub fn divided(self, row: &[f64]) -> Self {
        Self {
            shape: Shape::Divided,
            level: stats::mean(row),
            ..self
        }
    }

    /// Whether the others in `row` are alike, so that late ranks can be measured by them. Samples leave an error of `blur`
    /// seconds in the time of each.
    pub fn has_measure(&self, row: &[f64], blur: f64) -> bool {
        let others = pick(row, &self.mask(row.len()), false);
        let spread = (stats::variance(&others) - blur * blur).max(0.0).sqrt();
        self.high - self.low >= APART * spread
    }

    /// By rank: whether it is late.
    pub fn mask(&self, ranks: usize) -> Vec<bool> {
        mask_of(&self.ranks, ranks)
    }

    /// Number of groups of equal size that might have been late instead: the largest difference was chosen from so
    /// many.
    pub fn choices(&self, ranks: usize) -> f64 {
        let own = match self.shape {
            // The excess is that of the slowest rank alone.
            Shape::Spread { .. } => 1,
            Shape::Few | Shape::Divided => self.ranks.len(),
            Shape::Most => ranks.saturating_sub(self.ranks.len()),
        };
        ranks as f64 / own.max(1) as f64
    }

    /// Seconds of the ranks that do equal work, if there are any.
    pub fn alike(&self, row: &[f64]) -> Vec<f64> {
        match self.shape {
            Shape::Spread { .. } => Vec::new(),
            shape => pick(row, &self.mask(row.len()), shape == Shape::Most),
        }
    }

    /// A sentence about how the late ranks differ from the others, if there is more to say than which ranks they are.
    pub fn words(&self) -> Option<String> {
        let each = |slope: f64| headwater_model::words::seconds(slope.abs());
        match self.shape {
            Shape::Spread { slope: Some(slope) } => Some(format!(
                "the time {} with the rank, by {} from one rank to the next",
                if slope > 0.0 { "rises" } else { "falls" },
                each(slope)
            )),
            Shape::Spread { slope: None } => {
                Some("all ranks differ here; the ranks given are those above the mean".to_string())
            }
            Shape::Most => Some("the other ranks have less work here".to_string()),
            Shape::Divided => Some(
                "nothing shows that there is more work than has to be done: the gain is that of dividing it evenly"
                    .to_string(),
            ),
            Shape::Few => None,
        }
    }
}

/// Slope over ranks and standard deviation around the line, if a straight line explains how ranks differ.
fn line(row: &[f64]) -> Option<(f64, f64)> {
    if row.len() < LINE {
        return None;
    }
    let ranks: Vec<f64> = (0..row.len()).map(|r| r as f64).collect();
    let (x, y) = (stats::mean(&ranks), stats::mean(row));
    let along: f64 = ranks.iter().zip(row).map(|(r, v)| (r - x) * (v - y)).sum();
    let slope = along / ranks.iter().map(|r| (r - x).powi(2)).sum::<f64>();
    let rest = ranks.iter().zip(row);
    let rest: f64 = rest.map(|(r, v)| (v - y - slope * (r - x)).powi(2)).sum();
    let all: f64 = row.iter().map(|v| (v - y).powi(2)).sum();
    (all > 0.0 && rest <= (1.0 - STRAIGHT) * all)
        .then(|| (slope, (rest / (row.len() - 2) as f64).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(row: &[f64], ranks: &[u32]) -> Vec<bool> {
        let all = 0..row.len() as u32;
        all.map(|r| ranks.contains(&r)).collect()
    }

    fn late(row: &[f64], ranks: &[u32]) -> (Vec<u32>, Shape, f64) {
        let late = Late::new(row, &first(row, ranks)).unwrap();
        (late.ranks, late.shape, late.level)
    }

    #[test]
    fn late_ranks_that_scatter_are_one_group() {
        let mut row = vec![1.0; 16];
        for (r, more) in [(0, 0.8), (4, 0.9), (8, 1.3), (12, 1.4)] {
            row[r] += more;
        }
        let expected = (vec![0, 4, 8, 12], Shape::Few, 1.0);
        assert_eq!(late(&row, &[8, 12]), expected);
        assert_eq!(late(&row, &[0, 4, 8, 12]), expected);
        assert_eq!(Late::new(&row, &first(&row, &[1, 2])), None);
        assert_eq!(Late::new(&[1.0; 4], &first(&[1.0; 4], &[1])), None);
    }

    #[test]
    fn ranks_of_the_whole_are_those_of_its_place() {
        let whole = Late::new(&[1.0, 1.0, 1.0, 2.0], &first(&[1.0; 4], &[3])).expect("a late rank");
        let row = [0.1, 0.5, 0.0, 0.6];
        let here = Late::within(&row, &whole, 0.2).expect("it is late here too");
        assert_eq!((here.ranks, here.shape), (vec![3], Shape::Few));
        assert!((here.excess - 0.4).abs() < 1e-9);
        assert_eq!(Late::within(&[0.1, 0.5, 0.0, 0.0], &whole, 0.2), None);
        // Another cause makes rank 3 the latest of all, but at this place rank 1 is certainly late too.
        let here = Late::within(&row, &whole, 0.01).expect("ranks are late here");
        assert_eq!(here.ranks, [1, 3]);
    }

    #[test]
    fn others_that_are_not_alike_are_no_measure_of_late_ranks() {
        // A box of which a part is empty, divided into four: two whole parts, a half and none.
        let row = [0.595, 0.590, 0.292, 0.004];
        let shape = Shape::Spread { slope: None };
        assert_eq!(late(&row, &[0, 1]), (vec![0, 1], shape, 0.37025));
        let row = [0.595, 0.590, 0.030, 0.004];
        assert_eq!(late(&row, &[0, 1]).1, Shape::Few);
    }

    #[test]
    fn a_few_that_have_less_make_the_others_late() {
        let mut row = vec![1.0; 16];
        row[5] = 0.0;
        let most: Vec<u32> = (0..16).filter(|r| *r != 5).collect();
        assert_eq!(late(&row, &most), (most, Shape::Most, 0.9375));
    }

    #[test]
    fn equal_ranks_are_alike_whatever_rounding_leaves() {
        let ulp = f64::EPSILON;
        for by in [-ulp, 0.0, ulp] {
            // Rank 3 needs what the median of the others needs: it is not late, whichever of them is first.
            let row = [0.0, 0.3, 0.5, 0.5 + by, 0.5 - by, 0.7, 0.9];
            assert_eq!(Late::new(&row, &first(&row, &[3])), None);
            // Rank 1 is half way from the others to the late one.
            let row = [0.25, 0.375 + by, 0.25, 0.25 - by, 0.25, 0.5, 0.25];
            assert_eq!(late(&row, &[5]).0, [1, 5]);
            // Rank 2 needs the mean.
            let row = [0.1, 0.2, 0.3 + by, 0.4, 0.5];
            assert_eq!(late(&row, &[4]).0, [3, 4]);
        }
    }

    #[test]
    fn work_that_rises_without_a_step_is_late_above_the_mean() {
        let row: Vec<f64> = (0..16).map(|r| 1.0 + 0.1 * f64::from(r)).collect();
        let (ranks, shape, level) = late(&row, &[12, 13, 14, 15]);
        assert_eq!((ranks, level), ((8..16).collect(), 1.75));
        let Shape::Spread { slope: Some(slope) } = shape else {
            panic!("{shape:?}");
        };
        assert!((slope - 0.1).abs() < 1e-9);
    }
}
