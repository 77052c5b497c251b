//! Parameter histograms: how often a parameter had which values, without their order (ScalaTrace II, sections 2.3, 3.1
//! and 3.5).
//!
//! Count, sum, minimum and maximum are exact. Up to [`MOST_BUCKETS`] different values have a bucket each. Beyond that,
//! all buckets become wider, level by level: values of up to 32 with a bucket each and five significant bits of the
//! larger ones, then four, and so on. Each level contains the next finer one, so the order in which values are added and
//! histograms are merged has no effect.

use std::collections::BTreeMap;

/// A histogram has at most so many buckets.
pub const MOST_BUCKETS: usize = 32;

/// The level with one bucket for each sign, the coarsest one.
pub const COARSEST: u8 = 12;

/// Significant bits that the first level beyond exact values keeps.
const FIRST_BITS: u32 = 5;

/// Values that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: i64,
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterHistogram {
    /// How many.
    pub count: u64,
    /// Their sum; the largest or smallest number if it is beyond.
    pub sum: i64,
    /// The smallest.
    pub min: i64,
    /// The largest.
    pub max: i64,
    /// How wide buckets are: 0 for a bucket for each value.
    level: u8,
    /// By their first value, the one that is nearest to 0.
    buckets: BTreeMap<i64, Bucket>,
}

impl Default for ParameterHistogram {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: i64::MAX,
            max: i64::MIN,
            level: 0,
            buckets: BTreeMap::new(),
        }
    }
}

/// The value that a bucket begins with, of those at the least distance from 0.
fn begin(value: i64, level: u8) -> i64 {
    let size = value.unsigned_abs();
    let bits = u64::BITS - size.leading_zeros();
    let kept = match u32::from(level) {
        0 => return value,
        // Some significant bits.
        level if level <= FIRST_BITS => {
            let dropped = bits.saturating_sub(FIRST_BITS + 1 - level);
            size >> dropped << dropped
        }
        // Lengths in bits: two of them in a bucket, then four, …
        level => {
            let step = 1_u32.checked_shl(level - FIRST_BITS).unwrap_or(u64::BITS);
            match bits {
                0 => 0,
                bits => 1_u64.checked_shl((bits - 1) / step * step).unwrap_or(0),
            }
        }
    };
    // At most 2⁶³, which is of the smallest number alone.
    match value < 0 {
        true => (kept as i64).wrapping_neg(),
        false => kept as i64,
    }
}

impl ParameterHistogram {
    /// Counts a value.
    pub fn add(&mut self, value: i64) {
        self.add_all(value, 1);
    }

    /// Counts a value several times.
    pub fn add_all(&mut self, value: i64, count: u64) {
        if count == 0 {
            return;
        }
        let bucket = Bucket {
            count,
            sum: value.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)),
        };
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(bucket.sum);
        self.put(value, bucket);
        self.widen();
    }

    fn put(&mut self, value: i64, more: Bucket) {
        let bucket = self.buckets.entry(begin(value, self.level)).or_default();
        bucket.count = bucket.count.saturating_add(more.count);
        bucket.sum = bucket.sum.saturating_add(more.sum);
    }

    fn widen(&mut self) {
        while self.buckets.len() > MOST_BUCKETS && self.level < COARSEST {
            self.set_level(self.level + 1);
        }
    }

    fn set_level(&mut self, level: u8) {
        self.level = level;
        for (value, bucket) in std::mem::take(&mut self.buckets) {
            self.put(value, bucket);
        }
    }

    /// Counts all that another one has.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if other.level > self.level {
            self.set_level(other.level);
        }
        for (value, bucket) in &other.buckets {
            self.put(*value, *bucket);
        }
        self.widen();
    }

    /// The same with each value changed; `None` if its values are not known one by one.
    pub fn map(&self, change: impl Fn(i64) -> i64) -> Option<Self> {
        let mut mapped = Self::default();
        for (value, bucket) in self.buckets.iter().filter(|_| self.level == 0) {
            mapped.add_all(change(*value), bucket.count);
        }
        (self.level == 0).then_some(mapped)
    }

    /// Whether each bucket has one value.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// How wide buckets are: 0 for a bucket for each value.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// The buckets by their first value, the one nearest to 0.
    pub fn buckets(&self) -> &BTreeMap<i64, Bucket> {
        &self.buckets
    }

    /// The smallest and the largest value that a bucket may have.
    pub fn bounds(&self, first: i64) -> (i64, i64) {
        let (mut inside, mut outside) = (
            first,
            match first < 0 {
                true => i64::MIN,
                false => i64::MAX,
            },
        );
        if begin(outside, self.level) == first {
            inside = outside;
        }
        // Where the bucket ends, by halves.
        while inside.abs_diff(outside) > 1 {
            let middle = ((i128::from(inside) + i128::from(outside)) / 2) as i64;
            match begin(middle, self.level) == first {
                true => inside = middle,
                false => outside = middle,
            }
        }
        let (low, high) = (first.min(inside), first.max(inside));
        (low.max(self.min), high.min(self.max))
    }

    /// Mean; 0 without a value.
    pub fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }

    /// A value that is drawn with two random numbers: the bucket by the first one, and in the bucket one of the two whole
    /// numbers around its mean by the second. So the mean of many draws is that of the values. 0 without a value.
    pub fn draw(&self, bucket: u64, inside: u64) -> i64 {
        let all: u64 = self
            .buckets
            .values()
            .fold(0, |all, b| all.saturating_add(b.count));
        let Some(mut which) = bucket.checked_rem(all) else {
            return 0;
        };
        for (value, bucket) in &self.buckets {
            match which.checked_sub(bucket.count) {
                Some(left) => which = left,
                None if self.level == 0 => return *value,
                None => {
                    let count = i128::from(bucket.count);
                    let up = i128::from(inside % bucket.count.max(1));
                    let value = (i128::from(bucket.sum) + up).div_euclid(count.max(1));
                    return (value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
                        .clamp(self.min.min(self.max), self.max);
                }
            }
        }
        0
    }

    /// A histogram as it is in a file. `None` if its parts contradict each other.
    pub fn from_parts(
        level: u8,
        (min, max): (i64, i64),
        buckets: Vec<(i64, Bucket)>,
    ) -> Option<Self> {
        let mut read = Self {
            min,
            max,
            level,
            ..Self::default()
        };
        let known = level <= COARSEST && min <= max && buckets.len() <= MOST_BUCKETS;
        if !known || buckets.is_empty() {
            return None;
        }
        for (value, bucket) in buckets {
            let is_one = level > 0
                || Some(bucket.sum)
                    == i64::try_from(bucket.count)
                        .ok()
                        .map(|count| value.saturating_mul(count));
            if bucket.count == 0 || begin(value, level) != value || !is_one {
                return None;
            }
            read.count = read.count.checked_add(bucket.count)?;
            read.sum = read.sum.saturating_add(bucket.sum);
            read.buckets.insert(value, bucket).is_none().then_some(())?;
        }
        let ends = [min, max].map(|end| read.buckets.contains_key(&begin(end, level)));
        (ends == [true, true]).then_some(read)
    }

    /// Bytes of memory that a histogram may take.
    pub const MEMORY: usize = size_of::<Self>() + 2 * MOST_BUCKETS * size_of::<(i64, Bucket)>();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i64>) -> ParameterHistogram {
        let mut all = ParameterHistogram::default();
        values.into_iter().for_each(|v| all.add(v));
        all
    }

    #[test]
    fn few_values_are_exact() {
        let all = of([3, -3, 7, 7, 3, 3]);
        assert_eq!((all.count, all.sum, all.min, all.max), (6, 20, -3, 7));
        assert!(all.is_exact());
        let counts: Vec<_> = all.buckets().iter().map(|(v, b)| (*v, b.count)).collect();
        assert_eq!(counts, [(-3, 1), (3, 3), (7, 2)]);
    }

    #[test]
    fn levels_contain_each_other() {
        let mut values: Vec<i64> = (0..63)
            .flat_map(|b| [(1 << b) - 1, 1 << b, (1 << b) + 1])
            .collect();
        values.extend([i64::MAX, i64::MIN, i64::MIN + 1, -1, -2, -3, -100]);
        for value in values {
            for level in 0..COARSEST {
                let finer = begin(value, level);
                assert_eq!(begin(finer, level), finer, "{value} {level}");
                assert_eq!(
                    begin(finer, level + 1),
                    begin(value, level + 1),
                    "{value} {level}"
                );
            }
        }
        let last: std::collections::BTreeSet<i64> = (0..63)
            .flat_map(|b| [1_i64 << b, -(1 << b), 0])
            .map(|v| begin(v, COARSEST))
            .collect();
        assert!(last.len() <= MOST_BUCKETS, "{last:?}");
    }

    #[test]
    fn the_order_of_values_and_merges_has_no_effect() {
        let values: Vec<i64> = (0..400_i64).map(|i| i * i * i % 7919 - 50).collect();
        let all = of(values.iter().copied());
        assert_eq!(all, of(values.iter().rev().copied()));
        let parts: Vec<_> = values
            .chunks(37)
            .map(|part| of(part.iter().copied()))
            .collect();
        let mut merged = ParameterHistogram::default();
        parts.iter().rev().for_each(|part| merged.merge(part));
        assert_eq!(all, merged);
        assert!(all.buckets().len() <= MOST_BUCKETS && !all.is_exact());
        assert_eq!(all.sum, values.iter().sum::<i64>());
    }

    #[test]
    fn drawn_values_have_the_mean_of_the_values_and_are_within() {
        let all = of((0..1000).map(|i| i * 13 % 997 + 5));
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 16
        };
        let drawn: Vec<i64> = (0..20_000).map(|_| all.draw(next(), next())).collect();
        let mean = drawn.iter().sum::<i64>() as f64 / drawn.len() as f64;
        assert!(
            (mean / all.mean() - 1.0).abs() < 0.02,
            "{mean} {}",
            all.mean()
        );
        assert!(drawn.iter().all(|v| (all.min..=all.max).contains(v)));
        assert_eq!(ParameterHistogram::default().draw(7, 7), 0);
    }
}
