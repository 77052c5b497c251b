//! The parallel view: flows of all ranks joined by message and collective edges, and their threads by the
//! edges between those (PerFlow, 3.4).
//!
//! A vertex of this view is (top-down vertex, rank). Edges keep counts, bytes and waiting, in
//! seconds; they are sorted by their ends, so that equal inputs give equal views.

use crate::threads::{self, TeamStretch, ThreadEdge};
use crate::topdown::VertexIx;
use headwater_model::run::{CtxId, Run};

/// Control flow within a rank: computation from one MPI call to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEdge {
    /// Rank.
    pub rank: u32,
    /// MPI call left; `None` before the first.
    pub from: Option<VertexIx>,
    /// MPI call entered.
    pub to: Option<VertexIx>,
    /// Repetitions.
    pub count: u64,
    /// Computation on the way, seconds.
    pub busy: f64,
}

/// Messages from one (vertex, rank) to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageLink {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank.
    pub dst: u32,
    /// The sending call.
    pub send: VertexIx,
    /// The call that completed the receive.
    pub recv: VertexIx,
    /// The call that posted the receive, for which a sender may wait.
    pub post: VertexIx,
    /// Messages sampled.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Waiting of the receiver for the sender, seconds.
    pub late_sender: f64,
    /// Waiting of the sender for the receiver, seconds.
    pub late_receiver: f64,
}

/// A collective call site on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveEdge {
    /// Rank.
    pub rank: u32,
    /// The call.
    pub vertex: VertexIx,
    /// Index into the run's communicators.
    pub comm: u16,
    /// Instances sampled.
    pub count: u64,
    /// Waiting for the last to arrive, seconds.
    pub wait: f64,
    /// Instances in which this rank was the last.
    pub last: u64,
}

/// All edges of the parallel view of one run.
#[derive(Clone, Debug, Default)]
pub struct ParallelView {
    /// Within ranks.
    pub flows: Vec<FlowEdge>,
    /// Point-to-point.
    pub messages: Vec<MessageLink>,
    /// Collectives.
    pub collectives: Vec<CollectiveEdge>,
    /// Between threads of one rank.
    pub threads: Vec<ThreadEdge>,
    /// What brings threads together: work of teams, by team, rank, ends and thread.
    pub teams: Vec<TeamStretch>,
}

const NANO: f64 = 1e-9;

impl ParallelView {
    /// The edges of `run`, whose contexts stand for `ctx_vertex`.
    pub(crate) fn new(run: &Run, ctx_vertex: &[VertexIx]) -> Self {
        let vertex = |ctx: CtxId| ctx.index().and_then(|i| ctx_vertex.get(i)).copied();
        let flows = run.segments.iter().map(|s| FlowEdge {
            rank: s.rank,
            from: vertex(s.from),
            to: vertex(s.to),
            count: s.count,
            busy: s.busy_ns() as f64 * NANO,
        });
        let messages = run.messages.iter().filter_map(|m| {
            let recv = vertex(m.recv_ctx)?;
            Some(MessageLink {
                src: m.src,
                dst: m.dst,
                send: vertex(m.send_ctx)?,
                recv,
                post: vertex(m.post_ctx).unwrap_or(recv),
                count: m.sampled,
                bytes: m.bytes,
                late_sender: m.late_sender_ns as f64 * NANO,
                late_receiver: m.late_receiver_ns as f64 * NANO,
            })
        });
        let collectives = run.collectives.iter().filter_map(|c| {
            Some(CollectiveEdge {
                rank: c.rank,
                vertex: vertex(c.ctx)?,
                comm: c.comm,
                count: c.sampled,
                wait: c.wait_ns as f64 * NANO,
                last: c.last,
            })
        });
        Self {
            flows: flows.collect(),
            messages: messages.collect(),
            collectives: collectives.collect(),
            threads: threads::edges(run, vertex),
            teams: threads::stretches(run, vertex),
        }
    }
}
