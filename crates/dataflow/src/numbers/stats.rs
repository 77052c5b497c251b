//! Small robust statistics over ranks.
//!
//! All functions take plain slices, accept empty ones and never return NaN.

/// Standard errors on either side of a gain that its range covers: 95 % of a normal distribution.
pub const CONFIDENCE: f64 = 1.96;

/// Standard deviation of a normal distribution over its median of absolute deviations.
const NORMAL: f64 = 1.4826;

/// Arithmetic mean; 0 without values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Mean of some ranks of a row; those beyond its end are left out.
pub fn mean_of(row: &[f64], ranks: &[u32]) -> f64 {
    let values: Vec<f64> = ranks
        .iter()
        .filter_map(|r| row.get(*r as usize))
        .copied()
        .collect();
    mean(&values)
}

/// Times that differ by less than one part in this many of a second are equal. Times are recorded in nanoseconds, and
/// sums of them change by less with the order of addition. It is a power of two, so that no mean of whole nanoseconds
/// is half way between two ticks.
const TICKS: f64 = (1u64 << 30) as f64;

/// Seconds in ticks of about a nanosecond, for an order that rounding does not change.
pub fn ticks(seconds: f64) -> i64 {
    (seconds * TICKS).round() as i64
}

/// Whether `a` seconds exceed `b` by more than rounding.
pub fn is_above(a: f64, b: f64) -> bool {
    ticks(a - b) > 0
}

/// Largest value; 0 without values.
pub fn max(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::max).unwrap_or(0.0)
}

/// The value below which a share `q` (0 to 1) of the values lies, by linear interpolation.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    // Selecting takes linear time; there can be as many values as ranks.
    let mut values = values.to_vec();
    let (_, lower, above) = values.select_nth_unstable_by(low, f64::total_cmp);
    let lower = *lower;
    let least = above.iter().copied().min_by(f64::total_cmp);
    let upper = least.filter(|_| high > low).unwrap_or(lower);
    lower + (upper - lower) * (at - low as f64)
}

/// The median.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value at which half of the weight is reached; `values` are pairs of value and weight, which it sorts. `None`
/// without values.
pub fn weighted_median(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = 0.5 * values.iter().map(|v| v.1).sum::<f64>();
    let mut so_far = 0.0;
    let reached = values.iter().find(|v| {
        so_far += v.1;
        so_far >= half
    });
    reached.map(|v| v.0)
}

/// The median; of two middle values, the lower one.
pub fn lower_median(values: &[f64]) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let mut values = values.to_vec();
    *values.select_nth_unstable_by(last / 2, f64::total_cmp).1
}

/// Population variance.
pub fn variance(values: &[f64]) -> f64 {
    let m = mean(values);
    mean(&values.iter().map(|v| (v - m).powi(2)).collect::<Vec<_>>())
}

/// Two groups of ranks, split where the variance between the groups is largest (Jenks' natural
/// breaks, Fisher 1958, for two classes).
#[derive(Clone, Debug, PartialEq)]
pub struct TwoGroups {
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// Standard deviation within the groups, pooled.
    pub within: f64,
    /// Indices of the upper group, ascending.
    pub upper: Vec<u32>,
}

/// Splits `values` into two groups; `None` for fewer than two values or equal ones.
pub fn two_groups(values: &[f64]) -> Option<TwoGroups> {
    // Values beside their indices: looking each of them up takes longer than sorting.
    let mut order: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let sorted = Sorted(order.iter().map(|(value, _)| *value).collect());
    let (lower, upper) = sorted.groups()?;
    let within = variance(lower) * lower.len() as f64 + variance(upper) * upper.len() as f64;
    let mut indices: Vec<u32> = order[lower.len()..].iter().map(|(_, i)| *i).collect();
    indices.sort_unstable();
    Some(TwoGroups {
        low: mean(lower),
        high: mean(upper),
        within: (within / values.len() as f64).sqrt(),
        upper: indices,
    })
}

/// Values in ascending order, for several questions about the same ones.
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts a copy.
    pub fn new(values: &[f64]) -> Self {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// The median, as [`median`].
    pub fn median(&self) -> f64 {
        let above = self.0.get(self.0.len() / 2).copied().unwrap_or(0.0);
        let below = self.lower_median();
        below + (above - below) * 0.5
    }

    /// The median; of two middle values, the lower one.
    pub fn lower_median(&self) -> f64 {
        let at = self.0.len().saturating_sub(1) / 2;
        self.0.get(at).copied().unwrap_or(0.0)
    }

    /// Mean of the upper one of [`two_groups`].
    pub fn upper_mean(&self) -> Option<f64> {
        self.groups().map(|(_, upper)| mean(upper))
    }

    /// The lower group and the upper one.
    fn groups(&self) -> Option<(&[f64], &[f64])> {
        let values = &self.0[..];
        let total: f64 = values.iter().sum();
        let mut best: Option<(f64, usize)> = None;
        let mut left = 0.0;
        for split in 1..values.len() {
            left += values[split - 1];
            let (a, b) = (split as f64, (values.len() - split) as f64);
            let between = a * b * (left / a - (total - left) / b).powi(2);
            if between > 0.0 && best.is_none_or(|(score, _)| between > score * (1.0 + 1e-12)) {
                best = Some((between, split));
            }
        }
        best.map(|(_, split)| values.split_at(split))
    }
}

/// The gap between the groups must be this many times the spread within them. Cutting an even distribution in two
/// results in a gap of 3.5 times that spread, cutting a normal one in 2.7 times.
const OVER_SPREAD: f64 = 3.0;

/// The gap must be this many times the standard error of one value: the largest of a thousand values is 3.2 standard
/// errors above their mean by chance alone.
const OVER_NOISE: f64 = 4.0;

/// Whether the upper group stands out: its mean is more than `threshold` times the lower one's (ScalAna's `AbnormThd`,
/// section IV-A), and the gap is wide enough for two natural groups (Jenks' breaks; Fisher, "On grouping for maximum
/// homogeneity", 1958) and for `noise`, the standard error of one value (seconds). The last condition prevents a report
/// of scatter: of many ranks the largest is examined, and its excess may come from few samples.
pub fn stands_out(groups: &TwoGroups, threshold: f64, noise: f64) -> bool {
    let gap = groups.high - groups.low;
    groups.high > threshold * groups.low
        && gap > OVER_SPREAD * groups.within
        && gap > OVER_NOISE * noise
}

/// Standard deviation of most of `values`, whatever the others are.
pub fn scatter(values: &[f64]) -> f64 {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    NORMAL * median(&deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_values_have_the_same_medians_and_groups() {
        for n in 0..9 {
            let values: Vec<f64> = (0..n).map(|i| f64::from(i * 7 % 5) + 0.25).collect();
            let sorted = Sorted::new(&values);
            assert_eq!(sorted.median(), median(&values), "{values:?}");
            assert_eq!(sorted.lower_median(), lower_median(&values), "{values:?}");
            let high = two_groups(&values).map(|g| g.high);
            assert_eq!(sorted.upper_mean(), high, "{values:?}");
        }
    }

    #[test]
    fn groups_split_at_the_natural_break() {
        let mut values = vec![1.0; 16];
        for r in [0, 4, 8, 12] {
            values[r] = 2.0 + 0.1 * r as f64;
        }
        assert_eq!(two_groups(&values).unwrap().upper, vec![0, 4, 8, 12]);
        assert_eq!(two_groups(&[3.0, 3.0]), None);
    }

    #[test]
    fn even_scatter_does_not_stand_out() {
        let values: Vec<f64> = (0..16)
            .map(|i| 1.0 + 0.02 * f64::from(i * 7 % 16))
            .collect();
        let groups = two_groups(&values).unwrap();
        assert!(!stands_out(&groups, 1.3, 0.0));
        let two = two_groups(&[0.010, 0.020]).unwrap();
        assert!(
            !stands_out(&two, 1.3, 0.005),
            "two samples against four are no finding"
        );
    }

    #[test]
    fn rounding_is_no_difference() {
        let sum = 0.1 + 0.2;
        assert!(sum > 0.3 && !is_above(sum, 0.3) && !is_above(0.3, sum));
        assert!(is_above(0.300_000_001, 0.3) && !is_above(0.3, 0.300_000_001));
        assert_eq!(ticks(sum), ticks(0.3));
        // The mean of two ranks that are a nanosecond apart.
        assert_eq!(ticks(0.5e-9 + 1.0), ticks(0.5e-9 + 1.0 - 2e-16));
    }

    #[test]
    fn the_median_is_weighted() {
        assert_eq!(weighted_median(&mut []), None);
        assert_eq!(
            weighted_median(&mut [(4.0, 0.2), (1.0, 0.5), (1.2, 0.4)]),
            Some(1.2)
        );
        assert_eq!(
            weighted_median(&mut [(4.0, 0.2), (1.0, 0.7), (1.2, 0.4)]),
            Some(1.0)
        );
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert_eq!(lower_median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
        assert_eq!(lower_median(&[5.0]), 5.0);
        assert_eq!(lower_median(&[]), 0.0);
    }

    #[test]
    fn scatter_is_that_of_most_ranks() {
        let mut values: Vec<f64> = (0..16).map(|i| 1.0 + 0.01 * f64::from(i % 4)).collect();
        let quiet = scatter(&values);
        assert!((0.005..0.02).contains(&quiet), "{quiet}");
        for late in [0, 4, 8] {
            values[late] = 5.0;
        }
        assert!(scatter(&values) < 0.025);
    }
}
