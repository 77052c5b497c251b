//! Compares the clocks of nodes with rank 0's, at the start and at the end of the run.
//!
//! A rank and its parent in the tree exchange messages several times. The fastest exchange is the most exact one, on
//! the assumption that the parent read its clock in the middle of it (Cristian's algorithm). Ranks of one node share
//! a clock.

use crate::end::tree::{Tree, tree};
use crate::guest::{clock, usage};
use crate::storage::process_spool;
use headwater_format::spool::layout::Alignment;
use headwater_model::hash::mix2;

/// The number of exchanges, of which the fastest is used.
const ROUNDS: usize = 16;

/// Compares the clocks when the run begins.
pub fn at_start() {
    note(0);
}

/// Compares the clocks when the run ends.
pub fn at_end() {
    note(1);
}

fn note(which: usize) {
    let Some(found) = tree().and_then(|t| align(&t)) else {
        return;
    };
    if which == 0 {
        clock::set_offset(found.offset_ns);
    }
    process_spool::with_spool(|spool| {
        *spool.header().alignments.get_mut(which)? = found;
        Some(())
    });
}

/// A number for the node that this process is on.
fn node() -> u64 {
    let host = usage::host();
    host.bytes().fold(1, |h, b| mix2(h, u64::from(b)))
}

fn align(tree: &Tree) -> Option<Alignment> {
    let node = node();
    let mut own = Alignment {
        at_ns: clock::now().max(1),
        offset_ns: 0,
        error_ns: 0,
    };
    if let Some(parent) = tree.parent() {
        tree.send_words(parent, &[node]);
        let [same, offset, error] = tree.receive_words(parent)?;
        (own.offset_ns, own.error_ns) = (offset as i64, error);
        if same == 0 {
            let (offset, error) = ask(tree, parent)?;
            own.offset_ns += offset;
            own.error_ns += error;
        }
    }
    for child in tree.children().rev() {
        let [theirs] = tree.receive_words(child)?;
        let same = u64::from(theirs == node);
        tree.send_words(child, &[same, own.offset_ns as u64, own.error_ns]);
        if same == 0 {
            for _ in 0..ROUNDS {
                let [] = tree.receive_words(child)?;
                tree.send_words(child, &[clock::now()]);
            }
        }
    }
    Some(own)
}

/// What to add to this rank's clock to get the parent's, and the largest error of this, nanoseconds.
fn ask(tree: &Tree, parent: u32) -> Option<(i64, u64)> {
    let mut best = (0, u64::MAX);
    for _ in 0..ROUNDS {
        let before = clock::now();
        tree.send_words(parent, &[]);
        let [theirs] = tree.receive_words(parent)?;
        let half = clock::now().saturating_sub(before) / 2;
        if half < best.1 {
            best = (theirs.wrapping_sub(before + half) as i64, half);
        }
    }
    Some(best)
}
