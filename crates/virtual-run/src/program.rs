//! The steps of a recorded run, one after the other.

use crate::fit::Seen;
use crate::notes::{Note, Notes};
use crate::places::Place;
use crate::ranks::Rank;
use crate::recorded::Recorded;
use crate::steps::{Caller, Requests};
use headwater_mpi_abi::{Class, MOST_FIELDS};
use headwater_simulate::{Members, Op, Program, Step};
use headwater_trace::expand::Events;
use headwater_trace::outliers::Upcoming;
use headwater_trace::trace::BEGIN;
use std::collections::VecDeque;

/// A recorded run as a program.
#[derive(Debug)]
pub struct Run<'a> {
    pub(crate) recorded: &'a Recorded<'a>,
    pub(crate) streams: Vec<Stream<'a>>,
    pub(crate) ranks: Vec<(Rank, Requests)>,
    pub(crate) notes: Notes,
    ops: Vec<Op>,
    /// The shortest times of calls, if they are wanted.
    pub(crate) seen: Option<Seen>,
}

#[derive(Debug)]
pub(crate) struct Stream<'a> {
    pub(crate) events: Events<'a>,
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) before: u64,
    outliers: Upcoming<'a>,
    /// Receives posted so far.
    pub(crate) posts: u64,
    steps: VecDeque<Step>,
}

impl Recorded<'_> {
    /// The program, from its begin.
    pub fn program(&self) -> Run<'_> {
        Run::new(self)
    }
}

impl<'a> Run<'a> {
    fn new(recorded: &'a Recorded<'a>) -> Self {
        let stream = |(rank, thread): &(u32, u32)| Stream {
            events: recorded.trace.events(*rank, *thread),
            rank: *rank,
            thread: *thread,
            before: BEGIN,
            outliers: Upcoming::of(recorded.trace, *rank, *thread),
            posts: 0,
            steps: VecDeque::new(),
        };
        let numbers = recorded.survey.numbers.iter();
        let rank = |(rank, numbers): (u32, &rustc_hash::FxHashMap<i64, u32>)| {
            let mut new = Rank::new(rank);
            new.comms.clone_from(numbers);
            (new, Requests::default())
        };
        Self {
            recorded,
            streams: recorded.streams.iter().map(stream).collect(),
            ranks: (0..).zip(numbers).map(rank).collect(),
            notes: Notes::default(),
            ops: Vec::new(),
            seen: None,
        }
    }

    /// Makes the steps of the stream's next event; `None` at its end.
    fn advance(&mut self, number: u32) -> Option<()> {
        let recorded = self.recorded;
        let stream = self.streams.get_mut(number as usize)?;
        let event = stream.events.next()?;
        let outlier = stream.outliers.next();
        let signature = event.event.signature;
        let before = std::mem::replace(&mut stream.before, signature);
        let mut values = [0; MOST_FIELDS];
        let count = event.values.len().min(MOST_FIELDS);
        values[..count].copy_from_slice(&event.values[..count]);
        let values = &values[..count];
        let times = event.event.times.get(&before);
        let segment = recorded.survey.segments.get(&(number, before, signature));
        if let (Some(times), Some(segment)) = (times, segment) {
            let nanoseconds = match outlier {
                Some(nanoseconds) => nanoseconds as f64 * segment.of_outliers,
                None => times.cpu.mean() * segment.factor,
            };
            let seconds = nanoseconds * 1e-9;
            let whole = [(segment.place, 1.0)];
            let shares = match stream.thread {
                0 => recorded.shares(stream.rank, before),
                _ => None,
            };
            for (place, share) in shares.unwrap_or(&whole) {
                let seconds = seconds * share;
                if seconds > 0.0 {
                    let step = Step::new(*place, Op::Compute { seconds });
                    stream.steps.push_back(step);
                }
            }
        }
        let place = recorded.survey.places.number(Place::Call(signature))?;
        let Some(shape) = recorded.shapes.get(&signature) else {
            self.notes.add(Note::UnknownFunction);
            stream.steps.push_back(Step::new(place, Op::Nothing));
            return Some(());
        };
        let call = times.map_or(0.0, |t| match shape.class {
            Class::File => t.call.mean(),
            // The rank that came last did not wait.
            Class::FileAll | Class::FileOpen | Class::FileClose => t.call.min as f64,
            _ => 0.0,
        });
        let (rank, requests) = self.ranks.get_mut(stream.rank as usize)?;
        self.ops.clear();
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
            ops: &mut self.ops,
        };
        caller.call();
        if let (Some(seen), Some(times), [op]) = (&mut self.seen, times, &self.ops[..])
            && !matches!(shape.class, Class::Init | Class::Finalize)
        {
            let count = |members: Members| match members {
                Members::All => recorded.ranks() as u32,
                Members::Range { count, .. } => count,
                Members::List(all) => all.len() as u32,
            };
            let members = |comm| recorded.survey.comms.members(comm).map_or(0, count);
            seen.add(op, times.call.min, members);
        }
        if call > 0.0 {
            self.notes.add(Note::Files);
            self.ops.push(Op::Compute {
                seconds: call * 1e-9,
            });
        }
        if self.ops.is_empty() {
            self.ops.push(Op::Nothing);
        }
        let last = self.ops.len() - 1;
        for (i, op) in self.ops.drain(..).enumerate() {
            let more = i < last;
            stream.steps.push_back(Step { op, place, more });
        }
        Some(())
    }
}

impl Program for Run<'_> {
    fn ranks(&self) -> Vec<u32> {
        self.recorded
            .streams
            .iter()
            .map(|(rank, _)| *rank)
            .collect()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        loop {
            if let Some(step) = self.streams.get_mut(stream as usize)?.steps.pop_front() {
                return Some(step);
            }
            self.advance(stream)?;
        }
    }

    fn members(&self, comm: u32) -> Option<Members> {
        self.recorded.survey.comms.members(comm)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        *self.recorded.notes.borrow_mut() = std::mem::take(&mut self.notes);
    }
}
