//! The events of one rank, in order, read from a trace without expanding it as a whole.
//!
//! The structure of a trace from a file was checked when the file was read ([`crate::file`]). So the events of a rank
//! end where the rank's stream ends and not before, and the next one is found without many steps.

use crate::elastic::{Elastic, Form, Place};
use crate::trace::{Body, Event, Node, Signature, Trace};
use crate::vector::Iter;

/// The events of one thread of one rank.
#[derive(Debug)]
pub struct Events<'a> {
    trace: &'a Trace,
    rank: u32,
    cursors: Vec<Cursor<'a>>,
    rows: Vec<Vec<usize>>,
    stack: Vec<Running>,
    /// An event that runs again at once: its cursor, and how often.
    again: (usize, u64),
    values: Vec<i64>,
}

/// An event as it happened.
#[derive(Debug)]
pub struct Happened<'a, 'v> {
    /// What it is.
    pub signature: &'a Signature,
    /// The event of the trace, for its times.
    pub event: &'a Event,
    /// Its values in the order of the signature's kinds. Peers are ranks of the communicator.
    pub values: &'v [i64],
}

#[derive(Debug)]
struct Cursor<'a> {
    trips: Iter<'a>,
    what: What<'a>,
}

#[derive(Debug)]
enum What<'a> {
    Event {
        event: &'a Event,
        signature: &'a Signature,
        values: Vec<(Iter<'a>, Form)>,
        place: Option<(i64, Place)>,
    },
    Loop(usize),
}

#[derive(Debug)]
struct Running {
    row: usize,
    at: usize,
    left: u64,
}

impl Trace {
    /// The events of a thread of a rank.
    pub fn events(&self, rank: u32, thread: u32) -> Events<'_> {
        let mut events = Events {
            trace: self,
            rank,
            cursors: Vec::new(),
            rows: Vec::new(),
            stack: Vec::new(),
            again: (0, 0),
            values: Vec::new(),
        };
        if let Some(row) = self
            .streams
            .get(&thread)
            .filter(|_| self.ranks.contains(rank))
        {
            let row = events.add_row(row);
            events.stack.push(Running {
                row,
                at: 0,
                left: 1,
            });
        }
        events
    }
}

impl<'a> Events<'a> {
    fn add_row(&mut self, row: &'a [Node]) -> usize {
        let mut list = Vec::new();
        for node in row {
            let Some(trips) = node.trips.part(self.rank) else {
                continue;
            };
            let what = match &node.body {
                Body::Loop(row) => Some(What::Loop(self.add_row(row))),
                Body::Event(event) => {
                    self.trace
                        .signatures
                        .get(&event.signature)
                        .map(|signature| {
                            let iter = |values: &'a Elastic| {
                                values
                                    .part(self.rank)
                                    .map(|part| (part.values.iter(), part.form))
                            };
                            let values = event.values.iter().filter_map(iter).collect();
                            What::Event {
                                event,
                                signature,
                                values,
                                place: None,
                            }
                        })
                }
            };
            if let Some(what) = what {
                list.push(self.cursors.len());
                self.cursors.push(Cursor {
                    trips: trips.values.iter(),
                    what,
                });
            }
        }
        self.rows.push(list);
        self.rows.len() - 1
    }

    /// The next event; `None` at the end.
    #[allow(
        clippy::should_implement_trait,
        reason = "an event borrows its values from here"
    )]
    pub fn next(&mut self) -> Option<Happened<'a, '_>> {
        if self.again.1 == 0 {
            self.again = self.find()?;
        }
        self.again.1 -= 1;
        let cursor = self.cursors.get_mut(self.again.0)?;
        let What::Event {
            event,
            signature,
            values,
            place,
        } = &mut cursor.what
        else {
            return None;
        };
        self.values.clear();
        let mut absolute = true;
        for (iter, form) in values.iter_mut() {
            self.values.push(iter.next()?);
            absolute &= *form == Form::Absolute;
        }
        if !absolute {
            let number = signature
                .communicator()
                .and_then(|at| self.values.get(at).copied())?;
            if place.is_none_or(|(known, _)| known != number) {
                *place = Some((number, self.trace.place(number, self.rank)?));
            }
            let (_, place) = (*place)?;
            for (value, (_, form)) in self.values.iter_mut().zip(values.iter()) {
                *value = form.rank(*value, place);
            }
        }
        Some(Happened {
            signature,
            event,
            values: &self.values,
        })
    }

    fn find(&mut self) -> Option<(usize, u64)> {
        loop {
            let top = self.stack.last_mut()?;
            let row = self.rows.get(top.row)?;
            let Some(at) = row.get(top.at).copied() else {
                top.left -= 1;
                top.at = 0;
                if top.left == 0 || row.is_empty() {
                    self.stack.pop();
                }
                continue;
            };
            top.at += 1;
            let cursor = self.cursors.get_mut(at)?;
            let trips = cursor.trips.next().filter(|n| *n > 0).unwrap_or(0) as u64;
            if trips == 0 {
                continue;
            }
            match cursor.what {
                What::Loop(row) => self.stack.push(Running {
                    row,
                    at: 0,
                    left: trips,
                }),
                What::Event { .. } => return Some((at, trips)),
            }
        }
    }
}
