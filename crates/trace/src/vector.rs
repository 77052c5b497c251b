//! Vectors of values, compressed as runs, strides and loops (ScalaTrace II, section 3.1).
//!
//! Values are appended one by one, in the order in which they happened. A run needs two equal values or three with the
//! same stride. A loop is a row of terms that comes again at once; loops may contain loops. Reading a vector returns
//! exactly the values that were appended.

use crate::budget::{bytes_of, bytes_of_whole, make_room};

/// A piece of a vector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// `first`, `first + stride`, … (wrapping), `count` values.
    Run {
        /// The first value.
        first: i64,
        /// What each value adds to the one before; 0 if there is one value.
        stride: i64,
        /// Number of values, at least 1.
        count: u64,
    },
    /// The values of `body`, `times` times.
    Loop {
        /// What is repeated.
        body: Vec<Term>,
        /// How often, at least 1.
        times: u64,
    },
}

/// The longest row of terms that is looked for as the body of a loop. It bounds the work per value.
const LONGEST_BODY: usize = 24;

/// Vectors of up to so many values are equal if their values are; longer ones are compared by their terms.
const COMPARED_BY_VALUE: u64 = 1 << 16;

/// A compressed row of integers.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    terms: Vec<Term>,
    len: u64,
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len
            && (self.terms == other.terms
                || (self.len <= COMPARED_BY_VALUE && self.iter().eq(other.iter())))
    }
}

impl Eq for Vector {}

impl FromIterator<i64> for Vector {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut vector = Self::default();
        values.into_iter().for_each(|value| vector.push(value));
        vector
    }
}

impl Vector {
    /// `value`, `count` times.
    pub fn repeated(value: i64, count: u64) -> Self {
        let mut vector = Self::default();
        vector.push_run(value, 0, count);
        vector
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: i64) {
        self.push_run(value, 0, 1);
    }

    /// Appends `count` values that begin with `first` and increase by `stride`.
    #[inline]
    pub fn push_run(&mut self, first: i64, stride: i64, count: u64) {
        if count == 0 {
            return;
        }
        self.len += count;
        if let Some(Term::Run {
            first: f,
            stride: s,
            count: c,
        }) = self.terms.last_mut()
        {
            let next = f.wrapping_add(s.wrapping_mul(*c as i64));
            let joined = match (*c, count) {
                (1, 1) => Some(first.wrapping_sub(*f)),
                (1, _) => (first.wrapping_sub(*f) == stride).then_some(stride),
                (_, 1) => (first == next).then_some(*s),
                _ => (first == next && *s == stride).then_some(*s),
            };
            if let Some(stride) = joined {
                (*s, *c) = (stride, *c + count);
                return;
            }
            if *c == 2 && *s != 0 {
                // Two values are no stride yet: the second one begins anew.
                let second = f.wrapping_add(*s);
                (*s, *c) = (0, 1);
                self.close();
                self.push_new(Term::Run {
                    first: second,
                    stride: 0,
                    count: 1,
                });
                self.len -= count;
                return self.push_run(first, stride, count);
            }
        }
        self.close();
        let stride = if count == 1 { 0 } else { stride };
        self.push_new(Term::Run {
            first,
            stride,
            count,
        });
    }

    /// Appends all values of another vector.
    pub fn append(&mut self, other: &Self) {
        for term in &other.terms {
            self.push_term(term);
        }
    }

    fn push_term(&mut self, term: &Term) {
        match term {
            Term::Run {
                first,
                stride,
                count,
            } => self.push_run(*first, *stride, *count),
            Term::Loop { body, times } => {
                self.len += term.len();
                // What ends with a value that is no stride yet may end with a shorter row that repeats.
                self.settle();
                if let Some(Term::Loop {
                    body: last,
                    times: t,
                }) = self.terms.last_mut()
                    && last == body
                {
                    *t += times;
                    return;
                }
                self.push_new(term.clone());
            }
        }
    }

    /// Vectors mostly have one term.
    #[inline]
    fn push_new(&mut self, term: Term) {
        make_room(&mut self.terms, 1);
        self.terms.push(term);
    }

    /// Decides about a stride of two values at the end, and looks for loops there.
    fn settle(&mut self) {
        if let Some(Term::Run {
            first,
            stride,
            count,
        }) = self.terms.last_mut()
            && *count == 2
            && *stride != 0
        {
            let second = first.wrapping_add(*stride);
            (*stride, *count) = (0, 1);
            self.close();
            self.push_new(Term::Run {
                first: second,
                stride: 0,
                count: 1,
            });
        }
        self.close();
    }

    /// Folds rows of terms that repeat at the end. Called when the last term can no longer grow.
    fn close(&mut self) {
        while self.fold() {}
    }

    fn fold(&mut self) -> bool {
        let n = self.terms.len();
        let Some(last) = self.terms.last() else {
            return false;
        };
        for m in 1..=LONGEST_BODY.min(n.saturating_sub(1)) {
            let Some(before) = self.terms.get(n - m - 1) else {
                break;
            };
            let (head, tail) = self.terms.split_at(n - m);
            if let Term::Loop { body, .. } = before
                && body.len() == m
                && body.as_slice() == tail
            {
                self.terms.truncate(n - m);
                if let Some(Term::Loop { times, .. }) = self.terms.last_mut() {
                    *times += 1;
                }
                return true;
            }
            if before == last && head.ends_with(tail) {
                let body = self.terms.split_off(n - m);
                self.terms.truncate(n - 2 * m);
                let folded = match <[Term; 1]>::try_from(body) {
                    Ok([Term::Loop { body, times }]) => Term::Loop {
                        body,
                        times: 2 * times,
                    },
                    Ok(one) => Term::Loop {
                        body: one.into(),
                        times: 2,
                    },
                    Err(body) => Term::Loop { body, times: 2 },
                };
                self.push_new(folded);
                return true;
            }
        }
        false
    }

    /// The last value.
    #[inline]
    pub fn last(&self) -> Option<i64> {
        let mut term = self.terms.last()?;
        loop {
            match term {
                Term::Run {
                    first,
                    stride,
                    count,
                } => {
                    return Some(first.wrapping_add(stride.wrapping_mul(*count as i64 - 1)));
                }
                Term::Loop { body, .. } => term = body.last()?,
            }
        }
    }

    /// Adds to the last value; does nothing if there is none.
    pub fn add_to_last(&mut self, more: i64) {
        if let Some(value) = self.pop() {
            self.push(value.wrapping_add(more));
        }
    }

    /// Takes the last value off.
    pub fn pop(&mut self) -> Option<i64> {
        let value = self.last()?;
        self.len -= 1;
        loop {
            match self.terms.last_mut()? {
                Term::Run { stride, count, .. } => {
                    *count -= 1;
                    match *count {
                        0 => drop(self.terms.pop()),
                        1 => *stride = 0,
                        _ => {}
                    }
                    return Some(value);
                }
                Term::Loop { body, times } => {
                    let again = body.clone();
                    *times -= 1;
                    if *times == 0 {
                        self.terms.pop();
                    } else if *times == 1 {
                        let once = std::mem::take(body);
                        self.terms.pop();
                        self.terms.extend(once);
                    }
                    self.terms.extend(again);
                }
            }
        }
    }

    /// The values, each changed by `change`.
    pub fn map(&self, mut change: impl FnMut(i64) -> i64) -> Self {
        let mut mapped = Self::default();
        map_terms(&self.terms, &mut mapped, &mut change);
        mapped
    }

    /// How many values [`Self::map`] changes one by one.
    pub(crate) fn mapped_one_by_one(&self) -> u64 {
        strided(&self.terms)
    }

    /// The values, in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            stack: vec![(&self.terms, 0, 1)],
            next: 0,
            stride: 0,
            left: 0,
        }
    }

    /// The sum of all values (wrapping).
    pub fn sum(&self) -> i64 {
        sum(&self.terms)
    }

    /// Gives back memory that it has for more terms.
    pub fn shrink(&mut self) {
        self.terms.shrink_to_fit();
    }

    /// Bytes of memory that the vector holds, itself not included.
    pub fn memory(&self) -> usize {
        memory(&self.terms, bytes_of)
    }

    /// The same after [`Self::shrink`], if nothing is appended any more.
    pub fn whole_memory(&self) -> usize {
        memory(&self.terms, bytes_of_whole)
    }

    /// Makes a vector of terms as they are in a file. `None` if their length is more than 2⁴⁸ values, or a term is
    /// empty.
    pub fn from_terms(terms: Vec<Term>) -> Option<Self> {
        let len = checked_len(&terms)?;
        Some(Self { terms, len })
    }
}

/// More values than any run has.
pub(crate) const MOST_VALUES: u64 = 1 << 48;

fn checked_len(terms: &[Term]) -> Option<u64> {
    let mut len = 0_u64;
    for term in terms {
        let more = match term {
            Term::Run { count, .. } => *count,
            Term::Loop { body, times } => checked_len(body)?.checked_mul(*times)?,
        };
        len = len
            .checked_add(more)
            .filter(|len| more > 0 && *len <= MOST_VALUES)?;
    }
    Some(len)
}

fn strided(terms: &[Term]) -> u64 {
    terms.iter().fold(0, |sum: u64, term| {
        sum.saturating_add(match term {
            Term::Run { stride: 0, .. } => 0,
            Term::Run { count, .. } => *count,
            Term::Loop { body, .. } => strided(body),
        })
    })
}

fn map_terms(terms: &[Term], into: &mut Vector, change: &mut impl FnMut(i64) -> i64) {
    for term in terms {
        match term {
            Term::Run {
                first,
                stride: 0,
                count,
            } => into.push_run(change(*first), 0, *count),
            Term::Run {
                first,
                stride,
                count,
            } => {
                for i in 0..*count {
                    into.push(change(first.wrapping_add(stride.wrapping_mul(i as i64))));
                }
            }
            Term::Loop { body, times } => {
                let mut once = Vector::default();
                map_terms(body, &mut once, change);
                match *once.terms {
                    [
                        Term::Run {
                            first,
                            stride: 0,
                            count,
                        },
                    ] => into.push_run(first, 0, count * times),
                    _ => into.push_term(&Term::Loop {
                        body: once.terms,
                        times: *times,
                    }),
                }
            }
        }
    }
}

fn sum(terms: &[Term]) -> i64 {
    terms.iter().fold(0, |total: i64, term| {
        total.wrapping_add(match term {
            Term::Run {
                first,
                stride,
                count,
            } => {
                let n = i128::from(*count);
                let strides = i128::from(*stride).wrapping_mul(n * (n - 1) / 2);
                (n * i128::from(*first)).wrapping_add(strides) as i64
            }
            Term::Loop { body, times } => sum(body).wrapping_mul(*times as i64),
        })
    })
}

fn memory(terms: &Vec<Term>, bytes_of: fn(&Vec<Term>) -> usize) -> usize {
    bytes_of(terms)
        + terms
            .iter()
            .map(|term| match term {
                Term::Run { .. } => 0,
                Term::Loop { body, .. } => memory(body, bytes_of),
            })
            .sum::<usize>()
}

impl Term {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Term::Run { count, .. } => *count,
            Term::Loop { body, times } => body.iter().map(Term::len).sum::<u64>() * times,
        }
    }
}

/// The values of a vector, in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    /// Terms, the next of them, and how often they are still to be read, this time included.
    stack: Vec<(&'a [Term], usize, u64)>,
    next: i64,
    stride: i64,
    left: u64,
}

impl Iterator for Iter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        if self.left == 0 {
            self.refill()?;
        }
        self.left -= 1;
        let value = self.next;
        self.next = value.wrapping_add(self.stride);
        Some(value)
    }
}

impl Iter<'_> {
    fn refill(&mut self) -> Option<()> {
        while let Some((terms, at, left)) = self.stack.last_mut() {
            let Some(term) = terms.get(*at) else {
                *left -= 1;
                *at = 0;
                if *left == 0 || terms.is_empty() {
                    self.stack.pop();
                }
                continue;
            };
            *at += 1;
            match term {
                Term::Run {
                    first,
                    stride,
                    count,
                } => {
                    (self.next, self.stride, self.left) = (*first, *stride, *count);
                    return Some(());
                }
                Term::Loop { body, times } => self.stack.push((body, 0, *times)),
            }
        }
        None
    }
}
