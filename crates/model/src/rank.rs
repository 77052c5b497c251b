//! Ranks and sets of ranks, written the way people write them: `0-3,7`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A rank of `MPI_COMM_WORLD`.
pub type Rank = u32;

/// A set of ranks, sorted and without repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RankSet(Vec<Rank>);

impl RankSet {
    /// The ranks `0..n`.
    pub fn all(n: u32) -> Self {
        Self((0..n).collect())
    }

    /// The ranks in ascending order.
    pub fn as_slice(&self) -> &[Rank] {
        &self.0
    }

    /// How many ranks are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no rank is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `rank` is in the set.
    pub fn contains(&self, rank: Rank) -> bool {
        self.0.binary_search(&rank).is_ok()
    }

    /// Share of common ranks among all ranks of both sets; 1 for two empty sets.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let common = self.0.iter().filter(|r| other.contains(**r)).count();
        let union = self.0.len() + other.0.len() - common;
        if union == 0 {
            1.0
        } else {
            common as f64 / union as f64
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RankSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RankSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Ranks in ascending order, as in 0-3,7.",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"
        })
    }
}

impl FromIterator<Rank> for RankSet {
    fn from_iter<I: IntoIterator<Item = Rank>>(iter: I) -> Self {
        let mut ranks: Vec<Rank> = iter.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self(ranks)
    }
}

impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut comma = "";
        while let Some(&first) = rest.first() {
            let run = rest
                .iter()
                .zip(first..)
                .take_while(|(r, want)| **r == *want)
                .count();
            match run {
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{}", rest[run - 1])?,
            }
            rest = &rest[run..];
            comma = ",";
        }
        Ok(())
    }
}

/// Text that is not a set of ranks.
#[derive(Debug, PartialEq, Eq)]
pub struct BadRankSet(pub String);

impl fmt::Display for BadRankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not a set of ranks such as 0-3,7", self.0)
    }
}

impl std::error::Error for BadRankSet {}

impl FromStr for RankSet {
    type Err = BadRankSet;

    fn from_str(text: &str) -> Result<Self, BadRankSet> {
        let bad = || BadRankSet(text.to_string());
        let number = |t: &str| t.trim().parse::<Rank>().map_err(|_| bad());
        let mut ranks = Vec::new();
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let (first, last) = match part.split_once('-') {
                Some((a, b)) => (number(a)?, number(b)?),
                None => (number(part)?, number(part)?),
            };
            // A range wider than any machine is a typing error, not a set to allocate.
            if last < first || last - first > 1 << 24 {
                return Err(bad());
            }
            ranks.extend(first..=last);
        }
        Ok(ranks.into_iter().collect())
    }
}

impl Serialize for RankSet {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RankSet {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_ranges_and_reads_them_back() {
        let set: RankSet = [7, 0, 1, 3, 2, 7].into_iter().collect();
        assert_eq!(set.to_string(), "0-3,7");
        assert_eq!("0-3,7".parse(), Ok(set));
        assert!("3-1".parse::<RankSet>().is_err());
        assert!("0-4294967295".parse::<RankSet>().is_err());
    }

    #[test]
    fn jaccard_is_common_over_union() {
        let a: RankSet = "0-3".parse().unwrap();
        let b: RankSet = "2-5".parse().unwrap();
        assert!((a.jaccard(&b) - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(RankSet::default().jaccard(&RankSet::default()), 1.0);
    }
}
