//! Values: sets of ranks, vectors, and columns of an event.

use super::Error;
use super::body::{Body, DEEPEST, Identities};
use super::codec::{Coder, Field};
use super::tables::Planned;
use crate::elastic::{Elastic, Form, Part};
use crate::ranks::{Block, Ranks};
use crate::trace::Kind;
use crate::vector::{Term, Vector};

/// How often something ran, by number of the set of ranks.
pub(super) type Runs = [(u64, usize)];

/// Values of several parts or terms, which may come again.
pub(super) struct Known {
    elastic: Elastic,
    sets: Vec<usize>,
    weight: u64,
}

/// How many of them are remembered.
const REMEMBERED: usize = 64;

/// Ways to write a column.
mod mode {
    /// One value for all, the same as the last one of this function's column.
    pub const AGAIN: u64 = 0;
    /// One value for all.
    pub const CONSTANT: u64 = 1;
    /// As one that was written in full.
    pub const KNOWN: u64 = 2;
    /// In full.
    pub const FULL: u64 = 3;
    /// A row of values for each rank.
    pub const TABLE: u64 = 4;
}

fn form_number(form: Form) -> u64 {
    match form {
        Form::Absolute => 0,
        Form::Relative => 1,
        Form::Butterfly => 2,
    }
}

fn weight_of_ranks(ranks: &Ranks) -> u64 {
    let blocks = ranks.blocks().iter();
    blocks.map(|block| 1 + block.dims.len() as u64).sum()
}

pub(super) fn weight_of_terms(terms: &[Term]) -> u64 {
    let one = |term: &Term| match term {
        Term::Run { .. } => 1,
        Term::Loop { body, .. } => 1 + weight_of_terms(body),
    };
    terms.iter().map(one).sum()
}

fn length(terms: &[Term]) -> u64 {
    terms.iter().fold(0, |sum: u64, term| {
        sum.saturating_add(match term {
            Term::Run { count, .. } => *count,
            Term::Loop { body, times } => length(body).saturating_mul(*times),
        })
    })
}

pub(super) fn bits(value: i64) -> u32 {
    u64::BITS - value.unsigned_abs().leading_zeros()
}

/// Ways to write a vector.
mod way {
    /// Terms, with their values.
    pub const ABSOLUTE: u64 = 0;
    /// Terms, with differences of their values.
    pub const DIFFERENCES: u64 = 1;
    /// All values.
    pub const VALUES: u64 = 2;
}

/// Whether values take less one by one than as terms.
fn is_irregular(terms: &[Term]) -> bool {
    const BITS_PER_TERM: u64 = 10;
    let most = weight_of_terms(terms).saturating_mul(BITS_PER_TERM);
    let values = length(terms);
    if values < 16 || values >= most || values > 1 << 16 {
        return false;
    }
    let vector = Vector::from_terms(terms.to_vec());
    vector.is_some_and(|vector| {
        let bits: u64 = vector.iter().map(|value| 1 + u64::from(bits(value))).sum();
        // A reader makes terms of the values, which have to be the same.
        bits < most && vector.iter().collect::<Vector>().terms() == terms
    })
}

impl<C: Coder> Body<'_, C> {
    /// A set of ranks in full.
    pub(super) fn ranks(&mut self, given: Option<&Ranks>) -> Result<Ranks, Error> {
        let of = given.map_or(&[][..], Ranks::blocks);
        let count = self.count(Field::Blocks, 0, of.len())?;
        let mut blocks = Vec::new();
        for i in 0..count {
            let one = of.get(i as usize);
            let next = i64::from(self.last_start);
            let start = one.map_or(0, |block| i64::from(block.start) - next);
            let start = next.saturating_add(self.coder.signed(Field::Start, 0, start)?);
            let start = u32::try_from(start).map_err(|_| Error::Malformed)?;
            self.last_start = start;
            let of = one.map_or(&[][..], |block| &block.dims);
            let count = self.count(Field::Dims, 0, of.len())?;
            let mut dims = Vec::new();
            for j in 0..count {
                let (iters, stride) = of.get(j as usize).copied().unwrap_or_default();
                dims.push((
                    self.u32(Field::Iters, j.min(3) as u32, iters)?,
                    self.u32(Field::Stride, j.min(3) as u32, stride)?,
                ));
            }
            blocks.push(Block { start, dims });
        }
        match given {
            Some(given) => Ok(given.clone()),
            None => self.checked_ranks(blocks),
        }
    }

    /// The number of a set of ranks; `expected` is the most likely one.
    fn set(&mut self, given: Option<&Ranks>, expected: Option<usize>) -> Result<usize, Error> {
        let context = u32::from(expected.is_some());
        let expected = expected.unwrap_or(self.next_set);
        let is_new = expected >= self.sets.len();
        let found = given.and_then(|ranks| {
            let number = *self.set_numbers.get(ranks)?;
            self.may_repeat(weight_of_ranks(ranks)).then_some(number)
        });
        let symbol = match found {
            Some(number) if number == expected => 0,
            Some(number) => number as u64 + 2,
            None => u64::from(!is_new),
        };
        let number = match self.coder.number(Field::SetRef, context, symbol)? {
            0 if !is_new => expected,
            0 | 1 => {
                let ranks = self.ranks(given)?;
                // A reader looks for none.
                if given.is_some() {
                    let number = self.sets.len();
                    self.set_numbers.entry(ranks.clone()).or_insert(number);
                }
                self.sets.push(ranks);
                self.next_set = self.sets.len();
                return Ok(self.sets.len() - 1);
            }
            symbol => symbol as usize - 2,
        };
        let weight = self.sets.get(number).map(weight_of_ranks);
        self.repeat(weight.ok_or(Error::Malformed)?)?;
        self.next_set = number + 1;
        Ok(number)
    }

    /// How many values a set of ranks probably has.
    fn expected(&self, runs: &Runs, set: usize) -> u64 {
        if let Some((runs, _)) = runs.iter().find(|(_, of)| *of == set) {
            return *runs;
        }
        let first = self.sets.get(set).and_then(|ranks| ranks.blocks().first());
        let has = |of: &usize, rank| self.sets.get(*of).is_some_and(|set| set.contains(rank));
        first
            .and_then(|block| runs.iter().find(|(_, of)| has(of, block.start)))
            .map_or(0, |(runs, _)| *runs)
    }

    /// A column: values of some ranks, and the numbers of the sets of ranks of its parts. `set` is probably the set of
    /// all of them; `key` says which columns are alike, and `peers` whom the ranks call.
    pub(super) fn elastic(
        &mut self,
        given: Option<&Elastic>,
        runs: &Runs,
        set: usize,
        kind: Kind,
        key: (u32, u32),
        peers: Option<&Elastic>,
    ) -> Result<(Elastic, Vec<usize>), Error> {
        let expected = self.expected(runs, set);
        let ranks = self.sets.get(set).ok_or(Error::Malformed)?;
        let weight = weight_of_ranks(ranks) + 1;
        let constant = given
            .and_then(|elastic| constant_of(elastic, ranks, expected))
            .filter(|_| self.may_repeat(weight));
        let latest = self.latest.get(&key).copied();
        let is_plain = key.0 != u32::MAX && matches!(kind, Kind::Plain | Kind::Peer);
        let known = given.filter(|_| constant.is_none()).and_then(|elastic| {
            let at = self.known.iter().rposition(|k| k.elastic == *elastic)?;
            let weight = self.known.get(at)?.weight;
            self.may_repeat(weight).then_some(self.known.len() - 1 - at)
        });
        let table = given
            .filter(|_| self.has_tables && is_plain && constant.is_none() && known.is_none())
            .and_then(|elastic| {
                let parts = elastic.parts.iter();
                let weight = |part: &Part| {
                    weight_of_terms(part.values.terms()) + weight_of_ranks(&part.ranks)
                };
                let terms = parts.map(weight).sum();
                let peers = (peers, self.size);
                (self.tables).planned(elastic, ranks, expected, terms, peers)
            });
        let mode = match (constant, known) {
            _ if table.is_some() => mode::TABLE,
            (Some(constant), _) if latest == Some(constant) => mode::AGAIN,
            (Some(_), _) => mode::CONSTANT,
            (_, Some(_)) => mode::KNOWN,
            _ => mode::FULL,
        };
        let context = match (key.0, kind) {
            (u32::MAX, _) => 16 + key.1,
            (_, kind) => kind as u32 * 2 + u32::from(latest.is_some()),
        };
        match self.coder.number(Field::Column, context, mode)? {
            mode @ (mode::AGAIN | mode::CONSTANT) => {
                let (form, value) = if mode == mode::AGAIN {
                    latest.ok_or(Error::Malformed)?
                } else {
                    let (form, value) = constant.unwrap_or_default();
                    let form = self.form(form, kind)?;
                    let mut before = 0;
                    let value = self.value(value, kind, context * 4, false, &mut before)?;
                    (form, value)
                };
                self.repeat(weight)?;
                self.latest.insert(key, (form, value));
                let values = Vector::repeated(value, expected);
                let ranks = self.sets.get(set).cloned().ok_or(Error::Malformed)?;
                let part = Part {
                    values,
                    form,
                    ranks,
                };
                Ok((Elastic { parts: vec![part] }, vec![set]))
            }
            mode::KNOWN => {
                let context = u32::from(key.0 == u32::MAX);
                let distance = self.count(Field::Distance, context, known.unwrap_or(0))?;
                let at = (self.known.len() as u64)
                    .checked_sub(1)
                    .and_then(|last| last.checked_sub(distance))
                    .ok_or(Error::Malformed)?;
                let known = self.known.get(at as usize).ok_or(Error::Malformed)?;
                let weight = known.weight;
                let both = (known.elastic.clone(), known.sets.clone());
                self.repeat(weight)?;
                Ok(both)
            }
            mode::FULL => self.full(given, runs, set, kind),
            mode::TABLE if is_plain => {
                let form = table.as_ref().map_or(Form::Absolute, Planned::form);
                let form = self.form(form, kind)?;
                let peers = (peers, self.size);
                let ranks = self.sets.get(set).ok_or(Error::Malformed)?;
                let of = (ranks, expected);
                let column = (self.tables).column(self.coder, table.as_ref(), of, form, peers)?;
                Ok((column, Vec::new()))
            }
            _ => Err(Error::Malformed),
        }
    }

    fn form(&mut self, form: Form, kind: Kind) -> Result<Form, Error> {
        match self
            .coder
            .number(Field::Form, kind as u32, form_number(form))?
        {
            0 => Ok(Form::Absolute),
            1 => Ok(Form::Relative),
            2 => Ok(Form::Butterfly),
            _ => Err(Error::Malformed),
        }
    }

    fn full(
        &mut self,
        given: Option<&Elastic>,
        runs: &Runs,
        set: usize,
        kind: Kind,
    ) -> Result<(Elastic, Vec<usize>), Error> {
        let of = given.map_or(&[][..], |elastic| &elastic.parts);
        let count = self.count(Field::Parts, 0, of.len())?;
        let (mut parts, mut sets) = (Vec::new(), Vec::new());
        let mut weight = 0;
        let mut before = 0;
        for i in 0..count {
            let one = of.get(i as usize);
            let expected = (count == 1).then_some(set);
            let number = self.set(one.map(|part| &part.ranks), expected)?;
            let form = self.form(one.map_or(Form::Absolute, |part| part.form), kind)?;
            let expected = self.expected(runs, number);
            let given = one.map(|part| part.values.terms());
            let values = self.vector(given, expected, kind, &mut before)?;
            let ranks = match one {
                Some(part) => part.ranks.clone(),
                None => self.sets.get(number).cloned().ok_or(Error::Malformed)?,
            };
            weight += weight_of_terms(values.terms()) + weight_of_ranks(&ranks) + 1;
            sets.push(number);
            parts.push(Part {
                values,
                form,
                ranks,
            });
        }
        let elastic = Elastic { parts };
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back(Known {
            elastic: elastic.clone(),
            sets: sets.clone(),
            weight,
        });
        Ok((elastic, sets))
    }

    pub(super) fn vector(
        &mut self,
        given: Option<&[Term]>,
        expected: u64,
        kind: Kind,
        before: &mut i64,
    ) -> Result<Vector, Error> {
        let by_difference = given.is_some_and(|terms| {
            let mut last = *before;
            let (mut absolute, mut relative) = (0, 0);
            for term in terms {
                let mut term = term;
                while let Term::Loop { body, .. } = term {
                    let Some(first) = body.first() else { break };
                    term = first;
                }
                if let Term::Run { first, .. } = term {
                    absolute += bits(*first);
                    relative += bits(first.wrapping_sub(last));
                    last = *first;
                }
            }
            relative < absolute
        });
        let by_difference = match kind {
            Kind::Plain | Kind::Peer => {
                let way = match given {
                    Some(terms) if is_irregular(terms) => way::VALUES,
                    _ => u64::from(by_difference),
                };
                match self.coder.number(Field::Delta, kind as u32, way)? {
                    way::VALUES => return self.each_value(given, expected, before),
                    way @ (way::ABSOLUTE | way::DIFFERENCES) => way == way::DIFFERENCES,
                    _ => return Err(Error::Malformed),
                }
            }
            _ => false,
        };
        let terms = self.terms(given, expected, kind, 0, by_difference, before)?;
        Vector::from_terms(terms).ok_or(Error::Malformed)
    }

    /// Values that follow no rule, one after the other.
    fn each_value(
        &mut self,
        given: Option<&[Term]>,
        expected: u64,
        before: &mut i64,
    ) -> Result<Vector, Error> {
        let given = given.and_then(|terms| Vector::from_terms(terms.to_vec()));
        let count = given.as_ref().map_or(0, Vector::len);
        let count = self.repetitions(count, expected, 1, 4)?;
        let mut values = given.as_ref().map(Vector::iter);
        let mut vector = Vector::default();
        let mut last = [0; 3];
        for _ in 0..count {
            let value = values.as_mut().and_then(Iterator::next).unwrap_or(0);
            // Small numbers, as how often a branch was taken, may depend on those before.
            let small = last.map(|value: i64| (value.clamp(-1, 3) + 1) as u32);
            let context = (small[0] * 5 + small[1]) * 5 + small[2];
            let value = self.coder.signed(Field::Single, context, value)?;
            vector.push(value);
            last = [value, last[0], last[1]];
        }
        *before = vector.last().unwrap_or(*before);
        Ok(vector)
    }

    fn terms(
        &mut self,
        given: Option<&[Term]>,
        expected: u64,
        kind: Kind,
        depth: u32,
        by_difference: bool,
        before: &mut i64,
    ) -> Result<Vec<Term>, Error> {
        if depth > DEEPEST {
            return Err(Error::Malformed);
        }
        let inside = depth.min(2);
        let n = self.count(Field::Terms, inside, given.map_or(0, <[Term]>::len))?;
        let mut terms = Vec::new();
        let mut left = expected;
        let kind_context = kind as u32 * 4 + inside;
        for i in 0..n {
            let one = given.and_then(|terms| terms.get(i as usize));
            // The last term has what is left.
            let left_here = if i + 1 == n { left } else { 0 };
            let symbol = match one {
                Some(Term::Run { stride, .. }) => u64::from(*stride != 0),
                Some(Term::Loop { .. }) => 2,
                None => 0,
            };
            let symbol = self.coder.number(Field::Term, kind_context, symbol)?;
            let term = if symbol == 2 {
                let (body, times) = match one {
                    Some(Term::Loop { body, times }) => (Some(body.as_slice()), *times),
                    _ => (None, 0),
                };
                let body = self.terms(body, 0, kind, depth + 1, by_difference, before)?;
                let times = self.repetitions(times, left_here, length(&body), 1)?;
                Term::Loop { body, times }
            } else if symbol < 2 {
                let (first, stride, count) = match one {
                    Some(Term::Run {
                        first,
                        stride,
                        count,
                    }) => (*first, *stride, *count),
                    _ => (0, 0, 0),
                };
                let count = self.repetitions(count, left_here, 1, symbol as u32 * 2)?;
                let first = self.value(first, kind, kind_context, by_difference, before)?;
                let stride = if symbol == 0 {
                    0
                } else if count == 2 && !matches!(kind, Kind::Plain | Kind::Peer) {
                    let second = first.wrapping_add(stride);
                    let second = self.value(second, kind, kind_context, false, before)?;
                    second.wrapping_sub(first)
                } else {
                    self.coder.signed(Field::TermStride, kind as u32, stride)?
                };
                Term::Run {
                    first,
                    stride,
                    count,
                }
            } else {
                return Err(Error::Malformed);
            };
            left = left.saturating_sub(length(std::slice::from_ref(&term)));
            terms.push(term);
        }
        Ok(terms)
    }

    /// How often a term of `length` values comes, if `left` values are left in all.
    fn repetitions(
        &mut self,
        times: u64,
        left: u64,
        length: u64,
        context: u32,
    ) -> Result<u64, Error> {
        if left > 0 && length > 0 && left.is_multiple_of(length) {
            let all = left / length;
            if self.coder.flag(Field::Rest, 0, times == all)? {
                return Ok(all);
            }
        }
        self.coder.number(Field::Length, context, times)
    }

    fn value(
        &mut self,
        value: i64,
        kind: Kind,
        context: u32,
        by_difference: bool,
        before: &mut i64,
    ) -> Result<i64, Error> {
        let table = match kind {
            Kind::Plain | Kind::Peer => {
                let value = if by_difference {
                    let more = value.wrapping_sub(*before);
                    before.wrapping_add(self.coder.signed(Field::Delta, context, more)?)
                } else {
                    self.coder.signed(Field::Value, context, value)?
                };
                *before = value;
                return Ok(value);
            }
            Kind::Comm => &mut self.communicators,
            Kind::List => &mut self.lists,
            Kind::Text => &mut self.texts,
        };
        known_identity(self.coder, table, kind, value)
    }
}

fn known_identity(
    coder: &mut impl Coder,
    table: &mut Identities,
    kind: Kind,
    value: i64,
) -> Result<i64, Error> {
    let by_distance = kind != Kind::Comm;
    let unused = table.unused;
    let symbol = match table.numbers.get(&value) {
        Some(number) if *number == unused => 0,
        Some(number) if !by_distance => *number as u64 + 2,
        Some(number) if *number < unused => (unused - 1 - number) as u64 + 2,
        _ => 1,
    };
    let number = match coder.number(Field::Identity, kind as u32, symbol)? {
        0 => {
            table.unused += 1;
            unused as u64
        }
        1 => return coder.signed(Field::Raw, 1, value),
        symbol if !by_distance => symbol - 2,
        symbol => (unused as u64)
            .checked_sub(symbol - 1)
            .ok_or(Error::Malformed)?,
    };
    let number = usize::try_from(number).map_err(|_| Error::Malformed)?;
    table.all.get(number).copied().ok_or(Error::Malformed)
}

/// The form and the value, if there is one for all.
fn constant_of(elastic: &Elastic, ranks: &Ranks, expected: u64) -> Option<(Form, i64)> {
    let [part] = &*elastic.parts else {
        return None;
    };
    let [
        Term::Run {
            first,
            stride: 0,
            count,
        },
    ] = *part.values.terms()
    else {
        return None;
    };
    (count == expected && part.ranks == *ranks).then_some((part.form, first))
}
