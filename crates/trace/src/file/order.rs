//! In which order lists and texts are written.

use crate::trace::{Body as What, Kind, Node, Trace};
use crate::vector::Term;
use rustc_hash::FxHashSet;

/// Identities of a kind in the order in which events have them, then the others.
pub(super) fn in_order_of_use(trace: &Trace, kind: Kind, known: impl Fn(i64) -> bool) -> Vec<i64> {
    let mut order = Order {
        trace,
        kind,
        known: &known,
        seen: FxHashSet::default(),
        all: Vec::new(),
    };
    trace.streams.values().for_each(|row| order.row(row));
    let all: Vec<i64> = match kind {
        Kind::List => trace.lists.keys().copied().collect(),
        _ => trace.texts.keys().copied().collect(),
    };
    all.into_iter().for_each(|identity| order.add(identity));
    order.all
}

struct Order<'a, F> {
    trace: &'a Trace,
    kind: Kind,
    known: &'a F,
    seen: FxHashSet<i64>,
    all: Vec<i64>,
}

impl<F: Fn(i64) -> bool> Order<'_, F> {
    fn add(&mut self, identity: i64) {
        if (self.known)(identity) && self.seen.insert(identity) {
            self.all.push(identity);
        }
    }

    fn row(&mut self, row: &[Node]) {
        for node in row {
            match &node.body {
                What::Loop(row) => self.row(row),
                What::Event(event) => {
                    let Some(signature) = self.trace.signatures.get(&event.signature) else {
                        continue;
                    };
                    for (kind, column) in signature.kinds.iter().zip(&event.values) {
                        if *kind == self.kind {
                            column
                                .parts
                                .iter()
                                .for_each(|part| self.terms(part.values.terms()));
                        }
                    }
                }
            }
        }
    }

    fn terms(&mut self, terms: &[Term]) {
        for term in terms {
            match term {
                Term::Loop { body, .. } => self.terms(body),
                Term::Run {
                    first,
                    stride,
                    count,
                } => {
                    self.add(*first);
                    if *count == 2 {
                        self.add(first.wrapping_add(*stride));
                    }
                }
            }
        }
    }
}
