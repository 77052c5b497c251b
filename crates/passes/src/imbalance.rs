//! Computation that differs between ranks, priced by what the others wait for it.
//!
//! The price is the delay cost of Böhme et al. (2010; FACTS "delay cost") on whole phases: what the slowest rank of each
//! phase would save if the late ranks needed no more than the others at a place. Only what ranks measured is compared:
//! ranks that never ran a copy of a place have no time in it. Causes are taken off one after another, the dearest first,
//! so that two of them do not claim the same second, and one that is not reported takes nothing off: the gains of a
//! phase are together no more than its slowest rank is above the usual one.

use crate::cause::Candidate;
use crate::charge::Charged;
use crate::holder::{Holder, Part, excess};
use crate::inclusive::Inclusive;
use crate::late::Late;
use crate::places::Places;
use crate::scale::Scale;
use crate::stats;
use crate::timing::{self, Timing};
use crate::uneven::{Uneven, in_common, merge, most_first};
use crate::workers;
use headwater_graph::{Pag, TopDown, VertexIx};
use rustc_hash::FxHashSet;

/// Causes looked for in one phase at the most.
const MOST: usize = 12;

/// Share of the smallest gain worth reporting that a phase must lose to be looked at: a place is priced in all phases
/// together, but a tenth of them are not many.
const PHASE: f64 = 0.1;

/// Part of the way from the mean to the slowest rank of a phase beyond which a rank is late in it.
const HALF: f64 = 0.5;

/// Share of ranks that what two phases found at a place must have in common to be one cause.
const SAME_RANKS: f64 = 0.5;

/// What mending changes in a phase.
struct Mended {
    /// The vertices of the place, and what share of their time there the ranks keep.
    vertices: Vec<VertexIx>,
    shares: Vec<f64>,
    /// Seconds of work that ranks take over from others.
    more: Vec<f64>,
}

/// Looks for uneven computation at one scale, beside what causes between threads explain. `least` is the
/// smallest gain worth reporting, seconds.
pub fn find(pag: &Pag, scale: &Scale, charged: &Charged, least: f64) -> Vec<Candidate> {
    let search = Search {
        places: Places::new(pag),
        timing: Timing::new(scale),
        charged: charged.rows(),
        pag,
        scale,
        least,
    };
    let mut all = search.phases(None);
    let worth = |all: &[Uneven]| -> FxHashSet<u32> {
        let dear = all.iter().filter(|u| u.gain >= least);
        dear.map(|u| u.place).collect()
    };
    // What is not reported must not lower what is: it is left out, and the rest is priced without it.
    for _ in 0..MOST {
        if all.iter().all(|u| u.gain >= least) {
            break;
        }
        let kept = worth(&all);
        all = search.phases(Some(&kept));
    }
    let waits = workers::waits(scale);
    let dear = all.into_iter().filter(|u| u.gain >= least);
    dear.map(|u| u.candidate(pag, scale, &waits)).collect()
}

struct Search<'a> {
    pag: &'a Pag,
    scale: &'a Scale,
    places: Places,
    timing: Timing,
    charged: Vec<(u32, &'a [f64])>,
    least: f64,
}

impl Search<'_> {
    /// What all phases have, by place; only at `allowed` places where they are given.
    fn phases(&self, allowed: Option<&FxHashSet<u32>>) -> Vec<Uneven> {
        if allowed.is_some_and(FxHashSet::is_empty) {
            return Vec::new();
        }
        let mut phases: Vec<u32> = self
            .scale
            .phase_busy
            .iter()
            .filter(|(_, busy)| stats::max(busy) - stats::mean(busy) >= PHASE * self.least)
            .map(|(phase, _)| *phase)
            .collect();
        phases.sort_unstable();
        // In one phase it is one cause who is late by how much; in another one other ranks may be late at the place.
        let of_phase = |phase| merge(self.peel(phase, allowed), true, |_, _| true);
        let same_ranks = |a: &Uneven, b: &Uneven| in_common(&a.ranks, &b.ranks) >= SAME_RANKS;
        merge(
            phases.into_iter().flat_map(of_phase).collect(),
            false,
            same_ranks,
        )
    }

    /// The causes of one phase.
    fn peel(&self, phase: u32, allowed: Option<&FxHashSet<u32>>) -> Vec<Uneven> {
        let (pag, scale) = (self.pag, self.scale);
        let data = &scale.view().computation;
        let keys = scale.keys_in(phase);
        let mut busy = Inclusive::new(pag, scale.view(), &data.busy, &keys);
        for (key, row) in &self.charged {
            if let Some(key) = data.keys.get(*key as usize)
                && scale.phases.after(key.after) == phase
            {
                busy.take(pag, key.vertex, row);
            }
        }
        let mut out = Vec::new();
        // Work that ranks take over where it is evened out.
        let mut moved = vec![0.0; scale.p as usize];
        for _ in 0..MOST {
            let Some(own) = busy.row(TopDown::ROOT) else {
                break;
            };
            let totals: Vec<f64> = own
                .iter()
                .zip(&moved)
                .map(|(own, more)| own + more)
                .collect();
            let (slowest, mean) = (stats::max(&totals), stats::mean(&totals));
            if slowest - mean < PHASE * self.least {
                break;
            }
            let from = mean + HALF * (slowest - mean);
            let late: Vec<bool> = totals.iter().map(|t| !stats::is_above(from, *t)).collect();
            let holder = Holder::new(pag, &self.places, &busy, &late);
            let compared = holder.count();
            let judge = |part: &Part| {
                let (found, mended) = self.judge(phase, part, &busy, &totals, &late, compared)?;
                Some((found.gain, (found, mended)))
            };
            let found = holder.find(excess(&totals, &late), self.least, judge);
            let known = |u: &Uneven| allowed.is_none_or(|a| a.contains(&u.place));
            let Some((found, mended)) = found.filter(|(u, _)| known(u)) else {
                break;
            };
            for v in &mended.vertices {
                busy.scale(pag, *v, &mended.shares);
            }
            moved
                .iter_mut()
                .zip(&mended.more)
                .for_each(|(m, more)| *m += more);
            out.push(found);
        }
        out
    }

    /// What late ranks have at a place beyond the others, if it is more than noise and mending it shortens the phase.
    fn judge(
        &self,
        phase: u32,
        part: &Part,
        busy: &Inclusive,
        totals: &[f64],
        first: &[bool],
        compared: usize,
    ) -> Option<(Uneven, Mended)> {
        let (pag, scale) = (self.pag, self.scale);
        let row = busy.sum(&part.vertices);
        let late = Late::new(&row, first)?;
        let data = &scale.view().computation;
        let of_phase = |k: &u32| {
            let key = data.keys.get(*k as usize);
            key.is_some_and(|k| scale.phases.after(k.after) == phase)
        };
        let inside = part
            .vertices
            .iter()
            .flat_map(|v| scale.keys_inside(pag, *v));
        let mut inside: Vec<u32> = inside.filter(of_phase).collect();
        inside.sort_unstable();
        // Differences that might have been found instead: each of so many ranks, or groups of them, at each place.
        let family = late.choices(row.len()) * compared as f64;
        let noise = self.noise(&inside, &row, &late);
        if late.excess <= timing::above_chance(family) * noise {
            return None;
        }
        let (mended, after) = mend(part, &row, totals, &late);
        let gain = stats::max(totals) - stats::max(&after);
        if !stats::is_above(gain, 0.0) {
            return None;
        }
        let usual = usual(totals, &late);
        let cost = (late.high - late.level).min(stats::max(totals) - usual);
        let beyond = |row: &[f64]| excess(row, first).max(0.0);
        let excess = |v: &VertexIx| busy.row(*v).map_or(0.0, beyond);
        let mut vertices: Vec<(VertexIx, f64)> =
            part.vertices.iter().map(|v| (*v, excess(v))).collect();
        vertices.sort_by_key(most_first);
        let found = Uneven {
            place: part.place,
            vertices,
            cost: cost.max(gain),
            gain,
            longer: late.high - late.level,
            error: noise * (gain / late.excess).min(1.0),
            inside,
            shape: late.words(),
            ranks: late.ranks,
        };
        Some((found, mended))
    }

    /// Standard error of what a late rank has beyond the others, seconds: ranks that do equal work scatter, and samples
    /// divide exact times between places.
    fn noise(&self, inside: &[u32], row: &[f64], late: &Late) -> f64 {
        let after = self.scale.afters(inside);
        let alike = late.alike(row);
        let usual = self.timing.noise(&alike, row.len(), &after);
        // A line over the ranks that explains the row well shows little noise. What is far from it may be uneven as well,
        // and with other numbers the same ranks are in no line: they must not be believed less for it.
        let of_line = late
            .scatter
            .map(|scatter| timing::bounded(scatter / late.high));
        let share = of_line.map_or(usual, |line| line.min(usual));
        let others = row.len() - late.ranks.len();
        let timing = share * late.high * (1.0 + 1.0 / others.max(1) as f64).sqrt();
        let sampling = self.scale.sampling_noise(self.pag, inside, &late.ranks)
            / (late.ranks.len() as f64).sqrt();
        timing.hypot(sampling)
    }
}

/// What ranks that are not late need in a whole phase.
fn usual(totals: &[f64], late: &Late) -> f64 {
    if late.evens_out() {
        return stats::mean(totals);
    }
    let mask = late.mask(totals.len());
    let others = totals.iter().zip(mask).filter(|(_, late)| !late);
    stats::median(&others.map(|(total, _)| *total).collect::<Vec<f64>>())
}

/// What a place and the totals of its phase are if late ranks need no more than the others there. Nobody becomes faster
/// than ranks usually are: what a rank is late by beyond that is elsewhere.
fn mend(part: &Part, row: &[f64], totals: &[f64], late: &Late) -> (Mended, Vec<f64>) {
    let usual = usual(totals, late);
    let mut shares = vec![1.0; row.len()];
    let mut after = totals.to_vec();
    let mut taken = 0.0;
    for rank in late.ranks.iter().map(|r| *r as usize) {
        let (Some(own), Some(total)) = (row.get(rank), totals.get(rank)) else {
            continue;
        };
        let beyond = (total - usual).clamp(0.0, (own - late.level).max(0.0));
        if *own > 0.0 {
            shares[rank] = 1.0 - beyond / own;
        }
        after[rank] -= beyond;
        taken += beyond;
    }
    let mut more = vec![0.0; row.len()];
    // What is evened out goes to those that have less than the mean, which have room for all of it.
    let room: Vec<f64> = after.iter().map(|t| (usual - t).max(0.0)).collect();
    let all: f64 = room.iter().sum();
    if late.evens_out() && all > 0.0 {
        for ((more, after), room) in more.iter_mut().zip(&mut after).zip(room) {
            *more = room / all * taken;
            *after += *more;
        }
    }
    let vertices = part.vertices.clone();
    (
        Mended {
            vertices,
            shares,
            more,
        },
        after,
    )
}
