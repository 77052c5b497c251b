//! Whether a trace that was read can be expanded: one check of its whole structure, so that reading its events cannot
//! fail, end early or take long without an event.
//!
//! * What a node or an event has for each execution has as many values as there are executions, for the same ranks.
//! * A rank's values that are written relative to it are on communicators of which it is a member.
//! * Ranks that compute, or that are members of a communicator, are in the trace.
//! * A signature exists, and its events have a column for each of its values.
//! * All ranks together run the row of a loop at most once for each event there and once for each time that they come to
//!   the loop: a loop of one trip, which merging makes, may be empty, its repetitions are not.
//!
//! Comparing sets of ranks takes a limited number of steps. A trace that needs more is refused.

use crate::elastic::{Elastic, Form};
use crate::ranks::Ranks;
use crate::trace::{Body, Event, Node, Trace};
use crate::vector::{MOST_VALUES, Term, Vector};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Ranks by a number that they have in common.
type ByNumber = BTreeMap<u64, Ranks>;

struct Checking<'a> {
    trace: &'a Trace,
    /// Ranks that have a place in a communicator.
    members: BTreeMap<i64, [Ranks; 2]>,
    left: Steps,
}

/// Steps that may still be taken.
struct Steps(Cell<u64>);

impl Steps {
    fn take<T>(&self, compare: impl FnOnce(&mut u64) -> T) -> T {
        let mut left = self.0.get();
        let result = compare(&mut left);
        self.0.set(left);
        result
    }

    /// Takes a step.
    fn one(&self) -> Option<()> {
        self.take(|left| {
            *left = left.checked_sub(1)?;
            Some(())
        })
    }

    fn contains_all(&self, all: &Ranks, some: &Ranks) -> Option<()> {
        self.take(|left| all.contains_all_within(some, left))?
            .then_some(())
    }
}

/// Whether all events of all ranks can be read. Looking for it takes at most `steps` steps.
pub(super) fn is_whole(trace: &Trace, steps: u64) -> bool {
    let left = Steps(Cell::new(steps));
    let communicators = trace.communicators.iter();
    let members = communicators.map(|(number, communicator)| {
        let [me, size] =
            [&communicator.me, &communicator.size].map(|column| left.by_length(column));
        Some((*number, [only_key(me?, 1)?, only_key(size?, 1)?]))
    });
    let Some(members) = members.collect::<Option<BTreeMap<i64, [Ranks; 2]>>>() else {
        return false;
    };
    let computing = trace.work.places.values().flatten();
    let outliers = trace.outliers.values().flatten();
    let mut others = members
        .values()
        .flatten()
        .chain(computing.map(|(_, ranks)| ranks))
        .chain(outliers.map(|(_, ranks)| ranks));
    if !others.all(|ranks| left.contains_all(&trace.ranks, ranks).is_some()) {
        return false;
    }
    let checking = Checking {
        trace,
        members,
        left,
    };
    let once = ByNumber::from([(1, trace.ranks.clone())]);
    let mut streams = trace.streams.values();
    streams.all(|row| checking.row(row, &once).is_some())
}

impl Checking<'_> {
    /// The number of events of a row that ran so often, on all ranks; `None` if it contradicts itself.
    fn row(&self, row: &[Node], runs: &ByNumber) -> Option<u128> {
        row.iter().map(|node| self.node(node, runs)).sum()
    }

    fn node(&self, node: &Node, runs: &ByNumber) -> Option<u128> {
        let lengths = self.left.by_length(&node.trips)?;
        for (length, ranks) in &lengths {
            self.left.contains_all(runs.get(length)?, ranks)?;
        }
        let inner = self.left.by_sum(&node.trips)?;
        match &node.body {
            Body::Event(event) => {
                self.event(event, &inner)?;
                Some(total(&inner))
            }
            Body::Loop(row) => {
                let events = self.row(row, &inner)?;
                (total(&inner) <= events + total(&lengths)).then_some(events)
            }
        }
    }

    fn event(&self, event: &Event, runs: &ByNumber) -> Option<()> {
        let signature = self.trace.signatures.get(&event.signature)?;
        (signature.kinds.len() == event.values.len()).then_some(())?;
        for column in &event.values {
            let lengths = self.left.by_length(column)?;
            (lengths.len() == runs.len()).then_some(())?;
            for (length, ranks) in &lengths {
                let those = runs.get(length)?;
                (those.len() == ranks.len()).then_some(())?;
                self.left.contains_all(those, ranks)?;
            }
        }
        let number = signature.communicator().and_then(|at| event.values.get(at));
        let mut parts = event.values.iter().flat_map(|column| &column.parts);
        let all = parts.all(|part| {
            part.form == Form::Absolute
                || number.is_some_and(|number| self.are_members(number, &part.ranks))
        });
        all.then_some(())
    }

    /// Whether ranks are members of all communicators that they have in a column.
    fn are_members(&self, numbers: &Elastic, ranks: &Ranks) -> bool {
        let mut parts = numbers.parts.iter();
        parts.all(|part| {
            let left = &self.left;
            let overlaps = left.take(|left| part.ranks.overlaps_within(ranks, left));
            let right = |members: &Ranks| {
                left.contains_all(members, ranks).is_some()
                    || left.contains_all(members, &part.ranks).is_some()
                    || left.only_common(ranks, &part.ranks, members)
            };
            part.form == Form::Absolute
                && (overlaps == Some(false)
                    || overlaps.is_some() && self.have(part.values.terms(), &right))
        })
    }

    /// Whether both sets of members of all communicators of these numbers are what they must be.
    fn have(&self, numbers: &[Term], right: &impl Fn(&Ranks) -> bool) -> bool {
        numbers.iter().all(|term| match term {
            Term::Loop { body, .. } => self.have(body, right),
            // Numbers with a stride differ, so not more than there are can be right.
            Term::Run { stride, count, .. }
                if *stride != 0 && *count > self.members.len() as u64 =>
            {
                false
            }
            Term::Run {
                first,
                stride,
                count,
            } => (0..if *stride == 0 { 1 } else { *count }).all(|i| {
                let number = first.wrapping_add(stride.wrapping_mul(i as i64));
                let members = self.members.get(&number);
                self.left.one().is_some() && members.is_some_and(|both| both.iter().all(right))
            }),
        })
    }
}

impl Steps {
    /// Whether all ranks that are in both sets are members.
    fn only_common(&self, a: &Ranks, b: &Ranks, members: &Ranks) -> bool {
        let blocks = 1 + b.blocks().len() + members.blocks().len();
        let steps = a.len().saturating_mul(blocks as u64);
        if self.0.get() < steps {
            return false;
        }
        self.0.set(self.0.get() - steps);
        let mut ranks = a.to_vec().into_iter();
        ranks.all(|rank| !b.contains(rank) || members.contains(rank))
    }

    /// Ranks by the number of their values; `None` if a rank has values twice.
    fn by_length(&self, column: &Elastic) -> Option<ByNumber> {
        self.by(column, |values| Some(values.len()))
    }

    /// Ranks by the sum of their values.
    fn by_sum(&self, column: &Elastic) -> Option<ByNumber> {
        self.by(column, |values| {
            sum(values.terms()).filter(|sum| *sum <= MOST_VALUES)
        })
    }

    fn by(&self, column: &Elastic, number: impl Fn(&Vector) -> Option<u64>) -> Option<ByNumber> {
        if let [part] = &*column.parts {
            return Some([(number(&part.values)?, part.ranks.clone())].into());
        }
        let mut sets = ByNumber::new();
        let all = column.parts.iter().flat_map(|part| part.ranks.blocks());
        // No rank is in two parts, so none is in two of the sets.
        self.take(|left| Ranks::of_disjoint(all.cloned().collect(), left))?;
        let mut blocks: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for part in &column.parts {
            let of = blocks.entry(number(&part.values)?).or_default();
            of.extend(part.ranks.blocks().iter().cloned());
        }
        for (number, blocks) in blocks {
            sets.insert(number, Ranks::of_known(blocks));
        }
        Some(sets)
    }
}

/// The ranks, if all have this number.
fn only_key(mut sets: ByNumber, number: u64) -> Option<Ranks> {
    let ranks = sets.remove(&number).unwrap_or_default();
    sets.is_empty().then_some(ranks)
}

fn total(runs: &ByNumber) -> u128 {
    let each = runs
        .iter()
        .map(|(n, ranks)| u128::from(*n) * u128::from(ranks.len()));
    each.sum()
}

/// The sum of values that are not negative; `None` if it is too large.
fn sum(terms: &[Term]) -> Option<u64> {
    terms.iter().try_fold(0_u64, |total, term| {
        let more = match term {
            Term::Run {
                first,
                stride,
                count,
            } => {
                // Both ends are not negative, as the body of the file was read so.
                let last = i128::from(*first) + i128::from(*stride) * (i128::from(*count) - 1);
                u64::try_from((i128::from(*first) + last) * i128::from(*count) / 2).ok()?
            }
            Term::Loop { body, times } => sum(body)?.checked_mul(*times)?,
        };
        total.checked_add(more)
    })
}
