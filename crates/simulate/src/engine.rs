//! The engine: runs each stream as far as it goes, until it waits for another.
//!
//! The time of each operation is a function of times of other operations alone (maxima of sums), and who meets whom is
//! decided by order within ranks. So streams may be run in any order. A stream that is far ahead of those who receive
//! its messages stops until nobody else can run; then the one with the earliest time goes on. So memory is needed only
//! for what is outstanding.

mod arrivals;
mod channels;
mod collectives;
mod ends;
mod messages;
mod path;
mod requests;
mod stuck;

use crate::error::Error;
use crate::network::{LogGp, Network};
use crate::op::{Op, Step};
use crate::outcome::{Cause, Done, OnPath, Outcome, Spent, Visitor};
use crate::program::Program;
use channels::{Channels, Key, What};
use collectives::{Comm, Pool};
use path::{Paths, START};
use requests::{End, NOBODY, OWN, Slot};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A stream with more messages than this that nobody received lets others run first.
const AHEAD: u32 = 1 << 10;

/// What to find out beside times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The critical path by place. Without it a simulation is faster.
    pub critical_path: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            critical_path: true,
        }
    }
}

/// Runs a program in virtual time, each stream on a core of its own, until all streams are at their end.
pub fn simulate<P: Program, V: Visitor>(
    program: P,
    network: &Network,
    options: Options,
    visitor: V,
) -> Result<Outcome, Error> {
    Engine::new(program, network, options, visitor)?.run(VecDeque::pop_front)
}

/// A stream as far as it has come.
#[derive(Clone, Copy, Debug)]
struct Stream {
    rank: u32,
    now: f64,
    /// From when on it can put a message into the network.
    network: f64,
    /// The step that it waits in.
    step: Option<Step>,
    /// How the blocking operation ended that it waits in.
    own: Option<End>,
    /// The request that it waits for, or [`OWN`].
    waits: u32,
    ended: bool,
    /// Whether it is in a call that has more steps.
    in_call: bool,
    /// Of the call that it is in.
    enter: f64,
    wait: f64,
    cause: Option<Cause>,
    /// The way to `now`.
    path: u32,
    /// Messages and collectives that others have not come to.
    ahead: u32,
    spent: Spent,
}

/// How a step ended.
enum Flow {
    /// It is done.
    On,
    /// It waits for a request, or for the blocking operation's end ([`OWN`]).
    Waits(u32),
}

struct Engine<P, V> {
    program: P,
    visitor: V,
    net: LogGp,
    streams: Vec<Stream>,
    ranks: u32,
    /// By rank.
    requests: Vec<Vec<Slot>>,
    channels: Channels,
    comms: Vec<Option<Comm>>,
    instances: Pool,
    paths: Paths,
    ready: VecDeque<u32>,
    /// The stream that runs.
    current: u32,
    /// Streams that are far ahead, earliest first. Times are not negative, so their bits have their order.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    steps: u64,
}

impl<P: Program, V: Visitor> Engine<P, V> {
    fn new(program: P, network: &Network, options: Options, visitor: V) -> Result<Self, Error> {
        let net = network.parameters();
        if !net.is_valid() {
            return Err(Error::Network);
        }
        let of_rank = |rank: u32| Stream {
            rank,
            now: 0.0,
            network: 0.0,
            step: None,
            own: None,
            waits: NOBODY,
            ended: false,
            in_call: false,
            enter: 0.0,
            wait: 0.0,
            cause: None,
            path: START,
            ahead: 0,
            spent: Spent {
                rank,
                ..Spent::default()
            },
        };
        let streams: Vec<Stream> = program.ranks().into_iter().map(of_rank).collect();
        let most = streams.iter().map(|s| s.rank).max();
        let most = most.filter(|r| *r < NOBODY && streams.len() < NOBODY as usize);
        let ranks = most.ok_or(Error::Streams)? + 1;
        Ok(Self {
            program,
            visitor,
            net,
            ready: (0..streams.len() as u32).collect(),
            streams,
            ranks,
            requests: vec![Vec::new(); ranks as usize],
            channels: Channels::new(),
            comms: Vec::new(),
            instances: Pool::default(),
            paths: Paths::new(options.critical_path),
            current: NOBODY,
            far: BinaryHeap::new(),
            steps: 0,
        })
    }

    /// Runs streams, each time the one that `pick` takes from those that can run.
    fn run(
        mut self,
        mut pick: impl FnMut(&mut VecDeque<u32>) -> Option<u32>,
    ) -> Result<Outcome, Error> {
        loop {
            let next = match pick(&mut self.ready) {
                Some(stream) => Some(stream),
                None => self.far.pop().map(|Reverse((_, stream))| stream),
            };
            let Some(stream) = next else { break };
            self.go(stream)?;
            if self.paths.is_long() {
                self.paths.sum();
            }
        }
        match self.streams.iter().all(|s| s.ended) {
            true => Ok(self.outcome()),
            false => Err(Error::Deadlock(self.blocked())),
        }
    }

    fn outcome(self) -> Outcome {
        let last = self
            .streams
            .iter()
            .reduce(|a, b| if b.now > a.now { b } else { a });
        let path = last.map_or(Vec::new(), |s| self.paths.by_place(s.path));
        let unreceived = self.channels.rest().filter(|(_, p)| p.is_send()).count();
        Outcome {
            seconds: last.map_or(0.0, |s| s.now),
            path: path
                .into_iter()
                .map(|(place, compute, network)| OnPath {
                    place,
                    compute,
                    network,
                })
                .collect(),
            unreceived: unreceived as u64,
            steps: self.steps,
            streams: self
                .streams
                .iter()
                .map(|s| Spent {
                    end: s.now,
                    ..s.spent
                })
                .collect(),
        }
    }

    /// Runs a stream until it waits, is at its end, or is far ahead.
    fn go(&mut self, s: u32) -> Result<(), Error> {
        let at = s as usize;
        self.current = s;
        // The step in which it waited has come to its end.
        if let Some(step) = self.streams[at].step.take() {
            let end = match std::mem::replace(&mut self.streams[at].waits, NOBODY) {
                OWN => self.streams[at].own.take(),
                request => self.take_done(self.streams[at].rank, request),
            };
            if let Some(end) = end {
                self.ends(s, &step, &end);
            }
            self.closes(s, &step);
        }
        let mut limit = self.streams[at].ahead.max(AHEAD);
        if limit > AHEAD {
            limit = limit.saturating_add(AHEAD);
        }
        while let Some(step) = self.program.next(s) {
            self.steps += 1;
            match self.begins(s, &step)? {
                Flow::On => self.closes(s, &step),
                Flow::Waits(request) => {
                    let stream = &mut self.streams[at];
                    (stream.step, stream.waits) = (Some(step), request);
                    return Ok(());
                }
            }
            let stream = &self.streams[at];
            if stream.ahead > limit {
                self.far.push(Reverse((stream.now.to_bits(), s)));
                return Ok(());
            }
            if self.paths.is_long() {
                self.paths.sum();
            }
        }
        self.streams[at].ended = true;
        Ok(())
    }

    /// Begins a step.
    #[inline]
    fn begins(&mut self, s: u32, step: &Step) -> Result<Flow, Error> {
        let stream = &mut self.streams[s as usize];
        if !stream.in_call {
            stream.in_call = true;
            (stream.enter, stream.wait, stream.cause) = (stream.now, 0.0, None);
        }
        match step.op {
            Op::Compute { seconds } => {
                if !(seconds >= 0.0 && seconds.is_finite()) {
                    let rank = stream.rank;
                    return Err(Error::Time { rank, seconds });
                }
                stream.now += seconds;
                stream.spent.compute += seconds;
                stream.path = self.paths.goes_on(stream.path, step.place, false, seconds);
                Ok(Flow::On)
            }
            Op::Nothing => Ok(Flow::On),
            Op::Send {
                to,
                tag,
                comm,
                bytes,
                mode,
                request,
            } => {
                let key = Key::new(stream.rank, to, comm, tag);
                self.check_rank(s, to)?;
                self.sends(s, step, key, bytes, mode, request)
            }
            Op::Recv {
                from,
                tag,
                comm,
                request,
            } => {
                let key = Key::new(from, stream.rank, comm, tag);
                self.check_rank(s, from)?;
                self.receives(s, step, key, request, What::Receive)
            }
            Op::Probe { from, tag, comm } => {
                let key = Key::new(from, stream.rank, comm, tag);
                self.check_rank(s, from)?;
                self.receives(s, step, key, None, What::Probe)
            }
            Op::Wait { request } => {
                let (rank, number) = (stream.rank, request.number());
                match self.requests[rank as usize].get_mut(number as usize) {
                    Some(Slot::Done(_)) => {
                        if let Some(end) = self.take_done(rank, number) {
                            self.ends(s, step, &end);
                        }
                        Ok(Flow::On)
                    }
                    Some(Slot::Active(who @ None)) => {
                        *who = Some(s);
                        Ok(Flow::Waits(number))
                    }
                    _ => Err(Error::NoRequest {
                        rank,
                        request: number,
                    }),
                }
            }
            Op::Free { request } => {
                let (rank, number) = (stream.rank, request.number());
                if let Some(end) = self.take_done(rank, number) {
                    self.paths.release(end.path);
                    return Ok(Flow::On);
                }
                match self.requests[rank as usize].get_mut(number as usize) {
                    Some(slot @ Slot::Active(None)) => *slot = Slot::Lost,
                    _ => {
                        return Err(Error::NoRequest {
                            rank,
                            request: number,
                        });
                    }
                }
                Ok(Flow::On)
            }
            Op::Collective {
                comm,
                kind,
                root,
                bytes,
                request,
                waits,
            } => self.arrives(s, step, (comm, kind, root), bytes, request, waits),
        }
    }

    /// A step has ended, and with the last of a call the call.
    #[inline]
    fn closes(&mut self, s: u32, step: &Step) {
        if step.more {
            return;
        }
        let stream = &mut self.streams[s as usize];
        stream.in_call = false;
        let compute = matches!(step.op, Op::Compute { .. });
        let done = Done {
            stream: s,
            rank: stream.rank,
            place: step.place,
            call: stream.spent.calls,
            op: step.op,
            enter: stream.enter,
            leave: stream.now,
            wait: stream.wait,
            waited_for: stream.cause,
        };
        if !compute {
            stream.spent.calls += 1;
        }
        self.visitor.done(&done);
    }

    fn check_rank(&self, s: u32, other: u32) -> Result<(), Error> {
        if other < self.ranks {
            return Ok(());
        }
        let rank = self.streams[s as usize].rank;
        Err(Error::NoRank { rank, other })
    }
}

#[cfg(test)]
mod tests;
