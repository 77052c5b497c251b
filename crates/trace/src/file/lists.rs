//! Lists of values, such as the counts and displacements of an `MPI_Alltoallv`.
//!
//! What a rank receives from each other one is what each other one sends to it: a column of the lists before. Lists of
//! later steps often differ from one before in few values.

use super::Error;
use super::body::Body;
use super::codec::{Coder, Field};
use super::columns::{bits, weight_of_terms};
use crate::trace::Kind;
use crate::vector::Vector;
use rustc_hash::FxHashMap;

/// Ways to write a list.
mod mode {
    /// As a vector.
    pub const TERMS: u64 = 0;
    /// What its values are more than those of a list before it.
    pub const DIFFERENCES: u64 = 1;
    /// The sums of the first values of another list: displacements of its counts.
    pub const SUMS: u64 = 2;
    /// The values at one position of lists before it, one after the other.
    pub const COLUMN: u64 = 3;
    /// What its values are more than one number.
    pub const AROUND: u64 = 4;
}

/// Steps that looking for the best way may take for all lists.
const STEPS: u64 = 1 << 25;

/// Lists of more values are written as vectors or as sums.
const LONGEST: u64 = 1 << 16;

/// The identity of a list as a recorder computes it. Long ones have their identity in the file.
pub(super) fn list_identity(list: &Vector) -> Option<i64> {
    const LONGEST: u64 = 4096;
    (list.len() <= LONGEST).then(|| crate::identity::list_identity(list.len(), list.iter()))
}

/// How a list is to be written.
#[derive(Clone, Copy)]
enum Plan {
    Terms,
    /// From the list at this position.
    Differences(usize),
    /// Of the list at this position.
    Sums(usize),
    /// From the list at this position on, the values at a position in them.
    Column(usize, usize),
    Around(i64),
}

impl Plan {
    fn mode(self) -> u64 {
        match self {
            Self::Terms => mode::TERMS,
            Self::Differences(_) => mode::DIFFERENCES,
            Self::Sums(_) => mode::SUMS,
            Self::Column(..) => mode::COLUMN,
            Self::Around(_) => mode::AROUND,
        }
    }
}

/// What a writer looks for: the best plan for each list.
struct Planning<'a> {
    lists: &'a [&'a Vector],
    /// Values of short lists.
    values: Vec<Vec<i64>>,
    sums: FxHashMap<i64, usize>,
    /// Where the last column was.
    column: Option<(usize, usize)>,
    left: u64,
}

impl<'a> Planning<'a> {
    fn new(lists: &'a [&'a Vector], is_packed: bool) -> Self {
        let short = |list: &&Vector| match list.len() <= LONGEST {
            true => list.iter().collect(),
            false => Vec::new(),
        };
        let values: Vec<Vec<i64>> = match is_packed {
            true => lists.iter().map(short).collect(),
            false => Vec::new(),
        };
        Self {
            lists,
            values,
            sums: sums_by_identity(lists),
            column: None,
            left: STEPS,
        }
    }

    fn plan(&mut self, at: usize) -> Plan {
        let Some(list) = self.lists.get(at).copied() else {
            return Plan::Terms;
        };
        if let Some(base) = self.sums_of_another(list, at) {
            return Plan::Sums(base);
        }
        if self.values.is_empty() {
            let last = at.checked_sub(1).and_then(|last| self.lists.get(last));
            return match last {
                Some(last) if differ_little(list, last) => Plan::Differences(at - 1),
                _ => Plan::Terms,
            };
        }
        let values = std::mem::take(&mut self.values[at]);
        let plan = self.of_values(&values, list, at);
        self.values[at] = values;
        plan
    }

    fn sums_of_another(&self, list: &Vector, at: usize) -> Option<usize> {
        let base = *self.sums.get(&list_identity(list)?)?;
        let other = self.lists.get(base).filter(|_| base < at)?;
        (list.terms() == sums_of(other).terms()).then_some(base)
    }

    fn of_values(&mut self, values: &[i64], list: &Vector, at: usize) -> Plan {
        // A reader makes a vector of the values, which has to be the same one.
        let is_usual = list.terms() == values.iter().copied().collect::<Vector>().terms();
        if values.is_empty() || !is_usual {
            return Plan::Terms;
        }
        let terms = weight_of_terms(list.terms()) * 10;
        if terms <= 20 {
            return Plan::Terms;
        }
        if let Some((base, position)) = self.column_of(values, at) {
            self.column = Some((base, position));
            return Plan::Column(base, position);
        }
        let center = values.iter().map(|value| i128::from(*value)).sum::<i128>();
        let center = (center / values.len() as i128) as i64;
        let mut best = (terms, Plan::Terms);
        let mut consider = |cost: u64, plan: Plan| {
            if cost < best.0 {
                best = (cost, plan);
            }
        };
        let around = cost(values, values.iter().map(|_| center), 2);
        consider(20 + around, Plan::Around(center));
        for (base, other) in self.values.iter().enumerate().take(at).rev() {
            let Some(left) = self.left.checked_sub(values.len() as u64) else {
                break;
            };
            self.left = left;
            if other.len() == values.len() {
                let cost = 8 + cost(values, other.iter().copied(), 3);
                consider(cost, Plan::Differences(base));
            }
        }
        best.1
    }

    /// Where the lists begin that have these values at one position, and the position.
    fn column_of(&mut self, values: &[i64], at: usize) -> Option<(usize, usize)> {
        let lists = &self.values;
        let has = |base: usize, position: usize| {
            base + values.len() <= at
                && (values.iter().zip(lists.iter().skip(base)))
                    .all(|(value, list)| list.get(position) == Some(value))
        };
        if let Some((base, position)) = self.column
            && has(base, position + 1)
        {
            return Some((base, position + 1));
        }
        let first = values.first()?;
        for base in 0..at.checked_sub(values.len())? + 1 {
            let list = lists.get(base)?;
            self.left = self.left.checked_sub(list.len() as u64)?;
            let here = list.iter().enumerate().filter(|(_, value)| *value == first);
            for (position, _) in here {
                self.left = self.left.checked_sub(8)?;
                if has(base, position) {
                    return Some((base, position));
                }
            }
        }
        None
    }
}

/// Lists as rows of a table whose columns are lists.
#[derive(Default)]
struct Columns {
    /// Where the next column probably is: the first list and the position in the lists.
    next: (u64, u64),
    /// Values of lists that a column has used, by the position of the list.
    values: FxHashMap<usize, Vec<i64>>,
}

impl Columns {
    /// How many values have to be written out for a column of so many lists.
    fn weight(&self, lists: &[Vector], base: usize, length: u64) -> u64 {
        let of = lists.iter().enumerate().skip(base);
        let new = of.take(usize::try_from(length).unwrap_or(usize::MAX));
        let new = new.filter(|(at, _)| !self.values.contains_key(at));
        new.fold(length, |all, (_, list)| all.saturating_add(list.len()))
    }
}

/// Bits that values take as differences, about; each that is not 0 takes some more than it has.
fn cost(values: &[i64], others: impl Iterator<Item = i64>, more_than_bits: u64) -> u64 {
    let pairs = values.iter().zip(others);
    let differences = pairs.map(|(a, b)| match a.wrapping_sub(b) {
        0 => 0,
        more => more_than_bits + u64::from(bits(more)),
    });
    differences.sum::<u64>() + values.len() as u64 / 2
}

impl<C: Coder> Body<'_, C> {
    /// Lists of values.
    pub(super) fn list_values(
        &mut self,
        given: Option<&Vec<&Vector>>,
    ) -> Result<Vec<Vector>, Error> {
        let of = given.map_or(&[][..], Vec::as_slice);
        let mut planning = Planning::new(of, self.coder.is_packed());
        let count = self.count(Field::Number, 6, of.len())?;
        let mut lists: Vec<Vector> = Vec::new();
        let mut next_base = 0_i64;
        let mut center = 0;
        let mut columns = Columns::default();
        for i in 0..count {
            let one = of.get(i as usize).copied();
            let mut plan = planning.plan(i as usize);
            let length = one.map_or(0, Vector::len);
            let repeated = match plan {
                Plan::Sums(_) => length,
                Plan::Column(base, _) => columns.weight(&lists, base, length),
                _ => 0,
            };
            if !self.may_repeat(repeated) {
                plan = Plan::Terms;
            }
            let vector = match self.coder.number(Field::ListMode, 0, plan.mode())? {
                mode::SUMS => self.sums(plan, &lists, &mut next_base)?,
                mode::DIFFERENCES => self.differences(plan, one, &lists)?,
                mode::COLUMN => self.column_of_lists(plan, length, &lists, &mut columns)?,
                mode::AROUND => self.around(plan, one, &lists, &mut center)?,
                mode::TERMS => {
                    let expected = lists.last().map_or(0, Vector::len);
                    let mut before = 0;
                    let given = one.map(Vector::terms);
                    self.vector(given, expected, Kind::Plain, &mut before)?
                }
                _ => return Err(Error::Malformed),
            };
            lists.push(vector);
        }
        Ok(lists)
    }

    fn sums(&mut self, plan: Plan, lists: &[Vector], next_base: &mut i64) -> Result<Vector, Error> {
        let base = match plan {
            Plan::Sums(base) => base as i64 - *next_base,
            _ => 0,
        };
        let base = self.coder.signed(Field::ListMode, 1, base)?;
        let base = next_base.saturating_add(base);
        *next_base = base.saturating_add(1);
        let base = usize::try_from(base).ok().and_then(|base| lists.get(base));
        let base = base.ok_or(Error::Malformed)?;
        self.repeat(base.len())?;
        Ok(sums_of(base))
    }

    fn differences(
        &mut self,
        plan: Plan,
        given: Option<&Vector>,
        lists: &[Vector],
    ) -> Result<Vector, Error> {
        let last = lists.len().checked_sub(1).ok_or(Error::Malformed)?;
        let distance = match plan {
            Plan::Differences(base) => last - base,
            _ => 0,
        };
        let distance = self.count(Field::Base, 0, distance)?;
        let distance = usize::try_from(distance).map_err(|_| Error::Malformed)?;
        let base = last.checked_sub(distance).and_then(|base| lists.get(base));
        let base = base.ok_or(Error::Malformed)?;
        let mut vector = Vector::default();
        let mut values = given.map(Vector::iter);
        let mut size = 0;
        for before in base.iter() {
            let value = values.as_mut().and_then(Iterator::next).unwrap_or(0);
            let more = value.wrapping_sub(before);
            let more = self.coder.signed(Field::ListValue, size, more)?;
            size = 1 + bits(more).min(6);
            vector.push(before.wrapping_add(more));
        }
        Ok(vector)
    }

    fn column_of_lists(
        &mut self,
        plan: Plan,
        length: u64,
        lists: &[Vector],
        columns: &mut Columns,
    ) -> Result<Vector, Error> {
        let (base, position) = match plan {
            Plan::Column(base, position) => (base as u64, position as u64),
            _ => (0, 0),
        };
        let (next_base, next_position) = columns.next;
        let is_next = (base, position) == (next_base, next_position);
        let (base, position) = match self.coder.flag(Field::Base, 1, is_next)? {
            true => (next_base, next_position),
            false => (
                self.coder.number(Field::Base, 2, base)?,
                self.coder.number(Field::Base, 3, position)?,
            ),
        };
        columns.next = (base, position.saturating_add(1));
        let length = (self.coder).below(Field::Base, 4, length, lists.len() as u64)?;
        let base = usize::try_from(base).map_err(|_| Error::Malformed)?;
        let position = usize::try_from(position).map_err(|_| Error::Malformed)?;
        self.repeat(columns.weight(lists, base, length))?;
        let of = lists.iter().enumerate().skip(base).take(length as usize);
        let values = of.map(|(at, list)| {
            let values = columns.values.entry(at);
            let values = values.or_insert_with(|| list.iter().collect());
            values.get(position).copied()
        });
        let vector: Vector = values.collect::<Option<_>>().ok_or(Error::Malformed)?;
        (vector.len() == length)
            .then_some(vector)
            .ok_or(Error::Malformed)
    }

    fn around(
        &mut self,
        plan: Plan,
        given: Option<&Vector>,
        lists: &[Vector],
        last_center: &mut i64,
    ) -> Result<Vector, Error> {
        let center = match plan {
            Plan::Around(center) => center.wrapping_sub(*last_center),
            _ => 0,
        };
        let center = last_center.wrapping_add(self.coder.signed(Field::Around, 0, center)?);
        *last_center = center;
        let last = lists.last().map_or(0, Vector::len);
        let length = given.map_or(0, Vector::len);
        let length = match self.coder.flag(Field::Around, 1, length == last)? {
            true => last,
            false => self.coder.number(Field::Around, 2, length)?,
        };
        let mut values = given.map(Vector::iter);
        let mut vector = Vector::default();
        for _ in 0..length {
            let value = values.as_mut().and_then(Iterator::next).unwrap_or(0);
            let more = value.wrapping_sub(center);
            let more = self.coder.signed(Field::Around, 3, more)?;
            vector.push(center.wrapping_add(more));
        }
        Ok(vector)
    }
}

/// The sums of a list's first values: none of them, one, two, …
fn sums_of(list: &Vector) -> Vector {
    let mut sum = 0_i64;
    let mut sums = Vector::default();
    for value in list.iter() {
        sums.push(sum);
        sum = sum.wrapping_add(value);
    }
    sums
}

fn sums_by_identity(lists: &[&Vector]) -> FxHashMap<i64, usize> {
    let mut sums = FxHashMap::default();
    for (i, list) in lists.iter().enumerate() {
        if list_identity(list).is_some()
            && let Some(identity) = list_identity(&sums_of(list))
        {
            sums.entry(identity).or_insert(i);
        }
    }
    sums
}

/// Whether a list is shorter as differences from another one.
fn differ_little(one: &Vector, last: &Vector) -> bool {
    if one.len() != last.len() || one.len() > LONGEST {
        return false;
    }
    let terms = weight_of_terms(one.terms()) * 12;
    let differences: u64 = one
        .iter()
        .zip(last.iter())
        .map(|(a, b)| 1 + u64::from(bits(a.wrapping_sub(b))))
        .sum();
    differences < terms && one.terms() == one.iter().collect::<Vector>().terms()
}
