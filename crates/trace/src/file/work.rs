//! How long ranks compute at places: for each place its thread and signatures, then rows of units and ranks, or, if that
//! is shorter, the units of every rank as differences from the smallest ones.

use super::Error;
use super::body::Body;
use super::codec::{Coder, Field};
use crate::outliers::sums;
use crate::ranks::Ranks;
use crate::trace::{BEGIN, Node};
use crate::work::{Place, Units, Work};
use std::collections::BTreeMap;

/// Ranks whose units are written one by one are at most so many.
const MOST_ONE_BY_ONE: u64 = 1 << 20;

/// Each rank is followed by a number of its own, so this many of them count as one that is repeated.
const PAID: u64 = 16;

impl<C: Coder> Body<'_, C> {
    /// Work at places. In the packed form, those of events with times are flags; `streams` are these events.
    pub(super) fn work(
        &mut self,
        given: Option<&Work>,
        streams: &BTreeMap<u32, Vec<Node>>,
    ) -> Result<Work, Error> {
        let grain = self.u32(Field::Grain, 0, given.map_or(0, |w| w.grain))?;
        if grain >= 64 {
            return Err(Error::Malformed);
        }
        let mut left = given.map_or_else(BTreeMap::new, |w| w.places.iter().collect());
        let mut places = BTreeMap::new();
        if self.coder.is_packed() {
            let mut computed = BTreeMap::new();
            for (thread, row) in streams {
                sums(row, *thread, &mut computed);
            }
            for (place, (cpu, _)) in computed {
                let one = left.remove(&place);
                // A place that matters has half a unit on one rank at least.
                let halves = u64::BITS - (cpu >> grain.saturating_sub(1)).leading_zeros();
                let has = (self.coder).flag(Field::UnitMode, 2 + halves, one.is_some())?;
                if has {
                    places.insert(place, self.units(one.map(Vec::as_slice))?);
                }
            }
        }
        let count = self.count(Field::Number, 6, left.len())?;
        let mut left = left.into_iter();
        for _ in 0..count {
            let one = left.next();
            let thread = self.u32(Field::Thread, 1, one.map_or(0, |(p, _)| p.thread))?;
            let (signature, _) = self.signature(one.map(|(p, _)| p.signature))?;
            let is_first = one.is_some_and(|(p, _)| p.before == BEGIN);
            let before = match self.coder.flag(Field::UnitMode, 1, is_first)? {
                true => BEGIN,
                false => self.signature(one.map(|(p, _)| p.before))?.0,
            };
            let place = Place {
                thread,
                signature,
                before,
            };
            places.insert(place, self.units(one.map(|(_, units)| units.as_slice()))?);
        }
        Ok(Work { grain, places })
    }

    fn units(&mut self, given: Option<&[(u64, Ranks)]>) -> Result<Units, Error> {
        let ranks: u64 = given.map_or(0, |u| u.iter().map(|(_, ranks)| ranks.len()).sum());
        // A row takes some bytes, a rank's difference mostly less than one.
        let is_dense = given.is_some_and(|u| u.len() > 1 && u.len() as u64 * 3 > ranks)
            && ranks <= MOST_ONE_BY_ONE
            && self.may_repeat(ranks / PAID);
        let mut units = BTreeMap::new();
        if !self.coder.flag(Field::UnitMode, 0, is_dense)? {
            let count = self.count(Field::Number, 7, given.map_or(0, <[_]>::len))?;
            let mut last = 0_u64;
            let mut all = Vec::new();
            for i in 0..count {
                let one = given.and_then(|units| units.get(i as usize));
                let step = one.map_or(0, |(n, _)| n - last);
                let step = self.coder.number(Field::Units, 0, step)?;
                last = last.checked_add(step).ok_or(Error::Malformed)?;
                let ranks = one.map(|(_, ranks)| ranks.canonical());
                let ranks = self.ranks(ranks.as_ref())?;
                all.extend(ranks.blocks().iter().cloned());
                let is_empty = ranks.is_empty();
                let is_again = units.insert(last, ranks).is_some();
                if given.is_none() && (is_empty || is_again) {
                    return Err(Error::Malformed);
                }
            }
            // No rank is in two rows.
            if given.is_none() {
                all.sort();
                self.checked_ranks(all)?;
            }
            return Ok(kept(units));
        }
        let mut all = Ranks::default();
        let mut by_rank = BTreeMap::new();
        for (n, ranks) in given.unwrap_or(&[]) {
            all.unite(ranks);
            by_rank.extend(ranks.to_vec().into_iter().map(|rank| (rank, *n)));
        }
        let all = all.canonical();
        let least = given.and_then(<[_]>::first).map_or(0, |(n, _)| *n);
        let least = self.coder.number(Field::Units, 1, least)?;
        let all = self.ranks(given.is_some().then_some(&all))?;
        if all.len() > MOST_ONE_BY_ONE {
            return Err(Error::Malformed);
        }
        self.repeat(all.len() / PAID)?;
        for rank in all.to_vec() {
            let more = by_rank.get(&rank).map_or(0, |n| n - least);
            let more = self.coder.number(Field::Units, 2, more)?;
            let n = least.checked_add(more).ok_or(Error::Malformed)?;
            // Ranks come in their order.
            units.entry(n).or_insert_with(Ranks::default).add_last(rank);
        }
        Ok(kept(units))
    }
}

fn kept(units: BTreeMap<u64, Ranks>) -> Units {
    units.into_iter().filter(|(n, _)| *n > 0).collect()
}
