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
    /// Sum.
    pub total: f64,
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
            total: figures.iter().sum(),
            least: pick(|a, b| a < b)?,
            median: lower_median(&figures),
            most: pick(|a, b| a > b)?,
        })
    }

    /// Items of [`columns`].
    pub fn items(self) -> [Item; 6] {
        [
            self.total.into(),
            self.least.1.into(),
            f64::from(self.least.0).into(),
            self.median.into(),
            self.most.1.into(),
            f64::from(self.most.0).into(),
        ]
    }

    /// Items of [`columns`] for what may be unknown.
    pub fn items_of(spread: Option<Self>) -> [Item; 6] {
        spread.map_or([const { Item::Missing }; 6], Self::items)
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
        assert_eq!((spread.total, spread.median), (21.0, 3.0));
    }
}
