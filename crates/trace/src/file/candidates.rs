//! How often a node ran, and which events may end a row: those that may run before the next event.

use crate::trace::{Body as What, Node};
use crate::vector::Term;

/// How many events are looked at that may run before an event.
pub(super) const CANDIDATES: usize = 16;

/// How often a node ran.
pub(super) struct NodeRuns {
    /// On all ranks.
    pub all: u64,
    /// How often it was begun, not counting its repetitions.
    pub begun: u64,
    /// Whether it ran each time, where it has a part.
    pub sure: bool,
    pub repeated: bool,
    /// Ranks that have a part.
    pub ranks: u64,
}

pub(super) fn runs(node: &Node) -> NodeRuns {
    let mut runs = NodeRuns {
        all: 0,
        begun: 0,
        sure: true,
        repeated: false,
        ranks: 0,
    };
    for part in &node.trips.parts {
        let ranks = part.ranks.len();
        let all = part.values.sum().max(0) as u64;
        runs.all = runs.all.saturating_add(all.saturating_mul(ranks));
        let begun = positive(part.values.terms());
        runs.begun = runs.begun.saturating_add(begun.saturating_mul(ranks));
        runs.sure &= begun == part.values.len();
        runs.repeated |= all > begun;
        runs.ranks = runs.ranks.saturating_add(ranks);
    }
    runs
}

/// How many values are positive.
fn positive(terms: &[Term]) -> u64 {
    terms.iter().fold(0, |sum: u64, term| {
        sum.saturating_add(match term {
            Term::Loop { body, times } => positive(body).saturating_mul(*times),
            // Only one value of a stride of trips can be 0: an end of it.
            Term::Run {
                first,
                stride,
                count,
            } => {
                let last = first.wrapping_add(stride.wrapping_mul(*count as i64 - 1));
                match (*first > 0, last > 0) {
                    (true, true) => *count,
                    (false, false) => 0,
                    _ => *count - 1,
                }
            }
        })
    })
}

/// Events with which a row may end, the most likely one first.
pub(super) fn ends(row: &[Node], all: u64, into: &mut Vec<u64>, depth: u32) {
    for node in row.iter().rev() {
        if into.len() >= CANDIDATES || depth > super::body::DEEPEST {
            return;
        }
        match &node.body {
            What::Event(event) => push_new(into, event.signature),
            What::Loop(row) => ends(row, all, into, depth + 1),
        }
        let runs = runs(node);
        if runs.sure && runs.ranks == all {
            return;
        }
    }
}

pub(super) fn push_new(list: &mut Vec<u64>, one: u64) {
    if !list.contains(&one) {
        list.push(one);
    }
}
