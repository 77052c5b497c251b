//! Values over ranks: a sparse row stores only the ranks that have a value, and equal rows are stored once.
//!
//! Values are 32-bit floats: a second measured by a clock has no more digits than that, and rows over many ranks need
//! most of the memory (DESIGN, "Graph").

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Values over ranks; a rank that is not in the row has 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankRow {
    /// Ranks with a value, ascending; `None` where they are `0..values.len()`.
    ranks: Option<Box<[u32]>>,
    /// Their values, same order.
    values: Box<[f32]>,
}

impl RankRow {
    /// Makes a row from one value for each rank, from rank 0 on; `None` if all values are 0.
    pub fn new(values: &[f32]) -> Option<Self> {
        let nonzero = values.iter().filter(|v| **v != 0.0).count();
        if nonzero == 0 {
            return None;
        }
        // An index costs as much as a value, so a row is sparse if fewer than half of its ranks have a value.
        if 2 * nonzero >= values.len() {
            return Some(Self {
                ranks: None,
                values: values.into(),
            });
        }
        let (ranks, values): (Vec<u32>, Vec<f32>) =
            (0..).zip(values).filter(|(_, v)| **v != 0.0).unzip();
        Some(Self {
            ranks: Some(ranks.into()),
            values: values.into(),
        })
    }

    /// Ranks and their values, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let rank = |i: usize| {
            let listed = self.ranks.as_ref();
            listed.map_or(i as u32, |r| r.get(i).copied().unwrap_or(u32::MAX))
        };
        let values = self.values.iter().enumerate();
        values.map(move |(i, v)| (rank(i), f64::from(*v)))
    }

    /// The value of one rank.
    pub fn at(&self, rank: u32) -> f64 {
        let index = match &self.ranks {
            None => Some(rank as usize),
            Some(ranks) => ranks.binary_search(&rank).ok(),
        };
        let value = index.and_then(|i| self.values.get(i));
        value.map_or(0.0, |v| f64::from(*v))
    }

    /// Adds the row to `full`, which has one value for each rank; ranks beyond its end are left out.
    pub fn add_to(&self, full: &mut [f64]) {
        match &self.ranks {
            None => (full.iter_mut().zip(&self.values)).for_each(|(f, v)| *f += f64::from(*v)),
            Some(_) => self.iter().for_each(|(rank, value)| {
                if let Some(slot) = full.get_mut(rank as usize) {
                    *slot += value;
                }
            }),
        }
    }

    /// Sum over ranks.
    pub fn sum(&self) -> f64 {
        self.iter().map(|v| v.1).sum()
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        for rank in self.ranks.iter().flatten() {
            hasher.write_u32(*rank);
        }
        for value in &self.values {
            hasher.write_u32(value.to_bits());
        }
        hasher.finish()
    }
}

/// Rows by key (a vertex, or another small number); keys with equal rows share one.
#[derive(Clone, Debug, Default)]
pub struct RankRows {
    rows: Vec<RankRow>,
    /// By key: index into `rows`, or [`RankRows::NONE`].
    of_key: Vec<u32>,
    /// By hash: the rows that have it.
    by_hash: FxHashMap<u64, Vec<u32>>,
}

impl RankRows {
    const NONE: u32 = u32::MAX;

    /// Makes rows from entries sorted by (key, rank); entries with the same key and rank are added up.
    pub fn from_sorted(entries: &[(u32, u32, f64)]) -> Self {
        let mut this = Self::default();
        let mut full: Vec<f32> = Vec::new();
        for of_key in entries.chunk_by(|a, b| a.0 == b.0) {
            full.clear();
            for of_rank in of_key.chunk_by(|a, b| a.1 == b.1) {
                let sum: f64 = of_rank.iter().map(|e| e.2).sum();
                full.resize(of_rank[0].1 as usize + 1, 0.0);
                if let Some(last) = full.last_mut() {
                    *last = sum as f32;
                }
            }
            this.set(of_key[0].0, &full);
        }
        this.seal();
        this
    }

    /// Sets the row of `key` from one value for each rank, from rank 0 on.
    pub fn set(&mut self, key: u32, values: &[f32]) {
        let Some(row) = RankRow::new(values) else {
            return;
        };
        let next = self.rows.len() as u32;
        let alike = self.by_hash.entry(row.hash()).or_default();
        let index = alike
            .iter()
            .copied()
            .find(|i| self.rows[*i as usize] == row);
        let key = key as usize;
        if self.of_key.len() <= key {
            self.of_key.resize(key + 1, Self::NONE);
        }
        self.of_key[key] = index.unwrap_or(next);
        if index.is_none() {
            alike.push(next);
            self.rows.push(row);
        }
    }

    /// Frees the memory that only [`RankRows::set`] needs.
    pub(crate) fn seal(&mut self) {
        self.by_hash = FxHashMap::default();
        self.rows.shrink_to_fit();
        self.of_key.shrink_to_fit();
    }

    /// The row of a key, if it has data.
    pub fn row(&self, key: u32) -> Option<&RankRow> {
        let index = self.of_key.get(key as usize)?;
        self.rows.get(*index as usize)
    }

    /// The row of a key over all `n` ranks, zeros where it has no data.
    pub fn dense(&self, key: u32, n: u32) -> Vec<f64> {
        let mut full = vec![0.0; n as usize];
        if let Some(row) = self.row(key) {
            row.add_to(&mut full);
        }
        full
    }

    /// Keys that have data, ascending.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        let rows = (0..).zip(&self.of_key);
        rows.filter(|(_, row)| **row != Self::NONE).map(|(k, _)| k)
    }

    /// How many different rows are stored.
    pub fn distinct(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_kept_once() {
        let rows = RankRows::from_sorted(&[
            (1, 0, 2.0),
            (1, 3, 1.0),
            (1, 3, 1.0),
            (2, 0, 2.0),
            (2, 3, 2.0),
            (5, 0, 1.0),
        ]);
        assert_eq!(rows.distinct(), 2);
        assert_eq!(rows.dense(2, 4), vec![2.0, 0.0, 0.0, 2.0]);
        assert_eq!(rows.keys().collect::<Vec<_>>(), vec![1, 2, 5]);
        assert!(rows.row(7).is_none());
    }

    #[test]
    fn a_row_is_the_same_sparse_or_not() {
        let mut few = vec![0.0; 100];
        few[7] = 1.5;
        few[90] = 2.0;
        for values in [few, (0..100).map(|i| i as f32).collect()] {
            let row = RankRow::new(&values).unwrap();
            let mut full = vec![0.0; 100];
            row.add_to(&mut full);
            assert!(full.iter().zip(&values).all(|(a, b)| *a as f32 == *b));
            assert_eq!(row.sum(), full.iter().sum::<f64>());
            row.add_to(&mut [0.0; 3]);
            assert!((0..100).all(|r| row.at(r) == full[r as usize]) && row.at(200) == 0.0);
        }
        assert_eq!(RankRow::new(&[0.0; 4]), None);
    }
}
