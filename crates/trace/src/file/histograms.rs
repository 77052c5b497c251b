//! Parameter histograms: for each its signature and value, the level, minimum and maximum, then the buckets.

use super::Error;
use super::body::Body;
use super::codec::{Coder, Field};
use crate::histogram::{Bucket, MOST_BUCKETS, ParameterHistogram};
use crate::lossy::{Histograms, Where};

impl<C: Coder> Body<'_, C> {
    /// The histograms of a trace that has some.
    pub(super) fn histograms(&mut self, given: Option<&Histograms>) -> Result<Histograms, Error> {
        let mut histograms = Histograms::new();
        let given: Vec<_> = given.into_iter().flatten().collect();
        let count = self.count(Field::Number, 8, given.len())?;
        for i in 0..count {
            let one = given.get(i as usize);
            let (signature, entry) = self.signature(one.map(|(place, _)| place.signature))?;
            let (_, kinds) = self.signatures.kinds(entry);
            let column = self.u32(Field::Histogram, 1, one.map_or(0, |(p, _)| p.column))?;
            if column as usize >= kinds.len() {
                return Err(Error::Malformed);
            }
            let relative = one.is_some_and(|(place, _)| place.relative);
            let relative = self.coder.flag(Field::Histogram, 2, relative)?;
            let place = Where {
                signature,
                column,
                relative,
            };
            let histogram = self.parameter_histogram(one.map(|(_, histogram)| *histogram))?;
            if histograms.insert(place, histogram).is_some() {
                return Err(Error::Malformed);
            }
        }
        match histograms.is_empty() {
            true => Err(Error::Malformed),
            false => Ok(histograms),
        }
    }

    fn parameter_histogram(
        &mut self,
        given: Option<&ParameterHistogram>,
    ) -> Result<ParameterHistogram, Error> {
        let level = given.map_or(0, ParameterHistogram::level);
        let level = self.u32(Field::Histogram, 3, u32::from(level))?;
        let level = u8::try_from(level).map_err(|_| Error::Malformed)?;
        let min = self
            .coder
            .signed(Field::Histogram, 4, given.map_or(0, |h| h.min))?;
        let wide = given.map_or(0, |h| h.max.wrapping_sub(h.min) as u64);
        let wide = self.coder.number(Field::Histogram, 5, wide)?;
        let max = min.checked_add_unsigned(wide).ok_or(Error::Malformed)?;
        let of: Vec<_> = given.into_iter().flat_map(|h| h.buckets()).collect();
        let count = self.count(Field::Histogram, 6, of.len())?;
        if count > MOST_BUCKETS as u64 {
            return Err(Error::Malformed);
        }
        let mut last = 0_i64;
        let mut buckets = Vec::new();
        for i in 0..count {
            let one = of.get(i as usize);
            let value = one.map_or(0, |(value, _)| value.wrapping_sub(last));
            let value = last.wrapping_add(self.coder.signed(Field::Histogram, 7, value)?);
            let many = one.map_or(0, |(_, bucket)| bucket.count);
            let many = self.coder.number(Field::Histogram, 8, many)?;
            let first = value.saturating_mul(i64::try_from(many).unwrap_or(i64::MAX));
            let sum = match level {
                // All values of a bucket are its first one.
                0 => first,
                _ => {
                    let more = one.map_or(0, |(_, bucket)| bucket.sum.wrapping_sub(first));
                    first.wrapping_add(self.coder.signed(Field::Histogram, 9, more)?)
                }
            };
            buckets.push((value, Bucket { count: many, sum }));
            last = value;
        }
        ParameterHistogram::from_parts(level, (min, max), buckets).ok_or(Error::Malformed)
    }
}
