//! A figure of many ranks in short.

use crate::numbers::stats::lower_median;
use headwater_model::report::{Item, Unit};

/// Names, titles and units of the columns that [`Spread::items`] fills, for figures of a unit.
pub fn columns(unit: Unit) -> [(&'static str, &'static str, Unit); 6] {
    [
        ("total", "all ranks", unit),
        ("least", "least", unit),
        ("least_rank", "on rank", Unit::None),
        ("median", "median", unit),
        ("most", "most", unit),
        ("most_rank", "on rank", Unit::None),
    ]
}

/// What a figure is over the ranks that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Sum of these ranks.
    sum: f64,
    /// How many they are.
    ranks: usize,
    least: (u32, f64),
    median: f64,
    most: (u32, f64),
}

impl Spread {
    /// Of ranks with their figures, in the order of the ranks; `None` if there is none. Of equal ranks the first is
    /// named.
    pub fn new(values: impl IntoIterator<Item = (u32, f64)>) -> Option<Self> {
        let values: Vec<(u32, f64)> = values.into_iter().collect();
        let pick = |better: fn(f64, f64) -> bool| {
            let all = values.iter().copied();
            all.reduce(|a, b| if better(b.1, a.1) { b } else { a })
        };
        let figures: Vec<f64> = values.iter().map(|v| v.1).collect();
        Some(Self {
            sum: figures.iter().sum(),
            ranks: figures.len(),
            least: pick(|a, b| a < b)?,
            median: lower_median(&figures),
            most: pick(|a, b| a > b)?,
        })
    }

    /// The sum of all ranks, if at least `least` have the figure: where it is not known of some, their sum is not known.
    pub fn total(&self, least: usize) -> Option<f64> {
        Some(self.sum).filter(|_| self.ranks >= least)
    }

    /// Items of [`columns`]; `least` as in [`Self::total`].
    fn items(self, least: usize) -> [Item; 6] {
        [
            self.total(least).into(),
            self.least.1.into(),
            f64::from(self.least.0).into(),
            self.median.into(),
            self.most.1.into(),
            f64::from(self.most.0).into(),
        ]
    }

    /// The same for what may be unknown. Ranks that are left out have nothing of it.
    pub fn items_of(spread: Option<Self>) -> [Item; 6] {
        Self::items_if_known(spread, 0)
    }

    /// The same of a figure that is unknown, and not zero, of a rank that is left out. There are `ranks`.
    pub fn items_if_known(spread: Option<Self>, ranks: u32) -> [Item; 6] {
        let least = ranks as usize;
        spread.map_or([const { Item::Missing }; 6], |s| s.items(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_named_with_the_first_of_equal_ranks() {
        assert_eq!(Spread::new([]), None);
        let spread = Spread::new([(3, 2.0), (4, 7.0), (5, 7.0), (6, 2.0), (9, 3.0)]);
        let spread = spread.expect("ranks");
        assert_eq!((spread.least, spread.most), ((3, 2.0), (4, 7.0)));
        assert_eq!(spread.median, 3.0);
        assert_eq!((spread.total(5), spread.total(6)), (Some(21.0), None));
    }
}
