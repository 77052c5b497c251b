//! Finds sleep that all ranks have: waits for files and devices, and pauses, which do not become shorter with more
//! ranks.
//!
//! Sleep that differs between ranks is found with uneven work ([`crate::find::imbalance`]). Here the median rank counts
//! (of two, the one that sleeps less): how much longer it sleeps at the largest scale than expected from the smallest
//! scale. This is not non-shrinking work ([`crate::find::work`]), because the remedy is another one.

use crate::find::candidate::{Candidate, Price, is_certain};
use crate::find::finder::{Does, Finder};
use crate::measure::holder::{Doubt, Holder, Part};
use crate::measure::inclusive::Inclusive;
use crate::measure::once::longer_once;
use crate::measure::places::Places;
use crate::measure::scale::Scale;
use crate::measure::scaling::ideal;
use crate::measure::useful;
use headwater_dataflow::numbers::stats::{self, scatter};
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{CauseClass, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::run::CtxId;
use headwater_model::words::seconds as time;
use rustc_hash::FxHashSet;

/// At most this many causes are looked for.
const MOST: usize = 4;

/// If this part of the sleep fits in one repetition, it is not a cause.
const ONCE: f64 = 0.6;

/// Standard error of the ideal sleep, as a part of it: devices are not always equally fast.
const DEVICES: f64 = 0.1;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "common-sleep",
    about: "Sleep that all ranks have outside of regions of threads, as where each waits for a file: what is beyond the ideal of the smallest scale.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Finds(|l| find(l.pag, l.scales.compared(), l.scales.scaling, l.least)),
};

/// Looks for sleep of all ranks. `scales` ascend; a single scale is compared with no sleep at all. `least` is the
/// smallest cost worth reporting, seconds. If ranks have threads that call no MPI, the rank may sleep while these work. Only
/// with OpenMP it is known when they do: sleep counts that is in no region. With other threads nothing is reported.
fn find(pag: &Pag, scales: &[Scale], scaling: Scaling, least: f64) -> Vec<Candidate> {
    let (Some(first), Some(last)) = (scales.first(), scales.last()) else {
        return Vec::new();
    };
    if ![first, last].iter().all(|s| work_in_regions(pag, s)) {
        return Vec::new();
    }
    let places = Places::new(pag);
    // Scales are compared in the same places.
    let works = scales.iter().any(|s| workers(s).next().is_some());
    let column = |s: &Scale| {
        let blocked = &s.view().computation.blocked;
        let keys = if works { alone(pag, s) } else { s.keys() };
        Inclusive::new(pag, s.view(), blocked, &keys)
    };
    let (mut before, mut now) = (column(first), column(last));
    let all = vec![true; last.p as usize];
    let single = scales.len() == 1;
    let mut out: Vec<Candidate> = Vec::new();
    for _ in 0..MOST {
        let Some(row) = now.row(TopDown::ROOT) else {
            break;
        };
        let whole = stats::mean(row);
        let judge = |part: &Part, _: Doubt| {
            let found = judge(pag, last, &now, part, |vertices| {
                let row = before.sum(vertices);
                let base = if single {
                    0.0
                } else {
                    stats::lower_median(&row)
                };
                (
                    ideal(scaling, base, first.size, last.size),
                    stats::max(&row),
                )
            })?;
            let certain = found.gain >= least && is_certain(found.gain, found.error);
            certain.then_some((found.gain, found))
        };
        let found = Holder::new(pag, &places, &now, &all).find(
            whole,
            least,
            Doubt::IfAtAll,
            |_| 0.0,
            judge,
        );
        let Some(mut found) = found else {
            break;
        };
        let at = |s: &Scale, column: &Inclusive| {
            let row = column.sum(&found.vertices().collect::<Vec<_>>());
            format!("{} on {}", time(stats::lower_median(&row)), s.figure())
        };
        let mut figures = vec![at(last, &now)];
        if !single {
            figures.insert(0, at(first, &before));
        }
        let text = format!(
            "{} sleeps here: {} {}",
            last.subject().usual(),
            figures.join(", "),
            last.unit()
        );
        found.evidence.push(text);
        for v in found.vertices() {
            now.scale(pag, v, &vec![0.0; last.p as usize]);
            before.scale(pag, v, &vec![0.0; first.p as usize]);
        }
        out.push(found);
    }
    out
}

/// Keys of the ranks' computation in which they sleep for no thread of theirs: functions of libraries that they call outside
/// of all regions, if these are not known to wait for threads. Sleep that no sample saw is at no such place.
fn alone(pag: &Pag, scale: &Scale) -> Vec<u32> {
    let is_call = |v: VertexIx| pag.top.get(v).kind == VertexKind::ExternalCall;
    let outside = |v: VertexIx| {
        pag.top.ancestors(v).any(is_call) && scale.teams_around(pag, v).next().is_none()
    };
    let data = &scale.view().computation;
    let outside = data.keys_where(|k| outside(k.vertex));
    useful::without(scale, &outside, &useful::waits(scale))
}

/// Whether all threads that work for ranks do so in regions of an OpenMP runtime.
fn work_in_regions(pag: &Pag, scale: &Scale) -> bool {
    let of_regions = scale.teams.iter().filter(|t| pag.begins_region(t.team));
    let of_regions: FxHashSet<(u32, u16)> = of_regions.map(|t| (t.rank, t.thread)).collect();
    workers(scale).all(|thread| of_regions.contains(&thread))
}

/// Threads that work for ranks, with their ranks.
fn workers(scale: &Scale) -> impl Iterator<Item = (u32, u16)> {
    let threads = &scale.view().threads;
    let all = threads.times.iter().map(|t| (t.rank, t.thread));
    all.filter(|(rank, thread)| !threads.calls_mpi(*rank, *thread))
}

/// Seconds by which the longest repetition after one of these calls is longer than the others, for the usual rank. It
/// may have slept so long at once, for example when it read a file for the first time. Such sleep does not repeat.
fn fits_in_one(scale: &Scale, after: &[CtxId]) -> f64 {
    let after: FxHashSet<CtxId> = after.iter().copied().collect();
    let mut longest = vec![0.0f64; scale.p as usize];
    for s in scale
        .run()
        .segments
        .iter()
        .filter(|s| after.contains(&s.from))
    {
        let once = longer_once(s).min(s.blocked_ns) as f64 * 1e-9;
        if let Some(slot) = longest.get_mut(s.rank as usize) {
            *slot = slot.max(once);
        }
    }
    stats::lower_median(&longest)
}

/// The sleep at a place as a cause, if the usual rank sleeps longer there than it should. For some vertices, `before`
/// returns how long it should sleep, and the longest sleep at the smallest scale, seconds.
fn judge(
    pag: &Pag,
    last: &Scale,
    now: &Inclusive,
    part: &Part,
    before: impl Fn(&[u32]) -> (f64, f64),
) -> Option<Candidate> {
    let row = now.sum(&part.vertices);
    let usual = stats::lower_median(&row);
    let (should, longest) = before(&part.vertices);
    let lost = usual - should;
    if !stats::is_above(lost, 0.0) {
        return None;
    }
    let own = scatter(&row) / f64::from(last.p.max(1)).sqrt();
    let after = last.afters(&last.keys_inside_all(pag, &part.vertices));
    let ranks: Vec<u32> = (0..last.p).collect();
    // Without MPI the whole run is one repetition.
    if !last.run().is_without_mpi() && fits_in_one(last, &after) >= ONCE * lost {
        return None;
    }
    let heaviest = part.vertices.iter().copied().reduce(|a, b| {
        let seconds = |v| stats::ticks(now.row(v).map_or(0.0, stats::mean));
        if seconds(b) > seconds(a) { b } else { a }
    })?;
    Some(Candidate {
        class: CauseClass::SystemCallOrIo,
        vertex: heaviest,
        twins: part
            .vertices
            .iter()
            .copied()
            .filter(|v| *v != heaviest)
            .collect(),
        ranks,
        cost: lost,
        gain: lost,
        error: own.hypot(DEVICES * should.max(0.1 * longest)),
        after,
        evidence: Vec::new(),
        in_turn: false,
        price: Price::default(),
        team: None,
    })
}
