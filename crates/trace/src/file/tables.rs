//! Columns where ranks have values of their own: a table with a row for each rank. Values are often those of a
//! neighbour in a grid of processes, of the step before, or of another column, so each is written as which of some
//! predictions is right. The predictions follow from what was written before; a reader makes the same ones.
//! What a rank receives is what its partner sent, so one of them is what the partner had.

use super::Error;
use super::codec::{Coder, Field};
use super::packed::PackedCounter;
use super::partners::Partners;
use crate::elastic::{Elastic, Form, Part};
use crate::ranks::Ranks;
use crate::vector::{Term, Vector};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The most values of a table, and the most values in a row of one.
pub(super) const MOST_CELLS: u64 = 1 << 16;
const LONGEST_ROW: u64 = 256;

/// The most values of a column that are looked at to find its period.
const MOST_VALUES: u64 = 1 << 22;

/// How many tables are remembered. A step of a program has a few dozen, and its next one has the same.
const REMEMBERED: usize = 48;

/// So many of the last tables are tried as the similar one, of larger tables the last alone.
const TRIED: usize = 12;
const TRIED_CELLS: usize = 1 << 12;

/// So many different predictions are tried for a value, then so many values of before.
const TRIES: usize = 5;
const RECENT: usize = 6;

/// A number of the full form has so many bits, about.
const BITS_PER_TERM: f64 = 6.0;

/// Values by rank and position.
#[derive(Clone, PartialEq)]
pub(super) struct Table {
    width: usize,
    cells: Vec<i64>,
}

impl Table {
    fn rows(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    fn at(&self, row: usize, position: usize) -> Option<i64> {
        (position < self.width)
            .then(|| self.cells.get(row * self.width + position).copied())
            .flatten()
    }
}

/// Tables that were written, the last one at the end.
#[derive(Default)]
pub(super) struct Tables(VecDeque<Table>);

/// A table as it is to be written.
pub(super) struct Planned {
    table: Table,
    form: Form,
    /// How many tables before the last one the similar one is, plus 1; 0 if there is none.
    similar: usize,
    /// Rows from a rank to one that is a neighbour in a grid.
    stride: usize,
}

/// The column of so many values of each rank that has these rows.
fn column(table: &Table, form: Form, ranks: &Ranks, count: u64) -> Option<Elastic> {
    let mut parts: Vec<Part> = Vec::new();
    let mut numbers: FxHashMap<&[i64], usize> = FxHashMap::default();
    for (rank, row) in ranks
        .to_vec()
        .into_iter()
        .zip(table.cells.chunks(table.width))
    {
        let number = *numbers.entry(row).or_insert(parts.len());
        match parts.get_mut(number) {
            Some(part) => part.ranks.add_last(rank),
            None => parts.push(Part {
                values: repeated(row, count)?,
                form,
                ranks: Ranks::one(rank),
            }),
        }
    }
    Some(Elastic { parts })
}

/// A row again and again, `count` values in all.
fn repeated(row: &[i64], count: u64) -> Option<Vector> {
    let first = row.first()?;
    if row.iter().all(|value| value == first) {
        return Some(Vector::repeated(*first, count));
    }
    let once: Vector = row.iter().copied().collect();
    match count / row.len() as u64 {
        1 => Some(once),
        times => Vector::from_terms(vec![Term::Loop {
            body: once.terms().to_vec(),
            times,
        }]),
    }
}

/// The period that the values of all parts have, if it is short.
fn period(elastic: &Elastic, count: u64) -> Option<u64> {
    if count <= 64 {
        return Some(count);
    }
    if count.saturating_mul(elastic.parts.len() as u64) > MOST_VALUES {
        return None;
    }
    let terms = elastic.parts.iter().flat_map(|part| part.values.terms());
    let mut lengths: Vec<u64> = terms
        .filter_map(|term| match term {
            Term::Loop { body, .. } => Some(body.iter().map(Term::len).sum()),
            Term::Run { .. } => None,
        })
        .chain([1])
        .filter(|length| *length <= LONGEST_ROW && count.is_multiple_of(*length))
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths.into_iter().find(|length| {
        let mut parts = elastic.parts.iter();
        parts.all(|part| {
            let later = part.values.iter().skip(*length as usize);
            part.values.iter().zip(later).all(|(a, b)| a == b)
        })
    })
}

/// The table of a column, if it can be written as one.
fn table_of(elastic: &Elastic, ranks: &Ranks, count: u64) -> Option<Table> {
    let rows = ranks.len();
    let form = elastic.parts.first()?.form;
    if elastic.parts.len() < 3
        || rows > MOST_CELLS
        || elastic
            .parts
            .iter()
            .map(|part| part.ranks.len())
            .sum::<u64>()
            != rows
        || (elastic.parts.iter()).any(|part| part.form != form || part.values.len() != count)
    {
        return None;
    }
    let width = period(elastic, count)?;
    if width == 0 || width.saturating_mul(rows) > MOST_CELLS {
        return None;
    }
    let mut by_rank = Vec::new();
    for part in &elastic.parts {
        let row: Vec<i64> = part.values.iter().take(width as usize).collect();
        let of = part.ranks.to_vec().into_iter();
        by_rank.extend(of.map(|rank| (rank, row.clone())));
    }
    by_rank.sort();
    let table = Table {
        width: width as usize,
        cells: by_rank.into_iter().flat_map(|(_, row)| row).collect(),
    };
    (column(&table, form, ranks, count)? == *elastic).then_some(table)
}

/// The distance of rows with which most values agree.
fn best_stride(table: &Table) -> usize {
    let rows = table.rows();
    let root = rows.isqrt();
    let powers = (1..).map(|bit| 1 << bit).take_while(|power| *power < rows);
    let square = (root > 1 && root * root == rows).then_some(root);
    let agree = |stride: usize| {
        let difference = |row: usize, position| {
            let more = table.at(row, position)?;
            Some(more.wrapping_sub(table.at(row - stride, position)?))
        };
        let cells = (stride..rows).flat_map(|row| (0..table.width).map(move |at| (row, at)));
        let like = |(row, at): &(usize, usize)| {
            difference(*row, *at) == at.checked_sub(1).map_or(Some(0), |at| difference(*row, at))
        };
        cells.filter(like).count()
    };
    square
        .into_iter()
        .chain(powers)
        .max_by_key(|stride| (agree(*stride), std::cmp::Reverse(*stride)))
        .unwrap_or(1)
}

/// Whom the ranks of a column call, if that is known, and how many ranks the program has.
pub(super) type Peers<'a> = (Option<&'a Elastic>, u32);

fn partners((peers, size): Peers, ranks: &Ranks, width: usize) -> Partners {
    let of = |peers| Partners::of(peers, ranks, width, size);
    peers.map_or_else(Partners::default, of)
}

impl Tables {
    /// The best way to write a column as a table, if that is shorter than in full, which has so many terms.
    pub(super) fn planned(
        &self,
        elastic: &Elastic,
        ranks: &Ranks,
        count: u64,
        terms: u64,
        peers: Peers,
    ) -> Option<Planned> {
        let table = table_of(elastic, ranks, count)?;
        let partners = &partners(peers, ranks, table.width);
        let form = elastic.parts.first()?.form;
        let stride = best_stride(&table);
        let like = self.0.iter().rev().zip(1..);
        let like = like.filter(|(other, _)| other.rows() == table.rows());
        let most = match table.cells.len() <= TRIED_CELLS {
            true => TRIED,
            false => 1,
        };
        let tried: Vec<usize> = match like.clone().find(|(other, _)| **other == table) {
            Some((_, same)) => vec![same],
            None => like
                .map(|(_, similar)| similar)
                .take(most)
                .chain([0])
                .collect(),
        };
        let plans = tried.into_iter().map(|similar| {
            let mut counter = PackedCounter::new();
            let others = self.similar(similar);
            let written = Coding::new(table.width, table.rows(), others, stride, partners)
                .cells(&mut counter, Some(&table));
            (written.map_or(f64::MAX, |_| counter.bits()), similar)
        });
        let (bits, similar) = plans.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (bits + 16.0 < terms as f64 * BITS_PER_TERM).then_some(Planned {
            table,
            form,
            similar,
            stride,
        })
    }

    fn similar(&self, number: usize) -> Option<&Table> {
        let from_end = number.checked_sub(1)?;
        self.0.get(self.0.len().checked_sub(1 + from_end)?)
    }

    /// Writes or reads a column; `ranks` and `count` are whose values it has and how many each.
    pub(super) fn column(
        &mut self,
        coder: &mut impl Coder,
        given: Option<&Planned>,
        (ranks, count): (&Ranks, u64),
        form: Form,
        peers: Peers,
    ) -> Result<Elastic, Error> {
        let width = given.map_or(0, |plan| plan.table.width as u64);
        let width = coder.number(Field::Table, 0, width)?;
        let rows = ranks.len();
        let fits = width > 0
            && width <= LONGEST_ROW
            && width.saturating_mul(rows) <= MOST_CELLS
            && count.is_multiple_of(width)
            && count > 0;
        if !fits {
            return Err(Error::Malformed);
        }
        let similar = given.map_or(0, |plan| plan.similar as u64);
        let similar = coder.number(Field::Table, 1, similar)? as usize;
        let stride = given.map_or(0, |plan| plan.stride as u64);
        let stride = coder.number(Field::Table, 2, stride)?;
        if similar > self.0.len() || stride == 0 || stride > MOST_CELLS {
            return Err(Error::Malformed);
        }
        let partners = partners(peers, ranks, width as usize);
        let coding = Coding::new(
            width as usize,
            rows as usize,
            self.similar(similar),
            stride as usize,
            &partners,
        );
        let table = coding.cells(coder, given.map(|plan| &plan.table))?;
        let made = column(&table, form, ranks, count).ok_or(Error::Malformed)?;
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(table);
        Ok(made)
    }
}

impl Planned {
    pub(super) fn form(&self) -> Form {
        self.form
    }
}

/// A table while it is written or read.
struct Coding<'a> {
    table: Table,
    rows: usize,
    similar: Option<&'a Table>,
    stride: usize,
    partners: &'a Partners,
    /// How good each prediction was lately.
    scores: [u32; PREDICTIONS],
    /// By place in the similar table: which value its value meant the last time, and the last difference.
    meanings: [FxHashMap<i64, i64>; PLACES],
    differences: [i64; PLACES],
    /// What was last added to the value of the neighbour in the grid, and something else before.
    steps: [i64; 2],
    /// Values that could not be predicted, the last one first.
    recent: Vec<i64>,
    /// Whether the first prediction was right, by cell.
    hits: Vec<bool>,
}

/// Places in a similar table: rows up or down the grid, and positions from the same one or from the last one; and
/// the partner's row.
const PLACES: usize = 11;
/// Predictions from the table itself.
const OWN: usize = 12;
const PREDICTIONS: usize = OWN + PLACES;

impl<'a> Coding<'a> {
    fn new(
        width: usize,
        rows: usize,
        similar: Option<&'a Table>,
        stride: usize,
        partners: &'a Partners,
    ) -> Self {
        Self {
            table: Table {
                width,
                cells: Vec::new(),
            },
            rows,
            similar,
            stride,
            partners,
            scores: [512; PREDICTIONS],
            meanings: Default::default(),
            differences: [0; PLACES],
            steps: [0; 2],
            recent: Vec::new(),
            hits: Vec::new(),
        }
    }

    fn cells(mut self, coder: &mut impl Coder, given: Option<&Table>) -> Result<Table, Error> {
        for row in 0..self.rows {
            for position in 0..self.table.width {
                let value = given.and_then(|table| table.at(row, position));
                self.cell(coder, value.unwrap_or(0), row, position)?;
            }
        }
        Ok(self.table)
    }

    fn cell(
        &mut self,
        coder: &mut impl Coder,
        value: i64,
        row: usize,
        position: usize,
    ) -> Result<(), Error> {
        let others = self.others(row, position);
        let predictions = self.predictions(row, position, &others);
        let mut order: [usize; PREDICTIONS] = std::array::from_fn(|i| i);
        order.sort_by_key(|i| std::cmp::Reverse(self.scores[*i]));
        let mut tried: Vec<i64> = Vec::with_capacity(TRIES + RECENT);
        let above = (row > 0).then(|| self.hits.get((row - 1) * self.table.width + position));
        let above = above.flatten().map_or(2, |hit| u32::from(*hit));
        let mut found = None;
        for i in order {
            let Some(prediction) = predictions[i].filter(|value| !tried.contains(value)) else {
                continue;
            };
            let context = (tried.len() as u32 * 3 + above) * 8 + self.scores[i] / 129;
            if coder.flag(Field::Hit, context, value == prediction)? {
                found = Some(prediction);
                break;
            }
            tried.push(prediction);
            if tried.len() == TRIES {
                break;
            }
        }
        let is_first = found.is_some() && tried.is_empty();
        let value = match found {
            Some(value) => value,
            None => self.unexpected(coder, value, &tried)?,
        };
        self.learn(value, row, position, &others, &predictions);
        self.hits.push(is_first);
        self.table.cells.push(value);
        Ok(())
    }

    /// A value that no prediction has.
    fn unexpected(
        &mut self,
        coder: &mut impl Coder,
        value: i64,
        tried: &[i64],
    ) -> Result<i64, Error> {
        let known = self.recent.iter().filter(|known| !tried.contains(known));
        let known: Vec<i64> = known.copied().take(RECENT).collect();
        let symbol = known.iter().position(|known| *known == value);
        let symbol = symbol.map_or(0, |at| at as u64 + 1);
        let value = match coder.number(Field::Recent, known.len() as u32, symbol)? {
            0 => {
                let near = self.table.cells.last().copied().unwrap_or(0);
                let context = u32::from(self.table.cells.is_empty());
                let more = coder.signed(Field::Miss, context, value.wrapping_sub(near))?;
                near.wrapping_add(more)
            }
            symbol => *known.get(symbol as usize - 1).ok_or(Error::Malformed)?,
        };
        self.recent.retain(|known| *known != value);
        self.recent.insert(0, value);
        self.recent.truncate(RECENT + TRIES);
        Ok(value)
    }

    /// What is at each place in the similar table.
    fn others(&self, row: usize, position: usize) -> [Option<i64>; PLACES] {
        let Some(similar) = self.similar else {
            return [None; PLACES];
        };
        let last = similar.width - 1;
        let next = |by: usize| (row + by) % self.rows;
        let before = |by: usize| (row + self.rows - by % self.rows) % self.rows;
        let back = last.checked_sub(position);
        [
            similar.at(row, position),
            position.checked_sub(1).and_then(|at| similar.at(row, at)),
            similar.at(row, position + 1),
            back.and_then(|at| similar.at(row, at)),
            back.and_then(|at| similar.at(row, at.checked_sub(1)?)),
            similar.at(row, back.map_or(0, |at| at + 1)),
            similar.at(next(1), position),
            similar.at(before(1), position),
            similar.at(next(self.stride), position),
            similar.at(before(self.stride), position),
            (self.partners.at(row, position)).and_then(|row| similar.at(row, position)),
        ]
    }

    fn predictions(
        &self,
        row: usize,
        position: usize,
        others: &[Option<i64>; PLACES],
    ) -> [Option<i64>; PREDICTIONS] {
        let table = &self.table;
        let (width, stride) = (table.width, self.stride);
        let up = |by: usize, at: usize| row.checked_sub(by).and_then(|row| table.at(row, at));
        let left = |by: usize| position.checked_sub(by).and_then(|at| table.at(row, at));
        let more = |value: Option<i64>, a: Option<i64>, b: Option<i64>| {
            Some(value?.wrapping_add(a?.wrapping_sub(b?)))
        };
        let before = (position + width - 1) % width;
        let after = (position + 1) % width;
        let gradient = |by: usize| match position {
            0 => more(up(by, 0), up(1, 0), up(1 + by, 0)),
            _ => more(up(by, position), left(1), up(by, position - 1)),
        };
        let mut all = [None; PREDICTIONS];
        let own: [Option<i64>; OWN] = [
            up(1, position),
            gradient(1),
            up(1, before),
            up(1, after),
            up(stride, position),
            gradient(stride),
            up(stride, before),
            up(stride, after),
            left(1),
            more(left(1), left(1), left(2)),
            up(stride, position).map(|value| value.wrapping_add(self.steps[1])),
            (self.partners.at(row, position)).and_then(|row| table.at(row, position)),
        ];
        all[..OWN].copy_from_slice(&own);
        let places = all[OWN..].iter_mut().zip(others).zip(0..);
        for ((prediction, other), place) in places {
            let meaning = |other: i64| {
                let known = self.meanings[place].get(&other).copied();
                known.unwrap_or(other.wrapping_add(self.differences[place]))
            };
            *prediction = other.map(meaning);
        }
        all
    }

    fn learn(
        &mut self,
        value: i64,
        row: usize,
        position: usize,
        others: &[Option<i64>; PLACES],
        predictions: &[Option<i64>; PREDICTIONS],
    ) {
        for (score, prediction) in self.scores.iter_mut().zip(predictions) {
            match prediction {
                Some(prediction) if *prediction == value => *score += (1024 - *score) / 8,
                Some(_) => *score -= *score / 8,
                None => {}
            }
        }
        for (place, other) in others.iter().enumerate() {
            if let Some(other) = other {
                self.meanings[place].insert(*other, value);
                self.differences[place] = value.wrapping_sub(*other);
            }
        }
        let near = row.checked_sub(self.stride);
        if let Some(near) = near.and_then(|row| self.table.at(row, position)) {
            let step = value.wrapping_sub(near);
            if step != self.steps[0] {
                self.steps = [step, self.steps[0]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a table takes.
    fn bits(table: &Table, similar: Option<&Table>, partners: &Partners) -> f64 {
        let mut counter = PackedCounter::new();
        let coding = Coding::new(table.width, table.rows(), similar, 1, partners);
        coding.cells(&mut counter, Some(table)).unwrap();
        counter.bits()
    }

    #[test]
    fn what_the_partner_sent_is_what_is_received() {
        const ROWS: usize = 64;
        let random = |i: usize| (i * i * 7919 + 13) as i64 * 104_729 % 9973;
        let sent = Table {
            width: 2,
            cells: (0..2 * ROWS).map(random).collect(),
        };
        // Each rank receives from one that is 27 ranks further.
        let from = |row: usize| (row + 27) % ROWS;
        let cells = (0..ROWS).flat_map(|row| [0, 1].map(|at| sent.at(from(row), at).unwrap()));
        let received = Table {
            width: 2,
            cells: cells.collect(),
        };
        let mut ranks = Ranks::one(0);
        (1..ROWS as u32).for_each(|rank| ranks.add_last(rank));
        let peers = Part {
            values: Vector::repeated(27, 10),
            form: Form::Relative,
            ranks: ranks.clone(),
        };
        let peers = Elastic { parts: vec![peers] };
        let partners = Partners::of(&peers, &ranks, 2, ROWS as u32);
        assert_eq!(partners.at(60, 1), Some(23));
        let alone = bits(&received, Some(&sent), &Partners::default());
        let with_partners = bits(&received, Some(&sent), &partners);
        assert!(with_partners * 10.0 < alone, "{with_partners} of {alone}");
    }
}
