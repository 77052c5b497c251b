//! Ranks that compute in turn as a cause: which work passes the chain on, on which ranks, and what it costs.
//!
//! A rank that waits for the one before is a symptom. The cause is the computation between a receive and the message
//! that lets the next rank go on. Its place is the loop with most of it, if that is in the function that communicates.
//! Where the work is in a function that is called there, and little else is computed around these calls, the place is
//! the smallest one that holds the receive, the work and the send: the called function may have other callers, and
//! it is the order of these three that makes the chain.

use crate::backtrack::structured;
use crate::cause::Candidate;
use crate::chain::{Jump, Stretch};
use crate::chain_cost::{ChainCost, Piece};
use crate::inclusive::Inclusive;
use crate::replay::Played;
use crate::scale::Scale;
use crate::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use headwater_model::run::CtxId;
use headwater_model::words::seconds as time;
use std::collections::{BTreeMap, BTreeSet};

/// Share of the computation around a receive and a send from which on these calls say what it is for.
const MOST: f64 = 0.5;

/// Share of the waits on critical paths below which a call is not one of the chain's; and of a rank's computation
/// below which it does not wait in turn.
const LITTLE: f64 = 0.05;

/// What passes a chain on.
#[derive(Default)]
struct Links {
    /// Computation on critical paths that another rank waited for, by the call after which it is, seconds.
    work: BTreeMap<CtxId, f64>,
    /// The same by the call that waited and the one that was waited for.
    ends: BTreeMap<(CtxId, CtxId), f64>,
    /// Seconds waited by call.
    waits: BTreeMap<CtxId, f64>,
    /// Jumps.
    hops: usize,
}

/// Looks for a chain at one scale; `least` is the smallest cost worth telling, seconds.
pub fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    if scale.chain() < least {
        return Vec::new();
    }
    let cost = ChainCost::new(scale.run(), &scale.replay);
    let busy = stats::mean(&scale.busy());
    // A run does not wait for longer than it has time beside its computation.
    let most = scale.model_seconds() - stats::max(&scale.busy());
    let gain = (cost.per_busy * busy).min(most);
    let mut found = Candidate {
        in_turn: false,
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
    if gain < least || found.range().0 <= 0.0 {
        return Vec::new();
    }
    let links = links(scale, &cost);
    let all: f64 = links.waits.values().sum();
    let waits = |(ctx, seconds): (&CtxId, &f64)| (*seconds >= LITTLE * all).then_some(*ctx);
    found.after = links.waits.iter().filter_map(waits).collect();
    found.ranks = in_turn(&cost, &found.after);
    let Some((vertex, twins, work)) = place(pag, scale, &links) else {
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
    let ranks = found.ranks.len().max(1) as f64;
    let passes: f64 = links.work.values().sum::<f64>() / (chained.len().max(1) as f64 * ranks);
    found.evidence.push(format!(
        "a rank computes for {} in such a stretch before the next one can go on",
        time(passes)
    ));
    vec![found]
}

fn calls<'r>(cost: &'r ChainCost, piece: &Piece, rank: u32) -> &'r [Played] {
    let window = cost.even.replay.windows.get(piece.epoch.window);
    let calls = window.and_then(|w| w.get(rank as usize));
    calls.map_or(&[], |calls| calls)
}

/// Sums up the critical paths of all stretches with a chain.
fn links(scale: &Scale, cost: &ChainCost) -> Links {
    let mut out = Links::default();
    let again = |jump: &Jump| cost.seen.get(jump).is_some_and(|n| *n > 1);
    for piece in cost.pieces.iter().filter(|p| p.chain > 0.0) {
        let mut waiting: Option<Jump> = None;
        for stretch in &piece.path {
            let own = calls(cost, piece, stretch.rank);
            if let Some(jump) = waiting.filter(again) {
                let sent = stretch.calls.1.checked_sub(1);
                if let Some(sent) = sent.and_then(|at| own.get(at as usize)) {
                    *out.ends.entry((jump.at, sent.ctx)).or_default() += stretch.busy;
                }
                for (after, seconds) in work(scale, piece, stretch, own) {
                    *out.work.entry(after).or_default() += seconds;
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

/// Computation on a stretch, by the call after which it is.
fn work(scale: &Scale, piece: &Piece, stretch: &Stretch, own: &[Played]) -> Vec<(CtxId, f64)> {
    let recorded = scale.replay.windows.get(piece.epoch.window);
    let recorded = recorded.and_then(|w| w.get(stretch.rank as usize));
    let one = |at: u32| {
        let call = own.get(at as usize)?;
        // Only as it was recorded is the call known that was left before a window.
        let after = recorded.and_then(|r| r.get(at as usize)).map(|c| c.after);
        Some((after.unwrap_or(call.after), call.busy))
    };
    (stretch.calls.0..stretch.calls.1).filter_map(one).collect()
}

/// The ranks that wait in these calls for longer than next to nothing, and those that they wait for.
fn in_turn(cost: &ChainCost, calls_of_chain: &[CtxId]) -> Vec<u32> {
    let mut ranks: BTreeSet<u32> = BTreeSet::new();
    for window in &cost.even.replay.windows {
        for (rank, calls) in (0..).zip(window) {
            let waits = || {
                calls
                    .iter()
                    .filter(|c| c.waited_for.is_some() && calls_of_chain.contains(&c.ctx))
            };
            let waited: f64 = waits().map(|c| c.leave - c.enter).sum();
            let busy: f64 = calls.iter().map(|c| c.busy).sum();
            if waited > LITTLE * busy {
                ranks.insert(rank);
                ranks.extend(waits().filter_map(|c| c.waited_for).map(|w| w.0));
            }
        }
    }
    ranks.into_iter().collect()
}

/// The place of the work that passes a chain on, the same place by other ways, and where in it the work is.
fn place(pag: &Pag, scale: &Scale, links: &Links) -> Option<(VertexIx, Vec<VertexIx>, VertexIx)> {
    let data = &scale.view().computation;
    // Samples divide the time after a call over places.
    let mut weights: Vec<(VertexIx, usize, f64)> = Vec::new();
    for (after, seconds) in &links.work {
        let keys = data.keys_where(|k| k.after == *after);
        let busy = |key: &u32| data.busy.row(*key).map_or(0.0, |row| row.sum());
        let all: f64 = keys.iter().map(busy).sum();
        for key in keys.iter().filter(|_| all > 0.0) {
            if let Some(of) = data.keys.get(*key as usize) {
                weights.push((of.vertex, 0, seconds * busy(key) / all));
            }
        }
    }
    let work = Inclusive::of_columns(pag, 1, weights);
    let weigh = |row: &[f64]| row.first().copied().unwrap_or(0.0);
    let weight = |v: VertexIx| work.row(v).map_or(0.0, weigh);
    // The two ends of a message and the work between them have a place around them.
    let mut around: BTreeMap<VertexIx, f64> = BTreeMap::new();
    for ((waits, sends), seconds) in &links.ends {
        let (a, b) = (scale.view().vertex(*waits)?, scale.view().vertex(*sends)?);
        let both = if a == b {
            pag.top.get(a).parent.unwrap_or(TopDown::ROOT)
        } else {
            pag.top.common_ancestor(a, b)
        };
        let holds = |v: &VertexIx| weight(*v) >= MOST * seconds;
        let both = pag.top.ancestors(both).find(holds);
        *around.entry(both.unwrap_or(TopDown::ROOT)).or_default() += seconds;
    }
    let heavier = |a: (VertexIx, f64), b: (VertexIx, f64)| if b.1 > a.1 { b } else { a };
    let (around, _) = around.into_iter().reduce(heavier)?;
    let inner = work.descend(pag, around, weigh);
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
        Some(entered) if around != TopDown::ROOT && is_for_chain(pag, scale, links, around) => {
            path.get(entered + 1).copied().unwrap_or(around)
        }
        _ => inner,
    };
    let vertex = structured(pag, at);
    if vertex == TopDown::ROOT {
        // Of a program that is gone only the calls have places.
        let waits = links.waits.iter().map(|(ctx, seconds)| (*ctx, *seconds));
        let (ctx, _) = waits.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        let call = scale.view().vertex(ctx)?;
        return Some((call, Vec::new(), call));
    }
    let twins = work.same_place(pag, vertex, weigh);
    let twins = twins.into_iter().filter(|v| *v != vertex).collect();
    Some((vertex, twins, inner))
}

/// Whether most of what ranks compute in a place is what passes the chain on.
fn is_for_chain(pag: &Pag, scale: &Scale, links: &Links, place: VertexIx) -> bool {
    let data = &scale.view().computation;
    let (mut chained, mut all) = (0.0, 0.0);
    for key in scale.keys_inside(pag, place) {
        let (Some(of), Some(row)) = (data.keys.get(key as usize), data.busy.row(key)) else {
            continue;
        };
        let seconds = row.sum();
        all += seconds;
        if links.work.contains_key(&of.after) {
            chained += seconds;
        }
    }
    chained >= MOST * all
}
