//! SimGrid's time-independent trace, as `smpirun -replay` reads it (SimGrid 3.32, `smpi_replay.cpp`): a file for each
//! rank with an action in each line, an index with the names of these files, a platform, and a list of hosts.
//!
//! Ranks are those of the whole program, and collectives of an action are those of all ranks. So collectives on other
//! communicators and nonblocking ones are written as messages ([`super::messages`]). Lengths are bytes. The replay
//! knows an outstanding message by sender, receiver and tag, so each communicator and tag of the program has a tag of
//! its own.

use super::lengths::{Lengths, Position};
use super::messages::{COLLECTIVE, Collective, PROBES, Round, SYNCHRONOUS, counted};
use super::ranks::{Comms, Tags, are_all, single_threaded};
use crate::error::ExportError;
use headwater_simulate::{Kind, LogGp, Mode, Network, Op, Program};
use headwater_virtual_run::{Recorded, Run};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// What a host of the platform computes in a second, operations. A second of computation in the trace is as many.
pub const FLOPS: f64 = 1e9;

/// The index of the ranks' files.
pub const INDEX: &str = "trace.index";
/// The platform.
pub const PLATFORM: &str = "platform.xml";
/// The hosts of the ranks.
pub const HOSTS: &str = "hosts";

/// How many calls are written as something else.
#[derive(Clone, Copy, Debug, Default)]
struct Replaced {
    nonblocking: u64,
    other_communicators: u64,
    synchronous: u64,
    buffered: u64,
    probes: u64,
}

/// A trace that is written.
#[derive(Debug)]
pub struct SimGrid<'a> {
    steps: Run<'a>,
    size: u32,
    tags: Tags,
    comms: Comms,
    lengths: Lengths,
    replaced: Replaced,
}

/// By what the replay knows a message: sender, receiver, tag.
type Message = (u32, u32, u32);

/// What a rank has while its file is written.
struct Rank<'w> {
    rank: u32,
    requests: FxHashMap<u32, Vec<Message>>,
    position: Position<u32>,
    /// Seconds of computation that are not written yet.
    computed: f64,
    out: &'w mut dyn Write,
}

impl<'a> SimGrid<'a> {
    /// Goes through the trace once; `step` is called after each rank.
    ///
    /// # Errors
    /// A rank is missing, or has several threads that call MPI.
    pub fn new(recorded: &'a Recorded<'a>, step: impl FnMut()) -> Result<Self, ExportError> {
        Ok(Self {
            size: single_threaded(recorded, "simgrid")?,
            steps: recorded.program(),
            tags: Tags::default(),
            comms: Comms::default(),
            lengths: Lengths::of(recorded, step),
            replaced: Replaced::default(),
        })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.size
    }

    /// Writes what a rank does. Each rank can be written once.
    ///
    /// # Errors
    /// The writer fails, or a message is too long.
    pub fn rank(&mut self, rank: u32, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut state = Rank {
            rank,
            requests: FxHashMap::default(),
            position: Position::default(),
            computed: 0.0,
            out,
        };
        state.line(format_args!("init"))?;
        while let Some(step) = self.steps.next(rank) {
            self.step(&mut state, step.op)?;
        }
        state.line(format_args!("finalize"))
    }

    fn step(&mut self, rank: &mut Rank<'_>, op: Op) -> Result<(), ExportError> {
        match op {
            Op::Compute { seconds } => rank.computed += seconds,
            Op::Nothing => {}
            // Whoever is not waited for goes on; the replay waits for it at its end.
            Op::Free { request } => {
                rank.requests.remove(&request.number());
            }
            Op::Probe { .. } => self.replaced.probes += 1,
            Op::Send {
                to,
                tag,
                comm,
                bytes,
                mode,
                request,
            } => {
                match mode {
                    Mode::Synchronous => self.replaced.synchronous += 1,
                    Mode::Eager => self.replaced.buffered += 1,
                    Mode::Standard | Mode::Local => {}
                }
                let message = (rank.rank, to, self.tags.of(comm, tag));
                rank.send(message, bytes, request.is_none())?;
                rank.keep(request.map(|r| r.number()), [message]);
            }
            Op::Recv {
                from,
                tag,
                comm,
                request,
            } => {
                let message = (from, rank.rank, self.tags.of(comm, tag));
                rank.receive(message, request.is_none())?;
                rank.keep(request.map(|r| r.number()), [message]);
            }
            Op::Wait { request } => {
                for message in rank.requests.remove(&request.number()).unwrap_or_default() {
                    rank.wait(message)?;
                }
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
                if members.len() < 2 {
                    rank.keep(request.map(|r| r.number()), []);
                    return Ok(());
                }
                if request.is_none() && are_all(&members, self.size) {
                    return rank.collective(kind, root, bytes, self.size);
                }
                let own = Collective::of(kind, &members, rank.rank, root, bytes)?;
                let tag = self.tags.of(comm, COLLECTIVE);
                match request {
                    Some(request) => {
                        self.replaced.nonblocking += 1;
                        let posted = rank.post(&own.at_once(), &members, tag)?;
                        rank.keep(Some(request.number()), posted);
                    }
                    None => {
                        self.replaced.other_communicators += 1;
                        for round in own.rounds() {
                            rank.round(&round, &members, tag)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sentences about what is written as something else, after all ranks were written.
    pub fn notes(&self) -> Vec<String> {
        let r = &self.replaced;
        let all = [
            (
                r.other_communicators,
                "collectives on communicators with fewer ranks than the run are written as the messages of an algorithm",
            ),
            (
                r.nonblocking,
                "nonblocking collectives are written as a message to each rank that needs one",
            ),
            (r.synchronous, SYNCHRONOUS),
            (
                r.buffered,
                "buffered sends are written as sends, which wait for their receive above the threshold",
            ),
            (r.probes, PROBES),
        ];
        counted(&all)
    }
}

impl Rank<'_> {
    /// An action, after the computation before it.
    fn line(&mut self, action: std::fmt::Arguments<'_>) -> Result<(), ExportError> {
        let computed = std::mem::take(&mut self.computed);
        let rank = self.rank;
        if computed > 0.0 {
            writeln!(self.out, "{rank} compute {}", computed * FLOPS)?;
        }
        Ok(writeln!(self.out, "{rank} {action}")?)
    }

    fn send(&mut self, (_, to, tag): Message, bytes: u64, blocks: bool) -> Result<(), ExportError> {
        let word = if blocks { "send" } else { "isend" };
        let bytes = length(bytes)?;
        self.line(format_args!("{word} {to} {tag} {bytes}"))
    }

    /// The length is that of the buffer. As the longest, it can receive every message, eager or not.
    fn receive(&mut self, (from, _, tag): Message, blocks: bool) -> Result<(), ExportError> {
        let word = if blocks { "recv" } else { "irecv" };
        self.line(format_args!("{word} {from} {tag} {MOST}"))
    }

    fn wait(&mut self, (from, to, tag): Message) -> Result<(), ExportError> {
        self.line(format_args!("wait {from} {to} {tag}"))
    }

    fn keep(&mut self, request: Option<u32>, messages: impl IntoIterator<Item = Message>) {
        if let Some(request) = request {
            self.requests
                .insert(request, messages.into_iter().collect());
        }
    }

    /// Begins all messages of a round.
    fn post(
        &mut self,
        round: &Round,
        members: &[u32],
        tag: u32,
    ) -> Result<Vec<Message>, ExportError> {
        let world = |member: u32| members.get(member as usize).copied().unwrap_or(0);
        let mut all = Vec::with_capacity(round.sends.len() + round.receives.len());
        for (from, _) in &round.receives {
            let message = (world(*from), self.rank, tag);
            self.receive(message, false)?;
            all.push(message);
        }
        for (to, bytes) in &round.sends {
            let message = (self.rank, world(*to), tag);
            self.send(message, *bytes, false)?;
            all.push(message);
        }
        Ok(all)
    }

    fn round(&mut self, round: &Round, members: &[u32], tag: u32) -> Result<(), ExportError> {
        for message in self.post(round, members, tag)? {
            self.wait(message)?;
        }
        Ok(())
    }

    /// A collective of all ranks.
    fn collective(
        &mut self,
        kind: Kind,
        root: u32,
        bytes: u64,
        size: u32,
    ) -> Result<(), ExportError> {
        let n = length(bytes)?;
        match kind {
            Kind::Barrier => self.line(format_args!("barrier")),
            Kind::AllReduce => self.line(format_args!("allreduce {n} 0")),
            Kind::AllGather => self.line(format_args!("allgather {n} {n}")),
            Kind::AllToAll => self.line(format_args!("alltoall {n} {n}")),
            Kind::ReduceScatter => {
                let part = |i: u32| u64::from(i) * n / u64::from(size);
                let mut parts = String::new();
                for i in 0..size {
                    parts += &format!("{} ", part(i + 1) - part(i));
                }
                self.line(format_args!("reducescatter {parts}0"))
            }
            Kind::Broadcast => self.line(format_args!("bcast {n} {root}")),
            Kind::Scatter => self.line(format_args!("scatter {n} {n} {root}")),
            Kind::Reduce => self.line(format_args!("reduce {n} 0 {root}")),
            Kind::Gather => self.line(format_args!("gather {n} {n} {root}")),
            Kind::Scan => self.line(format_args!("scan {n} 0")),
        }
    }
}

/// The longest message, bytes: counts are `int`.
const MOST: u64 = i32::MAX as u64;

/// A length that can be written.
fn length(bytes: u64) -> Result<u64, ExportError> {
    match bytes <= MOST {
        true => Ok(bytes),
        false => Err(ExportError::TooLong(bytes)),
    }
}

/// The name of a rank's file.
pub fn rank_file(rank: u32) -> String {
    format!("rank-{rank}.txt")
}

/// Writes the index of the ranks' files.
///
/// # Errors
/// The writer fails.
pub fn index(size: u32, out: &mut dyn Write) -> io::Result<()> {
    (0..size).try_for_each(|rank| writeln!(out, "{}", rank_file(rank)))
}

/// Writes the hosts of the ranks.
///
/// # Errors
/// The writer fails.
pub fn hosts(size: u32, out: &mut dyn Write) -> io::Result<()> {
    (0..size).try_for_each(|rank| writeln!(out, "rank-{rank}"))
}

/// Writes a platform on which each rank has a host with one core, and an own link on which its messages share the
/// bandwidth. What arrives at a host does not share a link, as in [`LogGp`].
///
/// # Errors
/// The writer fails.
pub fn platform(size: u32, network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let net = network.parameters();
    let latency = net.latency;
    let bandwidth = match net.per_byte {
        g if g > 0.0 => 1.0 / g,
        // Long enough for every message to take less than the resolution of the simulation.
        _ => 1e21,
    };
    writeln!(
        out,
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n  \
         <!-- A second of computation is {FLOPS:e} flop. latency {latency} s, bandwidth {bandwidth:e} bytes/s -->\n  \
         <zone id=\"run\" routing=\"Cluster\">"
    )?;
    for rank in 0..size {
        writeln!(
            out,
            "    <host id=\"rank-{rank}\" speed=\"{FLOPS:e}f\" core=\"1\"/>\n    \
             <link id=\"up-{rank}\" bandwidth=\"{bandwidth:e}Bps\" latency=\"{latency}s\"/>\n    \
             <link id=\"down-{rank}\" bandwidth=\"1e21Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n    \
             <host_link id=\"rank-{rank}\" up=\"up-{rank}\" down=\"down-{rank}\"/>"
        )?;
    }
    writeln!(out, "  </zone>\n</platform>")
}

/// The command that replays the trace, in the directory of its files.
pub fn command(size: u32, network: &Network) -> String {
    let mut all = format!(
        "smpirun -np {size} -platform {PLATFORM} -hostfile {HOSTS} -replay {INDEX} --cfg=network/model:CM02 \
         --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0"
    );
    let LogGp {
        overhead,
        rendezvous_above,
        ..
    } = network.parameters();
    // What is sent at once is also on its way at once.
    let above = i32::try_from(rendezvous_above.saturating_add(1)).unwrap_or(i32::MAX);
    for what in ["send-is-detached-thresh", "async-small-thresh"] {
        all += &format!(" --cfg=smpi/{what}:{above}");
    }
    if overhead > 0.0 {
        for what in ["os", "ois", "or"] {
            all += &format!(" --cfg=smpi/{what}:0:{overhead}:0");
        }
    }
    all
}
