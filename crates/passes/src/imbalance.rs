//! Computation that differs between ranks, priced by what the others wait for it.
//!
//! The price is the delay cost of Böhme et al. (2010; FACTS "delay cost") on whole phases: the late
//! ranks' time beyond the others', as far as it prolongs the phase. Causes are taken off one after
//! another, the dearest first, so that two of them do not claim the same second.

use crate::cause::Candidate;
use crate::charge::Charged;
use crate::counted;
use crate::inclusive::Inclusive;
use crate::placement;
use crate::scale::Scale;
use crate::sleeping;
use crate::stats::{self, TwoGroups, stands_out, two_groups};
use crate::workers;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::CtxId;
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};

/// Causes looked for in one phase at the most.
const MOST: usize = 6;

/// A pause counts as happening once if a single repetition holds this share of the excess.
const ONCE: f64 = 0.6;

/// Looks for uneven computation at one scale, beside what causes between threads explain. `least` is the
/// smallest cost worth telling, seconds.
pub fn find(
    pag: &Pag,
    scale: &Scale,
    charged: &Charged,
    threshold: f64,
    least: f64,
) -> Vec<Candidate> {
    let waits = workers::waits(scale);
    let mut out = Vec::new();
    let mut phases: Vec<(u32, f64)> = scale
        .phase_busy
        .iter()
        .map(|(phase, busy)| (*phase, stats::max(busy) - stats::mean(busy)))
        .filter(|(_, loss)| *loss >= 0.5 * least)
        .collect();
    phases.sort_by_key(|p| p.0);
    let charged = charged.rows();
    for (phase, _) in phases {
        peel(
            pag, scale, &charged, &waits, phase, threshold, least, &mut out,
        );
    }
    merge(pag, out)
}

#[allow(clippy::too_many_arguments, reason = "one call")]
fn peel(
    pag: &Pag,
    scale: &Scale,
    charged: &[(u32, &[f64])],
    waits: &FxHashSet<VertexIx>,
    phase: u32,
    threshold: f64,
    least: f64,
    out: &mut Vec<Candidate>,
) {
    let data = &scale.view().computation;
    let keys = scale.keys_in(phase);
    let mut busy = Inclusive::new(pag, scale.view(), &data.busy, &keys);
    for (key, row) in charged {
        if let Some(key) = data.keys.get(*key as usize)
            && scale.phases.after(key.after) == phase
        {
            busy.take(pag, key.vertex, row);
        }
    }
    for _ in 0..MOST {
        let Some(totals) = busy.row(TopDown::ROOT).map(<[f64]>::to_vec) else {
            return;
        };
        let (slowest, mean) = (stats::max(&totals), stats::mean(&totals));
        if slowest - mean < 0.5 * least {
            return;
        }
        let late: Vec<usize> = (0..totals.len())
            .filter(|&r| totals[r] >= mean + 0.5 * (slowest - mean))
            .collect();
        let excess = |row: &[f64]| {
            late.iter().map(|&r| row[r]).sum::<f64>() / late.len() as f64 - stats::mean(row)
        };
        let mut vertex = busy.descend(pag, TopDown::ROOT, excess);
        // Time between calls is measured, only its place is sampled: where a place has too few samples
        // to stand out, what is around it still may.
        let (same, row, groups, inside) = loop {
            if vertex == TopDown::ROOT {
                return;
            }
            let same = busy.same_place(pag, vertex, excess);
            let row = busy.sum(&same);
            let Some(groups) = two_groups(&row) else {
                return;
            };
            let inside = data.keys_where(|k| {
                scale.phases.after(k.after) == phase
                    && same.iter().any(|v| pag.top.contains(*v, k.vertex))
            });
            // Noise is that of the measured times, whatever has been taken off them since.
            let noise = scale.sampling_noise(pag, &inside, &groups.upper);
            if stands_out(&groups, threshold, noise) {
                break (same, row, groups, inside);
            }
            vertex = busy.around(pag, vertex);
        };
        let level = level_of_others(&row, &groups);
        // Mended, a rank is no faster than the others: what is beyond that is not this vertex's.
        let usual = level_of_others(&totals, &groups);
        let mend = |r: usize| (row[r] - (totals[r] - usual).max(0.0)).max(level);
        let is_late = |r: usize| groups.upper.contains(&(r as u32));
        // Evened out, what most ranks are spared is done by the few that have less.
        let even = |r: usize| {
            if is_most(&groups, &row) {
                level
            } else {
                row[r]
            }
        };
        let mended: Vec<f64> = (0..row.len())
            .map(|r| if is_late(r) { mend(r) } else { even(r) })
            .collect();
        let slowest_after = (0..row.len())
            .map(|r| totals[r] - row[r] + mended[r])
            .fold(0.0, f64::max);
        let gain = (slowest - slowest_after).max(0.0);
        let ways = same.len() as f64;
        for v in &same {
            let part = |r: usize, own: f64| {
                let share = if row[r] > 0.0 {
                    own / row[r]
                } else {
                    1.0 / ways
                };
                mended[r] * share
            };
            let own = busy.row(*v).unwrap_or(&[]).iter().enumerate();
            let own: Vec<f64> = own.map(|(r, own)| part(r, *own)).collect();
            busy.replace(pag, *v, &own);
        }
        let cost = (groups.high - level).min(slowest - mean).max(gain);
        if gain < least {
            continue;
        }
        let after = scale.afters(&inside);
        // A rank that sleeps until its threads have done waits for no file or device.
        let sleeps = |k: &u32| {
            let key = data.keys.get(*k as usize);
            key.is_some_and(|k| !waits.contains(&k.vertex))
        };
        let sleeping: Vec<u32> = inside.iter().copied().filter(sleeps).collect();
        let blocked = sum_rows(&data.blocked, &sleeping, scale.p);
        let asleep = stats::mean_of(&blocked, &groups.upper);
        let mut evidence = vec![format!(
            "{} here, the others {}",
            words::takers(groups.upper.len(), scale.p, groups.high),
            words::seconds(groups.low)
        )];
        let excess = groups.high - level;
        let once = happened_once(scale, &groups.upper, &after, excess);
        let mut class = sleeping::class(asleep, excess, once);
        let longer = groups.high / level.max(1e-12);
        if class == CauseClass::UnevenWork {
            let told = counted::compare(scale, &inside, &groups.upper, longer);
            let faults = counted::faults(scale, &after, &groups.upper);
            // Instructions are the better witness.
            let slower = told.as_ref().map_or(faults.is_some(), |(more, _)| !more);
            if slower {
                class = CauseClass::SlowerWork;
            }
            if told.is_none() && !slower {
                evidence.extend(placement::shared_by(scale.run(), &groups.upper));
            }
            evidence.extend(told.into_iter().flat_map(|t| t.1));
            evidence.extend(faults.filter(|_| slower));
        }
        out.push(Candidate {
            in_turn: false,
            error: 0.0,
            team: None,
            twins: same.into_iter().skip(1).collect(),
            class,
            vertex,
            ranks: groups.upper,
            cost,
            gain,
            after,
            evidence,
        });
    }
}

/// Whether the upper group is most of the ranks.
fn is_most(groups: &TwoGroups, row: &[f64]) -> bool {
    2 * groups.upper.len() > row.len()
}

/// What the ranks of the upper group should take: the median of the others, so that one odd rank does
/// not decide. If the upper group is most ranks, it is rather a few that have less: what most do cannot
/// be taken from them, only evened out, so then it is the mean.
fn level_of_others(row: &[f64], groups: &TwoGroups) -> f64 {
    if is_most(groups, row) {
        return stats::mean(row);
    }
    let others: Vec<f64> = (0..row.len())
        .filter(|r| !groups.upper.contains(&(*r as u32)))
        .map(|r| row[r])
        .collect();
    stats::median(&others)
}

/// Whether most of the excess of the late ranks is one single repetition of something that repeats.
/// Segments that leave the same call are repetitions of one, wherever they lead: what is done only
/// once often has a way of its own.
fn happened_once(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    // Repetitions, time of all of them and of the longest, by call that was left and rank.
    let mut totals: FxHashMap<CtxId, Vec<(u64, u64, u64)>> = FxHashMap::default();
    for from in after {
        totals.insert(*from, vec![(0, 0, 0); scale.p as usize]);
    }
    for s in &scale.run().segments {
        let row = totals.get_mut(&s.from);
        if let Some(sum) = row.and_then(|row| row.get_mut(s.rank as usize)) {
            sum.0 += s.count;
            sum.1 += s.busy_ns();
            sum.2 = sum.2.max(s.max_busy_ns);
        }
    }
    let mut worst = vec![0.0f64; ranks.len()];
    for row in totals.values() {
        let others = (0..).zip(row).filter(|(r, _)| !ranks.contains(r));
        let others: Vec<f64> = others.map(|(_, sum)| sum.1 as f64).collect();
        let others = stats::median(&others);
        for (worst, rank) in worst.iter_mut().zip(ranks) {
            let Some(&(count, busy, longest)) = row.get(*rank as usize).filter(|s| s.0 >= 5) else {
                continue;
            };
            let usual = busy.saturating_sub(longest) as f64 / (count - 1) as f64;
            let once = (longest as f64 - usual) * 1e-9;
            // A rank that is late without its longest repetition too is so every time.
            if once >= ONCE * (busy as f64 - others) * 1e-9 {
                *worst = worst.max(once);
            }
        }
    }
    stats::mean(&worst) >= ONCE * excess
}

/// One entry for a place that several phases or rounds found: costs add up, the ranks of the dearer
/// one stand. Copies that the compiler made of one source loop are one place.
fn merge(pag: &Pag, mut found: Vec<Candidate>) -> Vec<Candidate> {
    found.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.vertex.cmp(&b.vertex)));
    let place = |v: VertexIx| {
        let p = pag.place(v);
        (p.file.is_some() && p.first_line > 0).then_some((p.file, p.first_line, p.last_line))
    };
    let mut out: Vec<Candidate> = Vec::new();
    for mut next in found {
        let same = |kept: &&mut Candidate| {
            kept.class == next.class
                && (kept.vertex == next.vertex
                    || place(kept.vertex).is_some() && place(kept.vertex) == place(next.vertex))
        };
        match out.iter_mut().find(same) {
            Some(kept) => {
                kept.cost += next.cost;
                kept.gain += next.gain;
                kept.after.append(&mut next.after);
                for v in std::iter::once(next.vertex).chain(next.twins) {
                    if v != kept.vertex && !kept.twins.contains(&v) {
                        kept.twins.push(v);
                    }
                }
            }
            None => out.push(next),
        }
    }
    out
}
