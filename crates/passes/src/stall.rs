//! What may be a stall of the machine: a single long repetition of some ranks, at the largest scale only.
//!
//! The machine may take a core away for a while in a way that no counter shows, and the time looks like work of the one
//! rank. It does so anywhere, and hardly twice at one place. A program in which some ranks take longer in one repetition, as
//! in its set-up, mostly does so at every scale. What no smaller scale shows is therefore set aside, unless the ranks do
//! there what others do not, or sleep, which no machine does for them.

use crate::cause::Candidate;
use crate::once;
use crate::scale::Scale;
use crate::scales::Scales;
use crate::stats;
use headwater_graph::{Pag, RankRows, VertexIx, sum_rows};
use headwater_model::diagnosis::CauseClass;
use headwater_model::rank::RankSet;
use headwater_model::words;
use rustc_hash::FxHashSet;

/// Part of what the ranks lose at the largest scale that one must lose at a smaller scale for it to be the same, or must
/// sleep of it for it to be sleep.
const HALF: f64 = 0.5;

/// Part of the time of the late ranks below which the others do not do the same.
const OTHER_CODE: f64 = 0.1;

/// Seconds of each rank at the places of a candidate.
fn row(pag: &Pag, scale: &Scale, rows: &RankRows, c: &Candidate) -> Vec<f64> {
    let mut out = vec![0.0; scale.p as usize];
    for v in c.vertices() {
        let own = sum_rows(rows, &scale.keys_inside(pag, v), scale.p);
        out.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    out
}

/// Whether some rank loses `seconds` at a scale too: in one repetition of what it does after the same calls, or beyond
/// what ranks usually take at the place.
fn loses(
    pag: &Pag,
    scale: &Scale,
    c: &Candidate,
    after: &FxHashSet<VertexIx>,
    seconds: f64,
) -> bool {
    let run = scale.run();
    let here = |ctx| scale.view().vertex(ctx).is_some_and(|v| after.contains(&v));
    let own = run.segments.iter().filter(|s| here(s.from));
    let longest = own.map(once::longer_once).max().unwrap_or(0) as f64 * 1e-9;
    let busy = row(pag, scale, &scale.view().computation.busy, c);
    let beyond = stats::max(&busy) - stats::median(&busy);
    longest.max(beyond) >= seconds
}

/// Why a cause is set aside, as a sentence; `None` where it is not, or where there is no other scale to look at.
pub fn chance(scales: &Scales, c: &Candidate) -> Option<String> {
    let (last, smaller) = scales.all.split_last()?;
    let may = matches!(c.class, CauseClass::OneOff | CauseClass::UnevenWork);
    if !may || c.in_turn || smaller.is_empty() {
        return None;
    }
    let pag = scales.pag();
    let data = &last.view().computation;
    let (busy, asleep) = (
        row(pag, last, &data.busy, c),
        row(pag, last, &data.blocked, c),
    );
    let others = (0..).zip(&busy).filter(|(r, _)| !c.ranks.contains(r));
    let others = stats::median(&others.map(|(_, t)| *t).collect::<Vec<f64>>());
    let late = stats::mean_of(&busy, &c.ranks);
    let longer = late - others;
    if stats::mean_of(&asleep, &c.ranks) > HALF * longer || others <= OTHER_CODE * late {
        return None;
    }
    if !once::in_one_repetition(last, &c.ranks, &c.after, longer) {
        return None;
    }
    let after: FxHashSet<VertexIx> = c
        .after
        .iter()
        .filter_map(|a| last.view().vertex(*a))
        .collect();
    let again = |s: &Scale| loses(pag, s, c, &after, HALF * longer);
    if smaller.iter().any(again) {
        return None;
    }
    let ranks: RankSet = c.ranks.iter().copied().collect();
    Some(format!(
        "At {} ranks, {} took {} longer at {}, nearly all of it in a single repetition. No smaller scale shows it, so it may as well be the machine, and is not called a cause; record this scale again to be sure.",
        last.p,
        words::ranks(&ranks, last.p, 40),
        words::seconds(longer),
        words::location(&pag.place(c.vertex)),
    ))
}
