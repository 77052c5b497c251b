//! Whom ranks call, for predictions: what a rank receives is what its partner sent.

use super::tables::MOST_CELLS;
use crate::elastic::{Elastic, Place};
use crate::ranks::Ranks;
use crate::vector::Term;

/// The ranks that those of a column call: rows of its table, by rank and position. They are a guess where ranks of a
/// communicator are not those of the program, or where peers repeat with another period, which costs bits but no truth.
#[derive(Default)]
pub(super) struct Partners {
    width: usize,
    rows: Vec<Option<usize>>,
}

impl Partners {
    /// Of a column of peers; the table has `ranks` and rows of `width` values, the program has `size` ranks. None if the
    /// column has more ranks than the table: making them takes no longer than the table does.
    pub(super) fn of(peers: &Elastic, ranks: &Ranks, width: usize, size: u32) -> Self {
        if peers.parts.len() as u64 > ranks.len() || ranks.len() > MOST_CELLS {
            return Self::default();
        }
        let count: u64 = peers.parts.iter().map(|part| part.ranks.len()).sum();
        let lengths = peers.parts.iter().map(|part| match part.values.terms() {
            [Term::Run { stride: 0, .. }] => 1,
            _ => part.values.len(),
        });
        let width = lengths.max().unwrap_or(0).clamp(1, width.max(1) as u64);
        if count > ranks.len() {
            return Self::default();
        }
        let ranks = ranks.to_vec();
        let row_of = |rank: i64| ranks.binary_search(&u32::try_from(rank).ok()?).ok();
        let width = width as usize;
        let mut rows = vec![None; ranks.len() * width];
        for part in &peers.parts {
            let values: Vec<i64> = part.values.iter().take(width).collect();
            for rank in part.ranks.to_vec() {
                let place = Place {
                    me: i64::from(rank),
                    size: i64::from(size),
                };
                let row = row_of(i64::from(rank)).and_then(|row| rows.chunks_mut(width).nth(row));
                let cells = row.into_iter().flatten().zip(values.iter().cycle());
                cells.for_each(|(cell, value)| *cell = row_of(part.form.rank(*value, place)));
            }
        }
        Self { width, rows }
    }

    pub(super) fn at(&self, row: usize, position: usize) -> Option<usize> {
        let position = position.checked_rem(self.width)?;
        self.rows
            .get(row * self.width + position)
            .copied()
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Vector;

    #[test]
    fn a_partner_outside_the_table_is_none() {
        let ranks = Ranks::one(5);
        let peers = Elastic::of(Vector::repeated(-1, 1), ranks.clone());
        assert_eq!(Partners::of(&peers, &ranks, 1, 8).at(0, 0), None);
        assert_eq!(Partners::default().at(3, 4), None);
    }
}
