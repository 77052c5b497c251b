//! What is not simulated, or not exactly, and how often.

use std::collections::BTreeMap;

/// What is not as in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The function is not known.
    UnknownFunction,
    /// Members of a communicator are not known.
    UnknownCommunicator,
    /// The other rank is not in the trace.
    MissingRank,
    /// The size of a datatype is not known.
    UnknownDatatype,
    /// A request is not known.
    UnknownRequest,
    /// Who sent a message is not known.
    UnknownSource,
    /// Transfers, locks and flushes of one-sided communication.
    OneSided,
    /// Neighbours of a topology are not known.
    UnknownNeighbours,
    /// Threads beside the first one.
    Threads,
    /// Files take the recorded time.
    Files,
    /// Other processes.
    Processes,
}

impl Note {
    /// A sentence about it.
    pub fn text(self) -> &'static str {
        match self {
            Self::UnknownFunction => {
                "calls of functions that this version does not know take no time"
            }
            Self::UnknownCommunicator => {
                "calls on communicators whose members are not known, as on parts of intercommunicators, wait for nobody"
            }
            Self::MissingRank => "messages to or from ranks that are not in the trace are left out",
            Self::UnknownDatatype => {
                "for elements of datatypes whose size is not known, one byte is assumed"
            }
            Self::UnknownRequest => "completions of unknown requests are left out",
            Self::UnknownSource => "receives whose message is not known are left out",
            Self::OneSided => {
                "one-sided transfers, locks and flushes take no time and wait for nobody"
            }
            Self::UnknownNeighbours => {
                "collectives between neighbours that are not known wait for all members"
            }
            Self::Threads => {
                "threads beside the first begin with the run, and nobody waits for their end"
            }
            Self::Files => "calls on files take the recorded time",
            Self::Processes => "calls that start or meet other processes take no time",
        }
    }
}

/// How often each was the case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(BTreeMap<Note, u64>);

impl Notes {
    /// It was the case once more.
    pub fn add(&mut self, note: Note) {
        *self.0.entry(note).or_default() += 1;
    }

    /// Each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Note, u64)> {
        self.0.iter().map(|(note, n)| (*note, *n))
    }

    /// Adds those of others.
    pub fn merge(&mut self, other: &Self) {
        for (note, n) in other.iter() {
            *self.0.entry(note).or_default() += n;
        }
    }
}
