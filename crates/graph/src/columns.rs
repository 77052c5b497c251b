//! Data of vertices over ranks: sparse rows, of which equal ones are kept once.

use rustc_hash::FxHashMap;

/// Values of one vertex: ascending ranks and a value for each; ranks that are not there have 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankRow {
    /// Ranks with a value.
    pub ranks: Vec<u32>,
    /// Their values, same order.
    pub values: Vec<f64>,
}

impl RankRow {
    /// The row as a full vector over `n` ranks.
    pub fn dense(&self, n: u32) -> Vec<f64> {
        let mut out = vec![0.0; n as usize];
        for (&rank, &value) in self.ranks.iter().zip(&self.values) {
            if let Some(slot) = out.get_mut(rank as usize) {
                *slot = value;
            }
        }
        out
    }

    /// Sum over ranks.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// A sparse row for each vertex; vertices whose rows are equal share one.
#[derive(Clone, Debug, Default)]
pub struct RankRows {
    rows: Vec<RankRow>,
    of_vertex: FxHashMap<u32, u32>,
}

impl RankRows {
    /// Rows from entries sorted by (vertex, rank); entries with one key are added up.
    pub fn from_sorted(entries: impl IntoIterator<Item = (u32, u32, f64)>) -> Self {
        let mut this = Self::default();
        let mut shared: FxHashMap<(Vec<u32>, Vec<u64>), u32> = FxHashMap::default();
        let mut row = RankRow::default();
        let mut vertex = None;
        let mut close = |this: &mut Self, vertex: Option<u32>, row: &mut RankRow| {
            let Some(vertex) = vertex else { return };
            let row = std::mem::take(row);
            let bits = row.values.iter().map(|v| v.to_bits()).collect();
            let next = this.rows.len() as u32;
            let index = *shared.entry((row.ranks.clone(), bits)).or_insert(next);
            if index == next {
                this.rows.push(row);
            }
            this.of_vertex.insert(vertex, index);
        };
        for (v, rank, value) in entries {
            if vertex != Some(v) {
                close(&mut this, vertex, &mut row);
                vertex = Some(v);
            }
            match (row.ranks.last(), row.values.last_mut()) {
                (Some(&last), Some(sum)) if last == rank => *sum += value,
                _ => {
                    row.ranks.push(rank);
                    row.values.push(value);
                }
            }
        }
        close(&mut this, vertex, &mut row);
        this
    }

    /// The row of a vertex, if it has data.
    pub fn row(&self, vertex: u32) -> Option<&RankRow> {
        self.of_vertex.get(&vertex).map(|&i| &self.rows[i as usize])
    }

    /// The row of a vertex over all `n` ranks, zeros where it has no data.
    pub fn dense(&self, vertex: u32, n: u32) -> Vec<f64> {
        self.row(vertex)
            .map_or_else(|| vec![0.0; n as usize], |r| r.dense(n))
    }

    /// Vertices that have data, ascending.
    pub fn vertices(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.of_vertex.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// How many different rows are kept.
    pub fn distinct(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_kept_once() {
        let rows = RankRows::from_sorted([
            (1, 0, 2.0),
            (1, 3, 1.0),
            (1, 3, 1.0),
            (2, 0, 2.0),
            (2, 3, 2.0),
            (5, 0, 1.0),
        ]);
        assert_eq!(rows.distinct(), 2);
        assert_eq!(rows.dense(2, 4), vec![2.0, 0.0, 0.0, 2.0]);
        assert_eq!(rows.vertices(), vec![1, 2, 5]);
        assert!(rows.row(7).is_none());
    }
}
