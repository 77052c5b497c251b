//! What-if questions: a program in which places are different.
//!
//! [`Edited`] changes steps on their way from a program to the engine. A question is answered by two simulations, with
//! and without the edits ([`what_if`]).

use crate::engine::{Options, simulate};
use crate::error::Error;
use crate::network::Network;
use crate::op::{Op, Step};
use crate::outcome::{OnPath, Outcome};
use crate::program::{Members, Program};
use rustc_hash::FxHashMap;

/// How a place is different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edit {
    /// Every stream that computes there does so for as long in all as the mean over all streams. Streams that do less
    /// than a tenth of that there stay as they are: it is not known when they would do the rest.
    Balanced,
    /// Computation there takes this many times as long. 0 removes it.
    Compute(f64),
    /// Messages and collectives there are this many times as long. A message is that of its sender's place.
    Bytes(f64),
    /// Nobody waits for others in collectives there.
    NoWait,
}

/// How long each stream computes at each place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// By place: seconds by stream.
    by_place: FxHashMap<u32, Vec<f64>>,
    streams: usize,
}

impl Work {
    /// Work of a program at some places, found by going through all of its steps.
    pub fn of(mut program: impl Program, places: &[u32]) -> Self {
        let streams = program.ranks().len();
        let none = || vec![0.0; streams];
        let mut by_place: FxHashMap<u32, Vec<f64>> = places.iter().map(|p| (*p, none())).collect();
        for stream in 0..streams {
            while let Some(step) = program.next(stream as u32) {
                if let Op::Compute { seconds } = step.op
                    && let Some(sums) = by_place.get_mut(&step.place)
                {
                    sums[stream] += seconds;
                }
            }
        }
        Self { by_place, streams }
    }

    /// A stream's factor with which it computes at a place as long as the mean.
    fn to_mean(&self, place: u32, stream: u32) -> f64 {
        let Some(all) = self.by_place.get(&place) else {
            return 1.0;
        };
        let own = all.get(stream as usize).copied().unwrap_or(0.0);
        let mean = all.iter().sum::<f64>() / self.streams.max(1) as f64;
        if own > 0.1 * mean { mean / own } else { 1.0 }
    }
}

/// What changes at a place.
#[derive(Clone, Debug)]
struct Change {
    compute: f64,
    bytes: f64,
    no_wait: bool,
    /// By stream; empty if the place is not balanced.
    to_mean: Vec<f64>,
}

impl Default for Change {
    fn default() -> Self {
        Self {
            compute: 1.0,
            bytes: 1.0,
            no_wait: false,
            to_mean: Vec::new(),
        }
    }
}

/// A program with edits.
#[derive(Clone, Debug)]
pub struct Edited<P> {
    program: P,
    changes: FxHashMap<u32, Change>,
}

impl<P: Program> Edited<P> {
    /// A program in which places are different, each with its edits; several edits of a place all have effect. `work` is
    /// needed where a place is [balanced](Edit::Balanced).
    pub fn new(program: P, edits: &[(u32, Edit)], work: &Work) -> Self {
        let mut changes: FxHashMap<u32, Change> = FxHashMap::default();
        let streams = program.ranks().len() as u32;
        for (place, edit) in edits {
            let change = changes.entry(*place).or_default();
            match edit {
                Edit::Balanced => {
                    change.to_mean = (0..streams).map(|s| work.to_mean(*place, s)).collect();
                }
                Edit::Compute(factor) => change.compute *= factor,
                Edit::Bytes(factor) => change.bytes *= factor,
                Edit::NoWait => change.no_wait = true,
            }
        }
        Self { program, changes }
    }
}

impl<P: Program> Program for Edited<P> {
    fn ranks(&self) -> Vec<u32> {
        self.program.ranks()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        let mut step = self.program.next(stream)?;
        let Some(change) = self.changes.get(&step.place) else {
            return Some(step);
        };
        match &mut step.op {
            Op::Compute { seconds } => {
                let mean = change.to_mean.get(stream as usize).copied();
                *seconds *= change.compute * mean.unwrap_or(1.0);
            }
            Op::Send { bytes, .. } => *bytes = scaled(*bytes, change.bytes),
            Op::Collective { bytes, waits, .. } => {
                *bytes = scaled(*bytes, change.bytes);
                *waits &= !change.no_wait;
            }
            Op::Nothing
            | Op::Recv { .. }
            | Op::Probe { .. }
            | Op::Wait { .. }
            | Op::Free { .. } => {}
        }
        Some(step)
    }

    fn members(&self, comm: u32) -> Option<Members> {
        self.program.members(comm)
    }
}

/// A length times a factor, to the nearest byte.
fn scaled(bytes: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        return bytes;
    }
    (bytes as f64 * factor).round() as u64
}

/// The answer to a what-if question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The program as it is.
    pub before: Outcome,
    /// The program with the edits.
    pub after: Outcome,
}

impl Answer {
    /// How much shorter the run is, seconds.
    pub fn gain(&self) -> f64 {
        self.before.seconds - self.after.seconds
    }

    /// The place that then has the longest part of the critical path.
    pub fn longest(&self) -> Option<OnPath> {
        self.after.longest()
    }
}

/// Simulates a program with and without edits. `program` gives it from its begin each time.
pub fn what_if<P: Program>(
    program: impl Fn() -> P,
    network: &Network,
    edits: &[(u32, Edit)],
) -> Result<Answer, Error> {
    let balanced = edits.iter().filter(|(_, e)| *e == Edit::Balanced);
    let places: Vec<u32> = balanced.map(|(place, _)| *place).collect();
    let work = match places.is_empty() {
        true => Work::default(),
        false => Work::of(program(), &places),
    };
    let options = Options::default();
    let edited = Edited::new(program(), edits, &work);
    Ok(Answer {
        before: simulate(program(), network, options, ())?,
        after: simulate(edited, network, options, ())?,
    })
}
