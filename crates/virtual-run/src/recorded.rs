//! A recorded run that can be simulated.

use crate::handles::Lists;
use crate::notes::{Note, Notes};
use crate::places::{Place, Places};
use crate::shape::Shape;
use crate::survey::Survey;
use headwater_trace::trace::{Body, Node, Trace};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Why a trace cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSimulated {
    /// It has no events.
    #[error("the trace has no events")]
    Empty,
    /// Events are missing.
    #[error(
        "the trace of rank {rank} has no room for its last {lost} events, so what the others do with it cannot be simulated"
    )]
    Lossy {
        /// Whose.
        rank: u32,
        /// How many.
        lost: u64,
    },
    /// Some parameters are histograms.
    #[error(
        "the trace is lossy: it has only histograms of parameters of {0}, and each value is needed here; record it without --lossy"
    )]
    Histograms(String),
}

/// A trace with all that must be known before it is simulated.
#[derive(Debug)]
pub struct Recorded<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) lists: Lists,
    pub(crate) shapes: FxHashMap<u64, Shape>,
    pub(crate) survey: Survey,
    /// Rank and thread of each stream.
    pub(crate) streams: Vec<(u32, u32)>,
    /// What the last run could not simulate.
    pub(crate) notes: RefCell<Notes>,
    fixed: Notes,
    /// By rank and call before: places in the source, with their shares of the computation.
    pub(crate) splits: FxHashMap<(u32, u64), Vec<(u32, f64)>>,
}

impl<'a> Recorded<'a> {
    /// Goes through a trace once.
    ///
    /// # Errors
    /// There are no events, or some are missing.
    pub fn of(trace: &'a Trace) -> Result<Self, NotSimulated> {
        if trace.is_lossy() {
            return Err(NotSimulated::Histograms(trace.lossy_functions().join(", ")));
        }
        Self::surveyed(trace)
    }

    pub(crate) fn surveyed(trace: &'a Trace) -> Result<Self, NotSimulated> {
        if let Some(loss) = trace.losses.iter().find(|l| l.lost > 0) {
            return Err(NotSimulated::Lossy {
                rank: loss.rank,
                lost: loss.lost,
            });
        }
        let mut streams = Vec::new();
        for rank in trace.ranks.to_vec() {
            let threads = trace.streams.keys().copied();
            let some = threads.filter(|thread| trace.events(rank, *thread).next().is_some());
            streams.extend(some.map(|thread| (rank, thread)));
        }
        if streams.is_empty() {
            return Err(NotSimulated::Empty);
        }
        let mut fixed = Notes::default();
        let mut ranks_before = None;
        for (rank, _) in &streams {
            if ranks_before.replace(*rank) == Some(*rank) {
                fixed.add(Note::Threads);
            }
        }
        let signatures = trace.signatures.iter();
        let shapes =
            signatures.filter_map(|(identity, s)| Some((*identity, Shape::of(&s.function)?)));
        let shapes: FxHashMap<u64, Shape> = shapes.collect();
        let lists = Lists::of(trace);
        let survey = Survey::of(trace, &lists, &shapes, &streams);
        Ok(Self {
            trace,
            lists,
            shapes,
            survey,
            streams,
            notes: RefCell::default(),
            fixed,
            splits: FxHashMap::default(),
        })
    }

    /// Divides computation over places in the source. Each sample is a rank, the signature of the call before it, the
    /// place by a number of the caller's, and its weight. Computation without samples is not divided.
    pub fn divide(&mut self, samples: impl IntoIterator<Item = (u32, u64, u32, f64)>) {
        let mut sums: BTreeMap<(u32, u64), BTreeMap<u32, f64>> = BTreeMap::new();
        for (rank, before, source, weight) in samples {
            let all = sums.entry((rank, before)).or_default();
            *all.entry(source).or_default() += weight;
        }
        self.splits = sums
            .into_iter()
            .filter_map(|(key, all)| {
                let sum: f64 = all.values().sum();
                let share = |(source, weight): (u32, f64)| {
                    (self.survey.places.add(Place::Source(source)), weight / sum)
                };
                (sum > 0.0).then(|| (key, all.into_iter().map(share).collect()))
            })
            .collect();
    }

    /// Shares of a rank's computation after a call.
    #[inline]
    pub(crate) fn shares(&self, rank: u32, before: u64) -> Option<&[(u32, f64)]> {
        self.splits.get(&(rank, before)).map(Vec::as_slice)
    }

    /// Its places.
    pub fn places(&self) -> &Places {
        &self.survey.places
    }

    /// The first rank that ended without `MPI_Finalize`.
    pub fn unfinished(&self) -> Option<u32> {
        self.trace.losses.first().map(|loss| loss.rank)
    }

    /// Ranks of the program, also those that are not in the trace.
    pub fn size(&self) -> u32 {
        self.trace.size
    }

    /// Rank and thread of each stream.
    pub fn streams(&self) -> &[(u32, u32)] {
        &self.streams
    }

    /// What is not simulated as it was, after a program was run.
    pub fn notes(&self) -> Notes {
        let mut all = self.fixed.clone();
        all.merge(&self.notes.borrow());
        all
    }

    /// How long the recorded run took, seconds: computation and calls of the first thread, as the mean of all ranks. All
    /// ranks end with the same call, so they take equally long.
    pub fn seconds(&self) -> f64 {
        let first = self.trace.streams.values().next();
        let sum = first.map_or(0, |row| sum_of(row));
        sum as f64 / self.trace.ranks.len().max(1) as f64 / 1e9
    }
}

fn sum_of(row: &[Node]) -> u64 {
    let of = |node: &Node| match &node.body {
        Body::Loop(row) => sum_of(row),
        Body::Event(event) => {
            let times = event.times.values();
            times.map(|t| t.wall.sum.saturating_add(t.call.sum)).sum()
        }
    };
    row.iter().map(of).fold(0, u64::saturating_add)
}

impl Recorded<'_> {
    /// How many ranks are in the trace.
    pub(crate) fn ranks(&self) -> usize {
        self.trace.ranks.len() as usize
    }
}
