//! How often each event ran right behind which other one, as the rows of a trace say it.
//!
//! So a file need not say it again next to the times of its events. The events of all ranks are counted one by one, or as
//! a whole where each iteration of a loop is the same. A trace that needs more steps than [`MOST_STEPS`] is not counted.

use super::Error;
use super::body::Body as File;
use super::codec::{Coder, Field};
use crate::ranks::Ranks;
use crate::trace::{BEGIN, Body, Node, Trace};
use crate::vector::{Iter, Term};
use std::collections::BTreeMap;

/// Steps that counting may take, about a second.
const MOST_STEPS: u64 = 1 << 24;

/// Events and events before them that are counted; each has times of its own in a file.
const MOST_PAIRS: u64 = 1 << 20;

/// How often an event ran, by the identity of the signature of the one before it.
pub(super) type Before = BTreeMap<u64, u64>;

impl<C: Coder> File<'_, C> {
    /// Counts how often events ran behind each other, if the times of the trace say just the same.
    pub(super) fn count_runs(
        &mut self,
        given: Option<&Trace>,
        streams: &BTreeMap<u32, Vec<Node>>,
        ranks: &Ranks,
    ) -> Result<(), Error> {
        let counted = |streams: &BTreeMap<u32, Vec<Node>>| {
            let mut left = Left {
                steps: MOST_STEPS,
                pairs: MOST_PAIRS,
            };
            let each = streams.values().map(|row| count(row, ranks, &mut left));
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        };
        let counts = given.and_then(|trace| {
            // A reader has these nodes, which may have the same values in other terms than the trace's.
            let counts = counted(streams)?;
            let mut left = counts.iter();
            let mut rows = trace.streams.values();
            let are_same = rows.all(|row| are_as_counted(row, &mut left));
            are_same.then_some(counts)
        });
        if self.coder.flag(Field::Runs, 9, counts.is_some())? {
            let counts = match given {
                Some(_) => counts,
                None => counted(streams),
            };
            self.runs = Some(counts.ok_or(Error::Malformed)?.into_iter());
        }
        Ok(())
    }
}

/// Whether the events of these rows ran as often behind each other as `counts` says.
fn are_as_counted<'a>(row: &[Node], counts: &mut impl Iterator<Item = &'a Before>) -> bool {
    row.iter().all(|node| match &node.body {
        Body::Loop(row) => are_as_counted(row, counts),
        Body::Event(event) => counts.next().is_some_and(|counts| {
            let mut both = event.times.iter().zip(counts);
            counts.len() == event.times.len()
                && both.all(|((before, times), (counted, count))| {
                    let of = [&times.wall, &times.cpu, &times.call];
                    before == counted && of.iter().all(|h| h.count == *count)
                })
        }),
    })
}

/// Counts the events of a stream, in the order of its nodes. `None` if that takes more than `left`.
fn count(row: &[Node], ranks: &Ranks, left: &mut Left) -> Option<Vec<Before>> {
    let mut counting = Counting {
        before: BEGIN,
        counts: Vec::new(),
        left,
    };
    counting.take(usize::try_from(ranks.len()).ok()?)?;
    for rank in ranks.to_vec() {
        let mut events = 0;
        let mut steps = counting.steps(row, rank, &mut events)?;
        counting.counts.resize_with(events, Before::new);
        counting.before = BEGIN;
        counting.run(&mut steps, 1)?;
    }
    Some(counting.counts)
}

/// What counting may still take.
struct Left {
    steps: u64,
    pairs: u64,
}

struct Counting<'l> {
    /// The signature of the last event.
    before: u64,
    counts: Vec<Before>,
    left: &'l mut Left,
}

/// A node, as one rank has it.
struct Step<'a> {
    trips: Trips<'a>,
    what: What<'a>,
}

enum Trips<'a> {
    Always(u64),
    /// Values one by one, and how many steps the next one may take.
    Each(Iter<'a>, usize),
}

enum What<'a> {
    Event {
        number: usize,
        signature: u64,
    },
    Loop {
        row: Vec<Step<'a>>,
        /// Whether each iteration is like the first one.
        is_uniform: bool,
    },
}

impl Step<'_> {
    fn is_uniform(&self) -> bool {
        let inside = match self.what {
            What::Event { .. } => true,
            What::Loop { is_uniform, .. } => is_uniform,
        };
        inside && matches!(self.trips, Trips::Always(_))
    }
}

impl Counting<'_> {
    fn take(&mut self, steps: usize) -> Option<()> {
        self.left.steps = self.left.steps.checked_sub(steps as u64)?;
        Some(())
    }

    /// What a rank runs of a row. `events` is how many events are before it in the stream.
    fn steps<'a>(
        &mut self,
        row: &'a [Node],
        rank: u32,
        events: &mut usize,
    ) -> Option<Vec<Step<'a>>> {
        let mut steps = Vec::new();
        for node in row {
            self.take(1)?;
            let what = match &node.body {
                Body::Event(event) => {
                    *events += 1;
                    What::Event {
                        number: *events - 1,
                        signature: event.signature,
                    }
                }
                Body::Loop(row) => {
                    let row = self.steps(row, rank, events)?;
                    let is_uniform = row.iter().all(Step::is_uniform);
                    What::Loop { row, is_uniform }
                }
            };
            let Some(part) = node.trips.part(rank) else {
                continue;
            };
            let trips = match part.values.terms() {
                [
                    Term::Run {
                        first, stride: 0, ..
                    },
                ] => Trips::Always(positive(*first)),
                terms => Trips::Each(part.values.iter(), depth(terms)),
            };
            steps.push(Step { trips, what });
        }
        Some(steps)
    }

    /// Runs a row so often, always from the same event before.
    fn run(&mut self, row: &mut [Step<'_>], times: u64) -> Option<()> {
        for step in row {
            self.take(1)?;
            let trips = match &mut step.trips {
                Trips::Always(trips) => *trips,
                Trips::Each(trips, steps) => {
                    let steps = *steps;
                    let next = trips.next().map_or(0, positive);
                    self.take(steps)?;
                    next
                }
            };
            let Some(again) = trips.checked_sub(1) else {
                continue;
            };
            match &mut step.what {
                What::Event { number, signature } => {
                    self.add(*number, self.before, times)?;
                    self.add(*number, *signature, again.checked_mul(times)?)?;
                    self.before = *signature;
                }
                What::Loop {
                    row,
                    is_uniform: true,
                } => {
                    self.run(row, times)?;
                    // From the second iteration on, the event before is the last one of the row.
                    if again > 0 {
                        self.run(row, again.checked_mul(times)?)?;
                    }
                }
                What::Loop { row, .. } => {
                    for _ in 0..trips {
                        self.take(1)?;
                        self.run(row, times)?;
                    }
                }
            }
        }
        Some(())
    }

    fn add(&mut self, event: usize, before: u64, times: u64) -> Option<()> {
        if times > 0 {
            let mut is_new = false;
            let count = self
                .counts
                .get_mut(event)?
                .entry(before)
                .or_insert_with(|| {
                    is_new = true;
                    0
                });
            *count = count.checked_add(times)?;
            self.left.pairs = self.left.pairs.checked_sub(u64::from(is_new))?;
        }
        Some(())
    }
}

/// How deep loops of values are nested.
fn depth(terms: &[Term]) -> usize {
    let inside = terms.iter().map(|term| match term {
        Term::Run { .. } => 0,
        Term::Loop { body, .. } => 1 + depth(body),
    });
    inside.max().unwrap_or(0)
}

fn positive(trips: i64) -> u64 {
    trips.max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elastic::Elastic;
    use crate::trace::Event;
    use crate::vector::Vector;

    fn times(trips: i64, runs: u64, body: Body) -> Node {
        let trips = Elastic::of(Vector::repeated(trips, runs), Ranks::one(0));
        Node { trips, body }
    }

    fn call(signature: u64) -> Body {
        Body::Event(Box::new(Event {
            signature,
            values: Vec::new(),
            times: BTreeMap::new(),
        }))
    }

    fn counted(row: &[Node], steps: u64) -> Option<Vec<Before>> {
        let mut left = Left { steps, pairs: 100 };
        count(row, &Ranks::one(0), &mut left)
    }

    #[test]
    fn equal_iterations_are_counted_as_a_whole() {
        const M: u64 = 1_000_000;
        let inner = vec![times(1, M * M, call(5)), times(3, M * M, call(6))];
        let outer = vec![times(1_000_000, M, Body::Loop(inner)), times(1, M, call(5))];
        let row = [times(1_000_000, 1, Body::Loop(outer))];
        let expected = vec![
            Before::from([(BEGIN, 1), (5, M - 1), (6, M * (M - 1))]),
            Before::from([(5, M * M), (6, 2 * M * M)]),
            Before::from([(6, M)]),
        ];
        assert_eq!(counted(&row, 100), Some(expected));
    }

    #[test]
    fn what_takes_too_long_is_not_counted() {
        // Iterations differ, so they are counted one by one.
        let mut row = vec![times(100, 1, Body::Loop(vec![times(1, 100, call(5))]))];
        if let Body::Loop(body) = &mut row[0].body {
            let values: Vector = (0..100).collect();
            body[0].trips = Elastic::of(values, Ranks::one(0));
        }
        assert!(counted(&row, 1000).is_some());
        assert_eq!(counted(&row, 100), None);
    }
}
