//! Whether a trace has what a format needs: all ranks, each with one thread that calls MPI.

use crate::error::ExportError;
use headwater_simulate::{Members, Program};
use headwater_virtual_run::{Recorded, Run};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of ranks of a program whose stream `r` is the only thread of rank `r`.
pub fn single_threaded(recorded: &Recorded<'_>, format: &'static str) -> Result<u32, ExportError> {
    for pair in recorded.streams().windows(2) {
        if let [(before, _), (rank, thread)] = pair
            && before == rank
        {
            return Err(ExportError::Threads(*rank, *thread, format));
        }
    }
    all(recorded, format)
}

/// The number of ranks of a program of which every rank is in the trace until its end.
pub fn all(recorded: &Recorded<'_>, format: &'static str) -> Result<u32, ExportError> {
    let size = recorded.size();
    let mut present: Vec<u32> = recorded.streams().iter().map(|(rank, _)| *rank).collect();
    present.dedup();
    let mut missing = (0..size).zip(present.into_iter().map(Some).chain(std::iter::repeat(None)));
    match missing.find(|(rank, is)| *is != Some(*rank)) {
        Some((rank, _)) => Err(ExportError::MissingRank(rank, size, format)),
        None => match recorded.unfinished() {
            Some(rank) => Err(ExportError::Unfinished(rank, format)),
            None => Ok(size),
        },
    }
}

/// The communicators of a program, as far as they were asked for, numbered one after the other.
#[derive(Debug, Default)]
pub struct Comms(FxHashMap<u32, (u32, Arc<[u32]>)>);

impl Comms {
    /// The ranks of a communicator, in its order.
    pub fn get(&mut self, steps: &Run<'_>, comm: u32, size: u32) -> Arc<[u32]> {
        self.numbered(steps, comm, size).1
    }

    /// The same with its number.
    pub fn numbered(&mut self, steps: &Run<'_>, comm: u32, size: u32) -> (u32, Arc<[u32]>) {
        let members = || match steps.members(comm) {
            Some(Members::List(list)) => list,
            Some(Members::Range {
                first,
                stride,
                count,
            }) => (0..count).map(|i| first + i * stride.max(1)).collect(),
            Some(Members::All) | None => (0..size).collect(),
        };
        let next = self.0.len() as u32;
        let known = self.0.entry(comm);
        known.or_insert_with(|| (next, members())).clone()
    }

    /// Those that were asked for, in the order of their numbers.
    pub fn used(&self) -> impl Iterator<Item = (u32, Arc<[u32]>)> {
        let mut all: Vec<_> = self.0.values().cloned().collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter()
    }
}

/// Whether these are all ranks in their order.
pub fn are_all(members: &[u32], size: u32) -> bool {
    members.len() == size as usize && (0..size).zip(members).all(|(a, b)| a == *b)
}

/// Tags that distinguish the communicators of the program as well as its tags.
#[derive(Debug, Default)]
pub struct Tags(FxHashMap<(u32, i32), u32>);

impl Tags {
    /// The tag of messages with a tag on a communicator; the same on all ranks.
    pub fn of(&mut self, comm: u32, tag: i32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((comm, tag)).or_insert(next)
    }
}
