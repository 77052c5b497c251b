//! The events of each rank with what they do, one by one: what a probabilistic replay reads of all ranks beforehand
//! (ScalaReplay II, section 3.5).

use crate::program::Run;
use crate::recorded::{NotSimulated, Recorded};
use crate::shape::value;
use crate::steps::Caller;
use headwater_mpi_abi::{Class, Kind, MOST_FIELDS};
use headwater_simulate::{Kind as What, Op};
use headwater_trace::trace::Trace;

/// An event of a rank.
#[derive(Clone, Debug, Default)]
pub struct Happening {
    /// Computation before it, nanoseconds: as long as the rank itself takes.
    pub computation: f64,
    /// The call, nanoseconds: the mean of all ranks.
    pub call: f64,
    /// What it does. A collective among neighbours is a barrier of all members.
    pub ops: Vec<Op>,
}

/// Gives the values of a signature's event that are in histograms.
pub type Fill<'f> = &'f mut dyn FnMut(u64, &mut [i64]);

impl<'a> Recorded<'a> {
    /// As [`Recorded::of`], of a trace that may be lossy: its values must be given to [`Run::happening`].
    ///
    /// # Errors
    /// There are no events, or some are missing.
    pub fn of_any(trace: &'a Trace) -> Result<Self, NotSimulated> {
        Self::surveyed(trace)
    }

    /// Identities of a rank's communicators by number.
    pub fn communicators(&self, rank: u32) -> impl Iterator<Item = (i64, u32)> + '_ {
        let of = self.survey.numbers.get(rank as usize).into_iter().flatten();
        [(0, crate::comms::WORLD)]
            .into_iter()
            .chain(of.map(|(number, id)| (*number, *id)))
    }

    /// Ranks of a communicator by their own numbers; `None` if one is not known.
    pub fn members(&self, comm: u32) -> Option<Vec<u32>> {
        self.survey.comms.list(comm)
    }
}

impl Run<'_> {
    /// The next event of a stream; `None` at its end.
    pub fn happening(&mut self, number: u32, fill: Fill<'_>) -> Option<Happening> {
        let recorded = self.recorded;
        let stream = self.streams.get_mut(number as usize)?;
        let event = stream.events.next()?;
        let signature = event.event.signature;
        let before = std::mem::replace(&mut stream.before, signature);
        let mut values = [0; MOST_FIELDS];
        let count = event.values.len().min(MOST_FIELDS);
        for (value, given) in values.iter_mut().zip(event.values) {
            *value = *given;
        }
        let values = values.get_mut(..count)?;
        fill(signature, values);
        let times = event.event.times.get(&before);
        let segment = recorded.survey.segments.get(&(number, before, signature));
        let factor = segment.map_or(1.0, |segment| segment.factor);
        let mut happening = Happening::default();
        if let Some(times) = times {
            let (wall, cpu) = (times.wall.mean(), times.cpu.mean());
            happening.computation = (wall + cpu * (factor - 1.0)).max(0.0);
            happening.call = times.call.mean();
        }
        let Some(shape) = recorded.shapes.get(&signature) else {
            return Some(happening);
        };
        let (rank, requests) = self.ranks.get_mut(stream.rank as usize)?;
        let together = match shape.class {
            Class::Neighbour => Some(shape.comm),
            Class::CommFree => Some(shape.at(Kind::FreedComm)),
            _ => None,
        };
        if let Some(at) = together {
            happening
                .ops
                .extend(rank.comm(value(values, at)).map(|comm| Op::Collective {
                    comm,
                    kind: What::Barrier,
                    root: 0,
                    bytes: 0,
                    request: None,
                    waits: true,
                }));
            return Some(happening);
        }
        let mut caller = Caller {
            recorded,
            shape,
            values,
            stream: number,
            thread: stream.thread,
            posts: &mut stream.posts,
            rank,
            requests,
            notes: &mut self.notes,
            ops: &mut happening.ops,
        };
        caller.call();
        Some(happening)
    }

    /// What was not understood until now.
    pub fn noted(&self) -> crate::Notes {
        self.notes.clone()
    }
}
