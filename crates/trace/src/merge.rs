//! Merges the traces of different ranks (ScalaTrace II, section 3.4).
//!
//! Nodes match by their signatures, whatever their loops do: how often a loop ran on which ranks is in its trips. So
//! ranks whose loops or branches differ share their events.

use crate::align::{Step, align};
use crate::elastic::{Elastic, Form, Part, Place};
use crate::ranks::Ranks;
use crate::trace::{Body, Communicator, Event, Kind, Node, Signature, Trace};
use crate::vector::{Term, Vector};
use std::collections::BTreeMap;

impl Trace {
    /// Adds the trace of other ranks of the same run.
    pub fn merge(&mut self, other: Self) {
        self.size = self.size.max(other.size);
        self.signatures.extend(other.signatures);
        self.modules.extend(other.modules);
        self.lists.extend(other.lists);
        self.texts.extend(other.texts);
        for (number, theirs) in other.communicators {
            let mine = self.communicators.entry(number).or_default();
            // The own rank is written relative to the rank in the program.
            let size = i64::from(self.size);
            mine.me.unite(theirs.me, &|rank| {
                Some(Place {
                    me: i64::from(rank),
                    size,
                })
            });
            mine.size.unite(theirs.size, &|_| None);
        }
        let mut merging = Merging {
            signatures: &self.signatures,
            communicators: &self.communicators,
            size: self.size,
        };
        for (thread, theirs) in other.streams {
            let mine = self.streams.entry(thread).or_default();
            let row = std::mem::take(mine);
            *mine = merging.rows(
                row,
                &[(1, self.ranks.clone())],
                theirs,
                &[(1, other.ranks.clone())],
            );
        }
        self.ranks.unite(&other.ranks);
        self.work.merge(other.work);
        self.add_outliers(other.outliers);
        for (place, theirs) in other.histograms {
            self.histograms.entry(place).or_default().merge(&theirs);
        }
        self.losses.extend(other.losses);
        self.losses.sort_by_key(|loss| (loss.rank, loss.thread));
        self.add_open(other.open);
    }

    /// Where a rank is in a communicator, if that is known.
    pub fn place(&self, communicator: i64, rank: u32) -> Option<Place> {
        place(&self.communicators, communicator, rank, self.size)
    }
}

fn place(all: &BTreeMap<i64, Communicator>, number: i64, rank: u32, ranks: u32) -> Option<Place> {
    let communicator = all.get(&number)?;
    let me = communicator.me.part(rank)?;
    let world = Place {
        me: i64::from(rank),
        size: i64::from(ranks),
    };
    let size = communicator.size.part(rank)?.values.last()?;
    Some(Place {
        me: me.form.rank(me.values.last()?, world),
        size,
    })
}

/// How often the row that nodes are in ran, by ranks.
type Runs<'a> = &'a [(u64, Ranks)];

struct Merging<'a> {
    signatures: &'a BTreeMap<u64, Signature>,
    communicators: &'a BTreeMap<i64, Communicator>,
    /// Ranks of the program.
    size: u32,
}

impl Merging<'_> {
    fn rows(
        &mut self,
        mut left: Vec<Node>,
        left_runs: Runs,
        mut right: Vec<Node>,
        right_runs: Runs,
    ) -> Vec<Node> {
        wrap_loops(&mut left, &right, left_runs);
        wrap_loops(&mut right, &left, right_runs);
        let steps = align(left.len(), right.len(), |i, j| {
            are_like(&left[i], &right[j])
        });
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        let mut merged = Vec::with_capacity(steps.len());
        for step in steps {
            let node = match step {
                Step::Both => match (left.next(), right.next()) {
                    (Some(mine), Some(theirs)) => Some(self.nodes(mine, theirs)),
                    (mine, theirs) => mine.or(theirs),
                },
                Step::Left => left.next(),
                Step::Right => right.next(),
            };
            merged.extend(node);
        }
        merged
    }

    fn nodes(&mut self, mut mine: Node, theirs: Node) -> Node {
        match (&mut mine.body, theirs.body) {
            (Body::Event(event), Body::Event(other)) => self.events(event, *other),
            (Body::Loop(row), Body::Loop(other)) => {
                let (left, right) = (runs(&mine.trips), runs(&theirs.trips));
                *row = self.rows(std::mem::take(row), &left, other, &right);
            }
            _ => {}
        }
        mine.trips.unite(theirs.trips, &|_| None);
        mine
    }

    fn events(&mut self, mine: &mut Event, theirs: Event) {
        let signature = self.signatures.get(&mine.signature);
        let kinds = signature.map_or(&[][..], |signature| &signature.kinds);
        let mut columns: Vec<(Elastic, Elastic)> = std::mem::take(&mut mine.values)
            .into_iter()
            .zip(theirs.values)
            .collect();
        // Peers are written relative to their ranks in the communicators, which are united last.
        let last = signature.and_then(Signature::communicator);
        let numbers = last.and_then(|at| Some(std::mem::take(columns.get_mut(at)?)));
        for ((values, others), kind) in columns.iter_mut().zip(kinds) {
            let others = std::mem::take(others);
            match (kind, &numbers) {
                (Kind::Peer, Some((a, b))) => {
                    values.unite(others, &|rank| self.only_place([a, b], rank));
                }
                _ => values.unite(others, &|_| None),
            }
        }
        if let Some(((values, others), place)) =
            numbers.zip(last.and_then(|at| columns.get_mut(at)))
        {
            place.0 = values;
            place.0.unite(others, &|_| None);
        }
        mine.values = columns.into_iter().map(|(values, _)| values).collect();
        for (before, times) in theirs.times {
            mine.times.entry(before).or_default().merge(&times);
        }
    }
}

impl Merging<'_> {
    /// Where a rank is in its communicator, if all executions are on one.
    fn only_place(&self, numbers: [&Elastic; 2], rank: u32) -> Option<Place> {
        let part = numbers.iter().find_map(|column| column.part(rank))?;
        match *part.values.terms() {
            [
                Term::Run {
                    first, stride: 0, ..
                },
            ] => place(self.communicators, first, rank, self.size),
            _ => None,
        }
    }
}

/// How often the body of a loop ran, by ranks.
fn runs(trips: &Elastic) -> Vec<(u64, Ranks)> {
    let parts = trips.parts.iter();
    parts
        .map(|part| (part.values.sum().max(0) as u64, part.ranks.clone()))
        .collect()
}

fn are_like(a: &Node, b: &Node) -> bool {
    match (&a.body, &b.body) {
        (Body::Event(a), Body::Event(b)) => a.signature == b.signature,
        (Body::Loop(_), Body::Loop(_)) => a.first() == b.first() || a.last() == b.last(),
        _ => false,
    }
}

/// Makes loops of one trip of nodes in `row` that are a loop in `other`.
fn wrap_loops(row: &mut Vec<Node>, other: &[Node], runs: Runs) {
    for like in other {
        let Body::Loop(body) = &like.body else {
            continue;
        };
        if row.iter().any(|node| are_like(node, like)) {
            continue;
        }
        let is_event = |node: &Node| matches!(node.body, Body::Event(_));
        let Some(from) = row
            .iter()
            .position(|node| is_event(node) && node.first() == like.first())
        else {
            continue;
        };
        let most = body.len() * 2;
        let Some(length) = row[from..]
            .iter()
            .take(most)
            .position(|node| node.last() == like.last())
        else {
            continue;
        };
        let parts = runs
            .iter()
            .filter(|(runs, _)| *runs > 0)
            .map(|(runs, ranks)| Part {
                values: Vector::repeated(1, *runs),
                form: Form::Absolute,
                ranks: ranks.clone(),
            });
        let trips = Elastic {
            parts: parts.collect(),
        };
        let body: Vec<Node> = row.drain(from..=from + length).collect();
        row.insert(
            from,
            Node {
                trips,
                body: Body::Loop(body),
            },
        );
    }
}
