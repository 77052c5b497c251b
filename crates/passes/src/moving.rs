//! Uneven work that moves: in each iteration other ranks are late, so that all have the same in the end.
//!
//! Totals of a phase cannot show it: over the run they are even. Each iteration in the windows can:
//! the slowest rank of each, added up, is the time that the phase needs with a core for each rank
//! (delay cost of Böhme et al. 2010 by iteration). Scatter between iterations makes some rank the
//! slowest too; here ranks must stand out in most iterations, as they must in totals.

use crate::cause::Candidate;
use crate::inclusive::Inclusive;
use crate::phases::Phases;
use crate::replay::{Epoch, Replay};
use crate::scale::Scale;
use crate::stats::{self, stands_out, two_groups};
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use headwater_model::run::Run;
use headwater_model::words::{location, seconds as time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Iterations that must have been seen: fewer say nothing of how the lateness moves.
const LEAST_SEEN: usize = 4;

/// Share of the time in iterations where ranks must stand out.
const MOST: f64 = 0.5;

/// Share of a phase that it must cost at the least: below, it is hard to tell from scatter.
const LEAST_SHARE: f64 = 0.1;

/// ScalAna's `AbnormThd`, fixed: what a run takes does not depend on what the user wants to be told.
const STANDS_OUT: f64 = 1.3;

/// Seconds by which late ranks must at least be late: computation below 0.1 ms is recorded as wall time,
/// so that an interruption of that length is in it.
const RESOLUTION: f64 = 1e-4;

/// Share of the time of late ranks beyond the others that a place must have to be theirs; the rest is
/// what sampling and the choice of iterations leave open.
const HOLDS: f64 = 0.8;

/// Moving unevenness of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// The phase.
    pub phase: u32,
    /// Seconds of the whole run that the ranks wait for it, beyond what their totals explain.
    pub seconds: f64,
    /// Seconds of the mean rank in what only late ranks have.
    pub excess: f64,
    /// Seconds of a late rank beyond the others in one iteration, mean.
    pub beyond: f64,
    /// Ranks that were late at some time.
    pub ranks: Vec<u32>,
    /// Iterations seen, and those of them in which ranks stood out.
    pub seen: (usize, usize),
}

/// Computation of each rank in one epoch, by phase.
fn by_phase(replay: &Replay, epoch: &Epoch, phases: &Phases, p: usize) -> BTreeMap<u32, Vec<f64>> {
    let mut out: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let window = replay.windows.get(epoch.window);
    for (rank, &(begin, end)) in epoch.calls.iter().enumerate() {
        let calls = window.and_then(|w| w.get(rank));
        let calls = calls.and_then(|c| c.get(begin as usize..end as usize));
        for call in calls.unwrap_or(&[]) {
            let row = out.entry(phases.after(call.after));
            let row = row.or_insert_with(|| vec![0.0; p]);
            if let Some(slot) = row.get_mut(rank) {
                *slot += call.busy;
            }
        }
    }
    out
}

/// Looks for phases whose unevenness moves; `busy` are the totals of each phase over ranks.
pub fn of_run(
    run: &Run,
    replay: &Replay,
    phases: &Phases,
    busy: &FxHashMap<u32, Vec<f64>>,
) -> Vec<Moving> {
    let ranks = run.header.ranks;
    let mut pieces: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for epoch in replay.epochs.iter().filter(|e| e.whole && e.closed) {
        for (phase, row) in by_phase(replay, epoch, phases, ranks as usize) {
            pieces.entry(phase).or_default().push(row);
        }
    }
    let one = |(phase, rows): (u32, Vec<Vec<f64>>)| {
        let mut found = moving(phase, &rows, busy.get(&phase)?)?;
        add_once_late(run, phases, &mut found);
        Some(found)
    };
    pieces.into_iter().filter_map(one).collect()
}

/// Windows show some iterations only; the longest time between two calls was kept of all of them.
fn add_once_late(run: &Run, phases: &Phases, found: &mut Moving) {
    for s in run.segments.iter().filter(|s| s.count > 1) {
        let usual = s.busy_ns().saturating_sub(s.max_busy_ns) / (s.count - 1);
        let beyond = s.max_busy_ns.saturating_sub(usual) as f64 * 1e-9;
        let here = s.rank < run.header.ranks && phases.after(s.from) == found.phase;
        if here && beyond >= 0.5 * found.beyond {
            found.ranks.push(s.rank);
        }
    }
    found.ranks.sort_unstable();
    found.ranks.dedup();
}

fn moving(phase: u32, rows: &[Vec<f64>], totals: &[f64]) -> Option<Moving> {
    if rows.len() < LEAST_SEEN {
        return None;
    }
    let mut sums = vec![0.0; totals.len()];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
    }
    let usual: Vec<f64> = sums.iter().map(|sum| sum / rows.len() as f64).collect();
    let level = stats::mean(&usual);
    // Who is late as always is not late by turns.
    let beside_usual = |row: &[f64]| -> Vec<f64> {
        let each = row.iter().zip(&usual);
        each.map(|(r, usual)| (r - usual + level).max(0.0))
            .collect()
    };
    let (mut slowest, mut mean, mut uneven, mut excess) = (0.0, 0.0, 0.0, 0.0);
    let (mut ranks, mut times, mut beyond) = (Vec::new(), 0u32, 0.0);
    for row in rows {
        slowest += stats::max(row);
        mean += stats::mean(row);
        let late = two_groups(&beside_usual(row))
            .filter(|g| stands_out(g, STANDS_OUT, 0.0) && g.high - g.low > RESOLUTION);
        // Most ranks late are a few that have less, and nobody waits for those.
        if let Some(late) = late.filter(|g| 2 * g.upper.len() <= row.len()) {
            let share = late.upper.len() as f64 / row.len() as f64;
            uneven += stats::max(row);
            beyond += late.high - late.low;
            excess += (late.high - late.low) * share;
            ranks.extend(&late.upper);
            times += 1;
        }
    }
    if mean <= 0.0 || uneven < MOST * slowest {
        return None;
    }
    // What the totals of these very iterations show is not moving: a few of them are not the whole run.
    let per_mean = stats::mean(totals) / mean;
    let seconds = (slowest - stats::max(&sums)) * per_mean;
    if seconds < LEAST_SHARE * stats::max(totals) {
        return None;
    }
    Some(Moving {
        phase,
        seconds,
        excess: excess * per_mean,
        beyond: beyond / f64::from(times),
        ranks,
        seen: (rows.len(), times as usize),
    })
}

/// The moving unevenness of one scale as causes; `least` is the smallest cost worth telling, seconds.
pub fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    let told = |m: &Moving| {
        let keys = scale.keys_in(m.phase);
        let busy = Inclusive::new(pag, scale.view(), &scale.view().computation.busy, &keys);
        let (vertex, open) = place(pag, &busy, m.excess)?;
        let inside = scale.view().computation.keys_where(|k| {
            scale.phases.after(k.after) == m.phase && pag.top.contains(vertex, k.vertex)
        });
        let (seen, late) = m.seen;
        let mut evidence = vec![
            format!(
                "in {late} of {seen} iterations kept whole some ranks take much longer than the others, but not the same ones each time"
            ),
            format!(
                "over the run the slowest rank of each iteration takes {} more than the slowest of the whole",
                time(m.seconds)
            ),
        ];
        if !open.is_empty() {
            let names: Vec<String> = open.iter().map(|v| location(&pag.place(*v))).collect();
            evidence.push(format!(
                "each of these in it takes long enough to be it: {}",
                names.join(", ")
            ));
        }
        Some(Candidate {
            class: CauseClass::UnevenWork,
            vertex,
            ranks: m.ranks.clone(),
            cost: m.seconds,
            gain: m.seconds,
            after: scale.afters(&inside),
            evidence,
            in_turn: true,
            error: 0.0,
            team: None,
            twins: Vec::new(),
        })
    };
    let worth = |m: &&Moving| m.seconds >= least;
    scale.moving.iter().filter(worth).filter_map(told).collect()
}

/// The innermost place that alone takes long enough to hold `excess` seconds per rank, and those in it
/// between which that cannot decide.
fn place(pag: &Pag, busy: &Inclusive, excess: f64) -> Option<(VertexIx, Vec<VertexIx>)> {
    let mut here = TopDown::ROOT;
    loop {
        let holds = |v: &VertexIx| {
            let row = busy
                .row(*v)
                .filter(|_| pag.top.get(*v).kind != VertexKind::Comp);
            row.is_some_and(|row| stats::mean(row) >= HOLDS * excess)
        };
        let open: Vec<VertexIx> = pag.children[here as usize]
            .iter()
            .copied()
            .filter(holds)
            .collect();
        match open[..] {
            [only] => here = only,
            _ if here == TopDown::ROOT => return None,
            _ => {
                let named = |v: &VertexIx| pag.top.get(*v).kind != VertexKind::Branch;
                return Some((pag.top.ancestors(here).find(named)?, open));
            }
        }
    }
}
