//! GOAL, the schedule language of LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010).
//!
//! A rank is a list of operations with labels: `calc` in nanoseconds, `send` and `recv`. An operation begins when those
//! that it requires are done: those that the rank has waited for. So a nonblocking operation is required only by what
//! comes after its wait. Collectives are messages ([`super::messages`]), and lengths are at least one byte, because the
//! simulator's cost of a message is that of the bytes after the first.

use super::lengths::{Lengths, Messages, Position};
use super::messages::{COLLECTIVE, Collective, PROBES, Round, SYNCHRONOUS, counted};
use super::ranks::{Comms, Tags, single_threaded};
use crate::error::ExportError;
use headwater_simulate::{Mode, Op, Program};
use headwater_virtual_run::{Recorded, Run};
use rustc_hash::FxHashMap;
use std::io::Write;

/// A trace that is written.
#[derive(Debug)]
pub struct Goal<'a> {
    steps: Run<'a>,
    size: u32,
    tags: Tags,
    comms: Comms,
    lengths: Lengths,
    messages: Messages,
    synchronous: u64,
    probes: u64,
    collectives: u64,
}

/// What a rank has while it is written.
struct Rank<'w> {
    rank: u32,
    /// The number of the last label.
    label: u64,
    /// What the next operation requires.
    required: Vec<u64>,
    requests: FxHashMap<u32, Vec<u64>>,
    position: Position<u32>,
    received: Position<(u32, u32, u32, i32)>,
    /// Nanoseconds of computation that are not written yet.
    computed: f64,
    out: &'w mut dyn Write,
}

impl<'a> Goal<'a> {
    /// Goes through the trace twice; `step` is called after each rank.
    ///
    /// # Errors
    /// A rank is missing, or has several threads that call MPI.
    pub fn new(recorded: &'a Recorded<'a>, mut step: impl FnMut()) -> Result<Self, ExportError> {
        Ok(Self {
            size: single_threaded(recorded, "goal")?,
            steps: recorded.program(),
            tags: Tags::default(),
            comms: Comms::default(),
            lengths: Lengths::of(recorded, &mut step),
            messages: Messages::of(recorded, &mut step),
            synchronous: 0,
            probes: 0,
            collectives: 0,
        })
    }

    /// Writes the schedule; `step` is called after each rank. It can be written once.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        mut step: impl FnMut(),
    ) -> Result<(), ExportError> {
        writeln!(out, "num_ranks {}", self.size)?;
        for rank in 0..self.size {
            writeln!(out, "\nrank {rank} {{")?;
            let mut state = Rank {
                rank,
                label: 0,
                required: Vec::new(),
                requests: FxHashMap::default(),
                position: Position::default(),
                received: Position::default(),
                computed: 0.0,
                out,
            };
            while let Some(step) = self.steps.next(rank) {
                self.step(&mut state, step.op)?;
            }
            state.compute()?;
            writeln!(out, "}}")?;
            step();
        }
        Ok(())
    }

    fn step(&mut self, rank: &mut Rank<'_>, op: Op) -> Result<(), ExportError> {
        match op {
            Op::Compute { seconds } => rank.computed += seconds * 1e9,
            Op::Nothing => {}
            Op::Free { request } => {
                rank.requests.remove(&request.number());
            }
            Op::Probe { .. } => self.probes += 1,
            Op::Send {
                to,
                tag,
                comm,
                bytes,
                mode,
                request,
            } => {
                self.synchronous += u64::from(mode == Mode::Synchronous);
                let label = rank.send(to, self.tags.of(comm, tag), bytes)?;
                rank.posted(request.map(|r| r.number()), vec![label]);
            }
            Op::Recv {
                from,
                tag,
                comm,
                request,
            } => {
                let channel = (from, rank.rank, comm, tag);
                let bytes = self.messages.next(&mut rank.received, channel);
                let label = rank.receive(from, self.tags.of(comm, tag), bytes)?;
                rank.posted(request.map(|r| r.number()), vec![label]);
            }
            Op::Wait { request } => {
                // What was computed before does not wait for it.
                rank.compute()?;
                let done = rank.requests.remove(&request.number());
                rank.required.extend(done.unwrap_or_default());
            }
            Op::Collective {
                comm,
                kind,
                root,
                request,
                ..
            } => {
                let bytes = self.lengths.next(&mut rank.position, comm);
                let members = self.comms.get(&self.steps, comm, self.size);
                let own = Collective::of(kind, &members, rank.rank, root, bytes)?;
                let tag = self.tags.of(comm, COLLECTIVE);
                self.collectives += 1;
                match request {
                    Some(request) => {
                        let labels = rank.round(&own.at_once(), &members, tag)?;
                        rank.posted(Some(request.number()), labels);
                    }
                    None => {
                        for round in own.rounds() {
                            let labels = rank.round(&round, &members, tag)?;
                            rank.posted(None, labels);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sentences about what is written as something else, after the schedule was written.
    pub fn notes(&self) -> Vec<String> {
        let all = [
            (
                self.collectives,
                "collectives are written as messages: dissemination, pairwise exchange, binomial trees",
            ),
            (self.synchronous, SYNCHRONOUS),
            (self.probes, PROBES),
        ];
        counted(&all)
    }
}

impl Rank<'_> {
    /// The computation before an operation.
    fn compute(&mut self) -> Result<(), ExportError> {
        let whole = self.computed.floor();
        if whole < 1.0 {
            return Ok(());
        }
        // What is less than a nanosecond is part of the next computation.
        self.computed -= whole;
        let label = self.operation(format_args!("calc {whole}"))?;
        self.required = vec![label];
        Ok(())
    }

    fn operation(&mut self, what: std::fmt::Arguments<'_>) -> Result<u64, ExportError> {
        self.label += 1;
        let label = self.label;
        writeln!(self.out, "l{label}: {what}")?;
        for before in &self.required {
            writeln!(self.out, "l{label} requires l{before}")?;
        }
        Ok(label)
    }

    fn send(&mut self, to: u32, tag: u32, bytes: u64) -> Result<u64, ExportError> {
        self.compute()?;
        let bytes = bytes.max(1);
        self.operation(format_args!("send {bytes}b to {to} tag {tag}"))
    }

    fn receive(&mut self, from: u32, tag: u32, bytes: u64) -> Result<u64, ExportError> {
        self.compute()?;
        let bytes = bytes.max(1);
        self.operation(format_args!("recv {bytes}b from {from} tag {tag}"))
    }

    /// Operations are required by the next one, or by what comes after the wait for their request.
    fn posted(&mut self, request: Option<u32>, labels: Vec<u64>) {
        match request {
            Some(request) => {
                self.requests.insert(request, labels);
            }
            None if labels.is_empty() => {}
            None => self.required = labels,
        }
    }

    fn round(&mut self, round: &Round, members: &[u32], tag: u32) -> Result<Vec<u64>, ExportError> {
        let world = |member: u32| members.get(member as usize).copied().unwrap_or(0);
        let mut labels = Vec::with_capacity(round.sends.len() + round.receives.len());
        for (from, bytes) in &round.receives {
            labels.push(self.receive(world(*from), tag, *bytes)?);
        }
        for (to, bytes) in &round.sends {
            labels.push(self.send(world(*to), tag, *bytes)?);
        }
        Ok(labels)
    }
}
