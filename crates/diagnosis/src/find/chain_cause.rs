//! Finds a chain of ranks that compute in turn, as a cause: the work that delays the chain, the ranks, and the cost.
//!
//! A rank that waits for the one before is a symptom. The cause is the computation between a receive and the message
//! that lets the next rank go on. Its place is the loop with most of it, if that loop is in the function that
//! communicates. Where the work is in a function that is called there, and little else is computed around these calls,
//! the place is the smallest one that contains the receive, the work and the send: the called function may have other
//! callers, and the order of these three makes the chain.

use crate::find::candidate::{Candidate, Price, is_certain};
use crate::find::chain_cost::{ChainCost, Piece};
use crate::find::chain_work::{InTurn, calls, work};
use crate::find::finder::{Does, Finder};
use crate::measure::backtrack::structured;
use crate::measure::chain::Jump;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use headwater_model::run::CtxId;
use headwater_model::words::seconds as time;
use std::collections::{BTreeMap, BTreeSet};

/// A place around the receive and the send must contain at least this share of the computation in turn before the send.
const MOST: f64 = 0.5;

/// Least share of what critical paths compute in a place that must be in turn, so that the calls in the place count as
/// part of the chain. For two ranks that do nothing else it is a half.
const FOR_CHAIN: f64 = 0.4;

/// A call with less than this share of the waits on critical paths is not part of the chain; a rank with less than this
/// share of the longest wait in the chain's calls does not wait in turn.
const LITTLE: f64 = 0.05;

/// The links of a chain.
#[derive(Default)]
struct Links {
    /// Computation in turn that another rank waited for, seconds, by the waiting call and the call that was waited for.
    ends: BTreeMap<(CtxId, CtxId), f64>,
    /// Seconds waited by call.
    waits: BTreeMap<CtxId, f64>,
    /// Computation on paths from a rank's receive to the send that lets the next rank go on, seconds, and how often it
    /// occurs.
    passed: (f64, usize),
    /// Jumps.
    hops: usize,
}

/// The finder.
pub const FINDER: Finder = Finder {
    name: "late-sender-chain",
    about: "Ranks that can only start when the one before has finished.",
    needs_alike: true,
    needs_charged: false,
    does: Does::Finds(|l| find(l.pag, l.last, l.least)),
};

/// Looks for a chain at one scale; `least` is the smallest cost worth reporting, seconds.
fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    if scale.chain() < least {
        return Vec::new();
    }
    let busy = stats::mean(&scale.busy());
    let cost = ChainCost::new(scale.run(), &scale.replay, busy);
    // A run cannot wait for longer than the time beside its computation.
    let most = scale.model_seconds() - stats::max(&scale.busy());
    let gain = (cost.per_busy * busy).min(most);
    let mut found = Candidate {
        in_turn: false,
        price: Price::default(),
        error: cost.error * busy,
        team: None,
        twins: Vec::new(),
        class: CauseClass::LateSenderChain,
        vertex: TopDown::ROOT,
        ranks: Vec::new(),
        cost: gain,
        gain,
        after: Vec::new(),
        evidence: Vec::new(),
    };
    if gain < least || !is_certain(gain, found.error) {
        return Vec::new();
    }
    let in_turn = InTurn::new(pag, scale, &cost);
    let links = links(scale, &cost, &in_turn);
    let all: f64 = links.waits.values().sum();
    let waits = |(ctx, seconds): (&CtxId, &f64)| (*seconds >= LITTLE * all).then_some(*ctx);
    found.after = links.waits.iter().filter_map(waits).collect();
    found.ranks = ranks_in_turn(&cost, &found.after);
    let Some((vertex, twins, work)) = place(pag, scale, &links, &in_turn) else {
        return Vec::new();
    };
    (found.vertex, found.twins) = (vertex, twins);
    let chained: Vec<&Piece> = cost.pieces.iter().filter(|p| p.chain > 0.0).collect();
    found.evidence.push(format!(
        "in {} of {} stretches that were looked at, the last rank waits through {:.1} messages in turn on the average, though all ranks would compute for the same time",
        chained.len(),
        cost.pieces.len(),
        links.hops as f64 / chained.len().max(1) as f64
    ));
    if work != vertex {
        let what = pag.place(work);
        found.evidence.push(format!(
            "what each rank computes before it lets the next one go on is mostly in {}",
            headwater_model::words::location(&what)
        ));
    }
    let (seconds, times) = links.passed;
    found.evidence.push(format!(
        "after each of these messages, a rank computes for {} before the next one can go on",
        time(seconds / times.max(1) as f64)
    ));
    vec![found]
}

/// Sums up the critical paths of all stretches with a chain.
fn links(scale: &Scale, cost: &ChainCost, in_turn: &InTurn) -> Links {
    let mut out = Links::default();
    let again = |jump: &Jump| cost.seen.get(jump).is_some_and(|n| *n > 1);
    for piece in cost.pieces.iter().filter(|p| p.chain > 0.0) {
        let mut waiting: Option<Jump> = None;
        for stretch in &piece.path {
            let own = calls(cost, piece, stretch.rank);
            if let Some(jump) = waiting.filter(again) {
                let sent = stretch.calls.1.checked_sub(1);
                let sent = sent.and_then(|at| own.get(at as usize));
                if let Some(sent) = sent {
                    let work = work(scale, cost, piece, stretch.rank, stretch.calls);
                    out.passed.0 += work.iter().map(|(_, seconds)| seconds).sum::<f64>();
                    out.passed.1 += 1;
                    let part = |(after, seconds)| seconds * in_turn.after(after, stretch.rank);
                    let seconds: f64 = work.into_iter().map(part).sum();
                    *out.ends.entry((jump.at, sent.ctx)).or_default() += seconds;
                }
            }
            if let Some(jump) = stretch.jump {
                out.hops += 1;
                let wait = stretch.calls.0.checked_sub(1);
                let wait = wait.and_then(|at| own.get(at as usize));
                *out.waits.entry(jump.at).or_default() += wait.map_or(0.0, |c| c.leave - c.enter);
            }
            waiting = stretch.jump;
        }
    }
    out
}

/// The ranks whose wait in these calls is not negligible beside the longest one there, and all ranks that they wait
/// for, directly or through other ranks: the first ranks of a chain wait little, or not at all.
fn ranks_in_turn(cost: &ChainCost, calls_of_chain: &[CtxId]) -> Vec<u32> {
    let mut waited: BTreeMap<u32, f64> = BTreeMap::new();
    let mut on: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for (rank, calls) in (cost.even.replay.windows.iter()).flat_map(|w| (0..).zip(w)) {
        for call in calls.iter().filter(|c| calls_of_chain.contains(&c.ctx)) {
            if let Some((other, _)) = call.waited_for {
                let seconds = call.leave - call.enter;
                *waited.entry(rank).or_default() += seconds;
                *on.entry(rank).or_default().entry(other).or_default() += seconds;
            }
        }
    }
    let most = waited.values().copied().fold(0.0, f64::max);
    let waits = |(rank, seconds): (&u32, &f64)| (*seconds > LITTLE * most).then_some(*rank);
    let mut open: Vec<u32> = waited.iter().filter_map(waits).collect();
    let mut ranks: BTreeSet<u32> = BTreeSet::new();
    while let Some(rank) = open.pop() {
        if ranks.insert(rank) {
            let of_rank = waited.get(&rank).copied().unwrap_or(0.0);
            let long = on.get(&rank).into_iter().flatten();
            let long = long.filter(|(_, seconds)| **seconds >= LITTLE * of_rank);
            open.extend(long.map(|(other, _)| *other));
        }
    }
    ranks.into_iter().collect()
}

/// The place of the work that delays the chain, the same place on other call paths, and where in it the work is.
fn place(
    pag: &Pag,
    scale: &Scale,
    links: &Links,
    in_turn: &InTurn,
) -> Option<(VertexIx, Vec<VertexIx>, VertexIx)> {
    let work = in_turn.seconds();
    // The innermost place around the two ends of a message and the work between them.
    let mut around: BTreeMap<VertexIx, f64> = BTreeMap::new();
    for ((waits, sends), seconds) in &links.ends {
        let (a, b) = (scale.view().vertex(*waits)?, scale.view().vertex(*sends)?);
        let both = if a == b {
            pag.top.get(a).parent.unwrap_or(TopDown::ROOT)
        } else {
            pag.top.common_ancestor(a, b)
        };
        let holds = |v: &VertexIx| in_turn.of(*v) >= MOST * seconds;
        let both = pag.top.ancestors(both).find(holds);
        *around.entry(both.unwrap_or(TopDown::ROOT)).or_default() += seconds;
    }
    let heavier = |a: (VertexIx, f64), b: (VertexIx, f64)| if b.1 > a.1 { b } else { a };
    let (around, _) = around.into_iter().reduce(heavier)?;
    let inner = work.descend(pag, around, InTurn::weigh);
    let enters = |v: &VertexIx| {
        matches!(
            pag.top.get(*v).kind,
            VertexKind::Function | VertexKind::Inlined
        )
    };
    let path: Vec<VertexIx> = (pag.top.ancestors(inner))
        .take_while(|v| *v != around)
        .collect();
    let calls = path.iter().rposition(enters);
    let at = match calls {
        Some(entered) if around != TopDown::ROOT && in_turn.part(around) >= FOR_CHAIN => {
            path.get(entered + 1).copied().unwrap_or(around)
        }
        _ => inner,
    };
    let vertex = structured(pag, at);
    if vertex == TopDown::ROOT {
        // If the program's file is gone, only the calls have places.
        let waits = links.waits.iter().map(|(ctx, seconds)| (*ctx, *seconds));
        let (ctx, _) = waits.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        let call = scale.view().vertex(ctx)?;
        return Some((call, Vec::new(), call));
    }
    let twins = work.same_place(pag, vertex, InTurn::weigh);
    let twins = twins.into_iter().filter(|v| *v != vertex).collect();
    Some((vertex, twins, inner))
}
