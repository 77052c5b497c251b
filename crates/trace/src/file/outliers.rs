//! Executions that took much longer than others: by thread, rows of ranks that have the same ones.

use super::Error;
use super::body::Body;
use super::codec::{Coder, Field};
use crate::outliers::{Outlier, Outliers, Rows, code, of_code};
use std::collections::BTreeMap;

impl<C: Coder> Body<'_, C> {
    pub(super) fn outliers(&mut self, given: Option<&Outliers>) -> Result<Outliers, Error> {
        let given: Vec<_> = given.into_iter().flatten().collect();
        let count = self.count(Field::Number, 9, given.len())?;
        let mut all = BTreeMap::new();
        for i in 0..count {
            let one = given.get(i as usize);
            let thread = self.u32(Field::Thread, 2, one.map_or(0, |(thread, _)| **thread))?;
            let rows = self.outlier_rows(one.map(|(_, rows)| *rows))?;
            if all.insert(thread, rows).is_some() {
                return Err(Error::Malformed);
            }
        }
        Ok(all)
    }

    fn outlier_rows(&mut self, given: Option<&Rows>) -> Result<Rows, Error> {
        let count = self.count(Field::Number, 10, given.map_or(0, Vec::len))?;
        let (mut rows, mut blocks) = (Rows::new(), Vec::new());
        for i in 0..count {
            let one = given.and_then(|rows| rows.get(i as usize));
            let ranks = one.map(|(_, ranks)| ranks.canonical());
            let ranks = self.ranks(ranks.as_ref())?;
            if given.is_none() && ranks.is_empty() {
                return Err(Error::Malformed);
            }
            blocks.extend(ranks.blocks().iter().cloned());
            let outliers = self.outliers_of_row(one.map_or(&[], |(outliers, _)| outliers))?;
            rows.push((outliers, ranks));
        }
        // No rank is in two rows.
        if given.is_none() {
            blocks.sort();
            self.checked_ranks(blocks)?;
            if !rows.is_sorted_by(|(a, _), (b, _)| a < b) {
                return Err(Error::Malformed);
            }
        }
        Ok(rows)
    }

    /// Each is a distance from the one before, which often comes again, and a length.
    fn outliers_of_row(&mut self, given: &[Outlier]) -> Result<Vec<Outlier>, Error> {
        let count = self.count(Field::Number, 11, given.len())?;
        let (mut next, mut last, mut outliers) = (0_u64, 0, Vec::new());
        for i in 0..count {
            let one = given.get(i as usize);
            let distance = one.map_or(0, |o| o.event.saturating_sub(next));
            let distance = self.coder.number(Field::Units, 3, distance)?;
            let event = next.checked_add(distance).ok_or(Error::Malformed)?;
            next = event.checked_add(1).ok_or(Error::Malformed)?;
            let length = one.map_or(0, |o| code(o.nanoseconds) as i64 - last);
            let length = self.coder.signed(Field::Units, 4, length)?;
            last = last.checked_add(length).ok_or(Error::Malformed)?;
            let length = u64::try_from(last).map_err(|_| Error::Malformed)?;
            outliers.push(Outlier {
                event,
                nanoseconds: of_code(length).ok_or(Error::Malformed)?,
            });
        }
        Ok(outliers)
    }
}
