//! Computation that does not shrink as ranks are added (ScalAna, section IV-A).
//!
//! The middle rank (of two the faster) is compared between the smallest and the largest scale, so that
//! work which only some ranks have is left to [`crate::imbalance`]. Under strong scaling the time should fall as 1/p,
//! under weak scaling it should stay.

use crate::cause::Candidate;
use crate::counted::{self, Counted};
use crate::fit::log_log;
use crate::inclusive::{is_body, is_most_of_body};
use crate::scale::Scale;
use crate::times::Times;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{CauseClass, Scaling};
use headwater_model::words::seconds as time;

/// Causes looked for at the most.
const MOST: usize = 6;

/// Slope above which the time of a divided loop counts as not shrinking: half way to −1. Caches and
/// memory make real loops shrink by a little more or less than the ideal.
const SLOPE: f64 = -0.5;

/// The same for a loop that should stay as it is under weak scaling.
const WEAK_SLOPE: f64 = 0.2;

/// What `seconds` at `from` ranks should be at `to` ranks.
pub fn ideal(scaling: Scaling, seconds: f64, from: u32, to: u32) -> f64 {
    match scaling {
        Scaling::Strong => seconds * f64::from(from) / f64::from(to.max(1)),
        Scaling::Weak | Scaling::Single => seconds,
    }
}

/// Looks for work that does not shrink. `scales` ascend; `least` is the smallest cost worth telling.
pub fn find(
    pag: &Pag,
    scales: &[Scale],
    times: &Times,
    scaling: Scaling,
    least: f64,
) -> Vec<Candidate> {
    let [first, .., last] = scales else {
        return Vec::new();
    };
    let usual = |scale: usize, v: VertexIx| times.computation(scale, v).usual;
    let end = scales.len() - 1;
    let loss = |v: VertexIx| usual(end, v) - ideal(scaling, usual(0, v), first.p, last.p);
    let slope_limit = if scaling == Scaling::Weak {
        WEAK_SLOPE
    } else {
        SLOPE
    };
    let slope = |v: VertexIx| {
        let points: Vec<(f64, f64)> = scales
            .iter()
            .enumerate()
            .map(|(i, s)| (f64::from(s.p), usual(i, v)))
            .collect();
        log_log(&points).map_or(0.0, |l| l.slope)
    };
    let mut out: Vec<Candidate> = Vec::new();
    let mut open = vec![TopDown::ROOT];
    // Depth first from the root: a vertex is a cause if it holds enough loss and no child holds most.
    while let Some(v) = open.pop() {
        let own = loss(v);
        if own < least || out.len() >= MOST {
            continue;
        }
        let structured =
            |c: &VertexIx| pag.top.get(*c).kind != headwater_model::psg::VertexKind::Comp;
        let heavy: Vec<VertexIx> = pag.children[v as usize]
            .iter()
            .copied()
            .filter(structured)
            .filter(|c| !is_body(pag, *c) || is_most_of_body(loss(*c), own))
            .filter(|c| loss(*c) >= least)
            .collect();
        let covered: f64 = heavy.iter().map(|c| loss(*c)).sum();
        if covered >= 0.4 * own {
            open.extend(heavy);
        } else if v != TopDown::ROOT && slope(v) > slope_limit {
            let seconds: Vec<String> = scales
                .iter()
                .enumerate()
                .map(|(i, s)| format!("{} on {}", time(usual(i, v)), s.p))
                .collect();
            let mut evidence = vec![format!("the usual rank: {} ranks", seconds.join(", "))];
            let longer = usual(end, v) / ideal(scaling, usual(0, v), first.p, last.p);
            let class = match instructions(pag, [first, last], scaling, v) {
                Some((ratio, words)) => {
                    evidence.push(words);
                    if counted::is_work(longer, ratio) {
                        CauseClass::NonShrinkingWork
                    } else {
                        CauseClass::SlowerWork
                    }
                }
                None => CauseClass::NonShrinkingWork,
            };
            out.push(Candidate {
                in_turn: false,
                error: 0.0,
                team: None,
                twins: Vec::new(),
                class,
                vertex: v,
                ranks: (0..last.p).collect(),
                cost: own,
                gain: own,
                after: last.afters(&last.keys_inside(pag, v)),
                evidence,
            });
        }
    }
    out
}

/// Instructions of the median rank over what they should be, and how fast they ran, where they were
/// counted at both ends: time that stays though the instructions shrink is not work that stays.
fn instructions(
    pag: &Pag,
    [first, last]: [&Scale; 2],
    scaling: Scaling,
    v: VertexIx,
) -> Option<(f64, String)> {
    let at = |s: &Scale| {
        let all: Vec<u32> = (0..s.p).collect();
        let counted = Counted::new(s, &s.keys_inside(pag, v))?;
        Some((counted.instructions(&all)?, counted.pace(&all)))
    };
    let ((before, pace), (now, pace_now)) = (at(first)?, at(last)?);
    let ratio = now / ideal(scaling, before, first.p, last.p);
    let words = format!(
        "{ratio:.2} times the instructions that there should be on {}: {pace} on {} ranks, {pace_now} on {}",
        last.p, first.p, last.p
    );
    Some((ratio, words))
}
