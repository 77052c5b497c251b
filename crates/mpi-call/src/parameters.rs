//! All parameters of a call that a replay needs (ScalaTrace II, section 3.1), as numbers.
//!
//! *Comes in*: a call's arguments, before and after the library's function has run. *Goes out*: one value for each of
//! the function's fields ([`headwater_mpi_abi::fields`]), in their order; lists and texts go to a [`Sink`], which
//! numbers them.
//!
//! The values are equal on all ranks of a program whose ranks do the same, and equal in each iteration of a loop.
//! Handles become small numbers. Predefined ones have those of the standard ABI ([`headwater_mpi_abi::predefined`]).
//! Communicators are numbered in the order in which the process makes them, and calls that return none count, too.
//! All else has the smallest number that is free when it is made: datatypes, operations, groups, infos and error
//! handlers from [`headwater_mpi_abi::FIRST_MADE`] on, windows, files, sessions, messages and requests from 0 on. Each
//! thread has its own numbers for the requests that it makes; if another thread refers to one, the maker's number plus 1
//! is in the upper half.
//!
//! [`Tables`] is what a process knows about its handles, and [`Parameters`] what a thread needs for a call. On the usual
//! way nothing is allocated, and memory is bounded: what goes beyond becomes
//! [`headwater_mpi_abi::constants::UNKNOWN`], and [`Parameters::lost`] says so.

mod after;
mod before;
mod communicators;
mod lists;
mod memo;
mod numbers;
mod plan;
mod statuses;
mod table;
mod tables;
#[cfg(test)]
mod tests;

use headwater_mpi_abi::MOST_FIELDS;
use headwater_mpi_abi::constants::ABSENT;
pub use memo::Memo;
use table::Claim;
use tables::Posted;
pub use tables::Tables;

/// Where lists and texts go. The handles of the process may be locked meanwhile, so nothing here may ask for them.
pub trait Sink {
    /// Takes a list. Returns its number, which becomes the value of the field.
    fn list(&mut self, values: &[i64]) -> i64;

    /// Takes a text. Returns its number.
    fn text(&mut self, bytes: &[u8]) -> i64;
}

/// A communicator that a call has made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Its number.
    pub number: i64,
    /// This process's rank there.
    pub rank: u32,
    /// Its members; of two groups, those of the own one.
    pub size: u32,
}

/// The longest list that is recorded.
pub const LONGEST_LIST: usize = 1 << 16;

/// The parameters of one call of a thread.
pub struct Parameters {
    thread: u32,
    values: [i64; MOST_FIELDS],
    /// A list that is being read.
    list: Vec<i64>,
    /// Requests that the call refers to, in order; `None` for those that nobody knows.
    claims: Vec<Option<Claim<Posted>>>,
    /// Whether some of them receive from whoever sends.
    some_wild: bool,
    /// For each completed request, in the order of the statuses, whether its status says something.
    done: Vec<bool>,
    /// Whether the call receives from whoever sends, or with any tag.
    wild: bool,
    /// Statuses of our own, for calls in which the program wants none.
    statuses: Vec<u64>,
    /// The communicator that the call has made.
    made_comm: Option<Made>,
    /// Whether something did not fit: a list was too long, or there was no memory.
    lost: bool,
}

impl Parameters {
    /// No call yet, of the thread with this number.
    pub fn new(thread: u32) -> Self {
        Self {
            thread,
            values: [ABSENT; MOST_FIELDS],
            list: Vec::with_capacity(256),
            claims: Vec::with_capacity(256),
            some_wild: false,
            done: Vec::with_capacity(256),
            wild: false,
            statuses: vec![0; 16],
            made_comm: None,
            lost: false,
        }
    }

    /// Whether lists of this thread, or handles of the process, were too many or too long for all to be recorded.
    pub fn lost(&self, tables: &Tables) -> bool {
        self.lost || tables.lost()
    }

    /// The communicator that the last call has made, if it made one with one group.
    pub fn made_comm(&self) -> Option<Made> {
        self.made_comm
    }

    fn value_of(&self, field: u8) -> i64 {
        let value = self.values.get(usize::from(field));
        value.copied().unwrap_or(ABSENT)
    }

    fn set(&mut self, field: usize, value: i64) {
        if let Some(place) = self.values.get_mut(field) {
            *place = value;
        }
    }
}
