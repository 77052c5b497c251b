//! Bytes by MPI call: what a rank sends and receives there, and what a completing call completes.
//!
//! Calls are recorded with the bytes that they ask for. A call that completes others' requests has no bytes of its own:
//! the sampled messages show which requests are completed there, and each represents all of its kind. Requests without
//! a sampled message may be completed anywhere; they are divided over the completing calls of their rank without a
//! known message.

use headwater_graph::{RunView, VertexIx};
use headwater_model::run::Run;
use headwater_mpi_abi::{self as abi, Class, Mode};
use rustc_hash::FxHashMap;

type At = (VertexIx, u32);

/// Bytes of all calls of a run.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes that calls send and receive, by call and rank.
    asked: FxHashMap<At, f64>,
    /// Bytes that have been moved when calls end, by call and rank.
    moved: FxHashMap<At, f64>,
}

impl Traffic {
    /// Sums up a run.
    pub fn new(run: &Run, view: &RunView) -> Self {
        let mut this = Self::default();
        let mut counts: FxHashMap<At, f64> = FxHashMap::default();
        let mut completing: FxHashMap<At, f64> = FxHashMap::default();
        let mut posted: FxHashMap<At, f64> = FxHashMap::default();
        let mut both: FxHashMap<VertexIx, ()> = FxHashMap::default();
        for c in &run.calls {
            let function = abi::by_name(run.function(c.func));
            let (Some(function), Some(v)) = (function, view.vertex(c.ctx)) else {
                continue;
            };
            let at = (v, c.rank);
            let size = run.comms.get(c.comm as usize);
            let size = size.map_or(run.header.ranks, |comm| comm.size);
            let bytes = c.bytes as f64 * parts(function.name, c.peer == 0, size);
            *counts.entry(at).or_default() += c.count as f64;
            *this.asked.entry(at).or_default() += bytes;
            if function.class.is_completing() {
                *completing.entry(at).or_default() += c.count as f64;
            } else if function.mode == Mode::Blocking || function.is_collective() {
                *this.moved.entry(at).or_default() += bytes;
            } else {
                *posted.entry(at).or_default() += bytes;
            }
            if function.class == Class::SendRecv {
                both.insert(v, ());
            }
        }
        let mut sampled: FxHashMap<At, f64> = FxHashMap::default();
        for m in &view.parallel.messages {
            *sampled.entry((m.send, m.src)).or_default() += m.count as f64;
            *sampled.entry((m.post, m.dst)).or_default() += m.count as f64;
        }
        // How many messages of a call each sampled one represents.
        let stands_for = |at: At| match (counts.get(&at), sampled.get(&at)) {
            (Some(all), Some(some)) if *some > 0.0 => (all / some).max(1.0),
            _ => 1.0,
        };
        for m in &view.parallel.messages {
            let received = m.bytes as f64 * stands_for((m.post, m.dst));
            if m.post != m.recv || both.contains_key(&m.recv) {
                *this.moved.entry((m.recv, m.dst)).or_default() += received;
            }
            if both.contains_key(&m.recv) {
                *this.asked.entry((m.recv, m.dst)).or_default() += received;
            }
            if m.done != m.send {
                let sent = m.bytes as f64 * stands_for((m.send, m.src));
                *this.moved.entry((m.done, m.src)).or_default() += sent;
            }
        }
        this.divide(&posted, &sampled, &completing);
        this
    }

    /// Divides what was posted and never sampled over the completing calls of its rank that complete nothing known.
    fn divide(
        &mut self,
        posted: &FxHashMap<At, f64>,
        sampled: &FxHashMap<At, f64>,
        completing: &FxHashMap<At, f64>,
    ) {
        let mut open: FxHashMap<u32, f64> = FxHashMap::default();
        for (at, bytes) in posted.iter().filter(|(at, _)| !sampled.contains_key(at)) {
            *open.entry(at.1).or_default() += bytes;
        }
        let unknown: Vec<(At, f64)> = (completing.iter())
            .filter(|(at, _)| !self.moved.contains_key(at))
            .map(|(at, calls)| (*at, *calls))
            .collect();
        let mut all: FxHashMap<u32, f64> = FxHashMap::default();
        for ((_, rank), calls) in &unknown {
            *all.entry(*rank).or_default() += calls;
        }
        for (at, calls) in unknown {
            let bytes = open.get(&at.1).copied().unwrap_or(0.0);
            let share = calls / all.get(&at.1).copied().unwrap_or(1.0).max(1.0);
            self.moved.insert(at, bytes * share);
        }
    }

    /// Bytes that a rank's calls send and receive.
    pub fn asked(&self, vertex: VertexIx, rank: u32) -> f64 {
        self.asked.get(&(vertex, rank)).copied().unwrap_or(0.0)
    }

    /// Bytes that have been moved when a rank's calls end.
    pub fn moved(&self, vertex: VertexIx, rank: u32) -> f64 {
        self.moved.get(&(vertex, rank)).copied().unwrap_or(0.0)
    }
}

/// By how much to multiply the recorded bytes to get what a rank sends and receives in a collective. Recorded are the
/// bytes that it sends, or that it receives from a root: a rank that gathers receives as much from each member.
fn parts(function: &str, is_root: bool, size: u32) -> f64 {
    let gathers_all = function.contains("llgather") && !function.contains("eighbor");
    let gathers = function.contains("ather") && !gathers_all && !function.contains("eighbor");
    match (gathers_all, gathers && is_root) {
        (false, false) => 1.0,
        _ => f64::from(size.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::{Pag, Structures};
    use headwater_model::run::{Comm, Context, CtxId, Header, MessageEdge, Module, MpiCalls, peer};

    /// A run of two ranks: contexts are a post, two waits and an Allgather.
    fn recorded() -> Run {
        let context = |offset| Context {
            parent: CtxId::NONE,
            module: 0,
            offset,
            exact: false,
        };
        let call = |rank, ctx, func, count, bytes| MpiCalls {
            rank,
            ctx: CtxId(ctx),
            func,
            count,
            bytes,
            peer: peer::NONE,
            ..Default::default()
        };
        let message = |recv, sampled, bytes| MessageEdge {
            src: 1,
            dst: 0,
            send_ctx: CtxId(4),
            post_ctx: CtxId(0),
            recv_ctx: CtxId(recv),
            sampled,
            bytes,
            ..Default::default()
        };
        Run {
            header: Header {
                ranks: 2,
                ..Default::default()
            },
            modules: vec![Module::default()],
            comms: vec![Comm { hash: 1, size: 2 }],
            contexts: (1..6).map(|i| context(i * 16)).collect(),
            functions: ["MPI_Irecv", "MPI_Wait", "MPI_Allgather", "MPI_Send"]
                .map(str::to_string)
                .into(),
            calls: vec![
                call(0, 0, 0, 40, 4_000),
                call(0, 1, 1, 10, 0),
                call(0, 2, 1, 30, 0),
                call(0, 3, 2, 1, 500),
                call(1, 4, 3, 40, 4_000),
            ],
            // One tenth of the messages was sampled.
            messages: vec![message(1, 1, 100), message(2, 3, 300)],
            ..Default::default()
        }
    }

    #[test]
    fn a_wait_has_the_bytes_of_the_messages_that_it_completes() {
        let mut runs = [recorded()];
        let pag = Pag::build(&mut runs, Structures::default());
        let view = &pag.runs[0];
        let traffic = Traffic::new(&runs[0], view);
        let at = |ctx: u32| view.vertex(CtxId(ctx)).expect("each context has a vertex");
        let moved = [0, 1, 2].map(|ctx| traffic.moved(at(ctx), 0).round() as u64);
        assert_eq!(moved, [0, 1_000, 3_000]);
        // The posting calls ask for the bytes, and no bytes are counted twice.
        assert_eq!(traffic.asked(at(0), 0).round() as u64, 4_000);
        assert_eq!(traffic.asked(at(1), 0).round() as u64, 0);
        // A rank that gathers from two ranks receives twice what it sends.
        assert_eq!(traffic.asked(at(3), 0).round() as u64, 1_000);
    }

    #[test]
    fn what_no_message_tells_is_divided_over_the_waits() {
        let mut run = recorded();
        run.messages.clear();
        let mut runs = [run];
        let pag = Pag::build(&mut runs, Structures::default());
        let view = &pag.runs[0];
        let traffic = Traffic::new(&runs[0], view);
        let at = |ctx: u32| view.vertex(CtxId(ctx)).expect("each context has a vertex");
        let moved = [1, 2].map(|ctx| traffic.moved(at(ctx), 0).round() as u64);
        assert_eq!(moved, [1_000, 3_000]);
    }
}
