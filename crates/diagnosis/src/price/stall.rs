//! Sets aside what may be a stall of the machine: a single long repetition of some ranks, at the largest scale only.
//!
//! The machine may take a core away for a while in a way that no counter shows, and the time looks like work of that
//! rank. This happens anywhere, and hardly twice at one place. A program in which some ranks take longer in one
//! repetition, for example in its set-up, mostly does so at every scale. So a cause that no smaller scale shows is set
//! aside, unless the ranks do there what others do not, or sleep, which a stall of the machine does not cause.

use crate::find::candidate::Candidate;
use crate::find::class;
use crate::measure::late::{mask_of, pick};
use crate::measure::once;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx};
use headwater_model::rank::RankSet;
use headwater_model::run::CtxId;
use headwater_model::words;
use rustc_hash::FxHashSet;

/// A smaller scale shows the same cause if a rank loses this part of the loss there; and the ranks sleep if this part
/// of the loss is sleep.
const HALF: f64 = 0.5;

/// If the others spend less than this part of the late ranks' time, they do not do the same.
const OTHER_CODE: f64 = 0.1;

/// Whether at a scale, too, some rank loses `seconds` more than the usual one: in its longest repetition after the same
/// calls, or at the place in total.
fn loses(
    pag: &Pag,
    scale: &Scale,
    c: &Candidate,
    after: &FxHashSet<VertexIx>,
    seconds: f64,
) -> bool {
    let calls = (0..scale.run().contexts.len() as u32).map(CtxId);
    let here = |ctx: &CtxId| {
        scale
            .view()
            .vertex(*ctx)
            .is_some_and(|v| after.contains(&v))
    };
    let calls: Vec<CtxId> = calls.filter(here).collect();
    let busy = c.row(pag, scale, &scale.view().computation.busy);
    let beyond = stats::max(&busy) - stats::lower_median(&busy);
    once::longest_beyond(scale, &calls).max(beyond) >= seconds
}

/// Why a cause is set aside, as a sentence; `None` if it is not, or if there is no smaller scale.
pub fn chance(scales: &Scales, c: &Candidate) -> Option<String> {
    let (last, smaller) = scales.all.split_last()?;
    let may = class::of(c.class).may_be_stall;
    // What most recordings of a scale show is no stall of one of them.
    let is_pooled = last.run().header.recordings > 2;
    if !may || c.in_turn || smaller.is_empty() || is_pooled {
        return None;
    }
    let pag = scales.pag();
    let data = &last.view().computation;
    let (busy, asleep) = (
        c.row(pag, last, &data.busy),
        c.row(pag, last, &data.blocked),
    );
    let is_late = mask_of(&c.ranks, busy.len());
    let of_others = |row: &[f64]| stats::median(&pick(row, &is_late, false));
    let (late, others) = (stats::mean_of(&busy, &c.ranks), of_others(&busy));
    let longer = late - others;
    let slept = stats::mean_of(&asleep, &c.ranks) - of_others(&asleep);
    if slept > HALF * longer || others <= OTHER_CODE * late {
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
        "At {} ranks, {} took {} longer at {}, most of it in a single repetition. No smaller scale shows it. The machine may have caused it, so it is not reported as a cause; record this scale again to check.",
        last.p,
        words::ranks(&ranks, last.p, 40),
        words::seconds(longer),
        words::location(&pag.place(c.vertex)),
    ))
}
