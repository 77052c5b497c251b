//! Finds computation that differs between ranks, priced by how long the other ranks wait for it.
//!
//! The price is the delay cost of Böhme et al. (2010; FACTS "delay cost") on whole phases: what the slowest rank of
//! each phase would save if the late ranks needed no more than the others at a place. Only what ranks measured is
//! compared: ranks that never ran a copy of a place have no time in it. Causes are taken off one after another, the one
//! with the largest gain first, so that two of them do not claim the same second. A cause that is not reported takes
//! nothing off. The gains of a phase are together at most the distance of its slowest rank from the usual one.

use crate::find::candidate::Candidate;
use crate::find::finder::{Does, Finder};
use crate::find::mended::{Left, Mended, mend, usual};
use crate::find::proposal::Charged;
use crate::find::uneven::{Of, SAME_RANKS, Uneven, in_common, join, merge, most_first};
use crate::measure::chance::{Noise, Smaller};
use crate::measure::holder::{BLURRED, Doubt, Holder, Part, WHOLE, excess};
use crate::measure::inclusive::Inclusive;
use crate::measure::late::{Late, Shape, ranks_of, slowest};
use crate::measure::places::Places;
use crate::measure::scale::Scale;
use crate::measure::timing;
use crate::measure::useful;
use headwater_dataflow::numbers::stats::{self, CONFIDENCE};
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use rustc_hash::FxHashSet;

/// At most this many causes are looked for in one phase.
const MOST: usize = 12;

/// A phase is examined if it loses at least this share of the smallest gain worth reporting. A place is priced in all
/// phases together, but phases below a tenth add little.
const PHASE: f64 = 0.1;

/// The range of an excess reaches down by at most this part of it: that there is an excess was tested, and few samples
/// only leave its size open.
const TESTED: f64 = 0.9;

/// Standard error of the time of a place that samples missed, as a part of that time.
const MISSED: f64 = 0.25;

/// What late ranks do beyond the others is compared with what one rank alone does if it is at least this part of all work
/// at the place.
const LARGE: f64 = 0.25;

/// Work that all ranks together do beyond one rank alone is ignored up to this part of what late ranks do beyond the
/// others.
const SAME: f64 = 1.0 / 3.0;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "uneven-work",
    about: "Places in which some ranks compute longer than others, by what these wait for it.",
    needs_alike: true,
    needs_charged: true,
    does: Does::Finds(|l| find(l.pag, l.scales.compared(), l.charged, l.least)),
};

/// Looks for uneven computation at the largest of `scales`, which ascend, apart from what causes between threads
/// explain. `least` is the smallest gain worth reporting, seconds.
fn find(pag: &Pag, scales: &[Scale], charged: &Charged, least: f64) -> Vec<Candidate> {
    let Some(scale) = scales.last() else {
        return Vec::new();
    };
    let search = Search {
        places: Places::new(pag),
        noise: Noise::new(pag, scale),
        smaller: Smaller::new(pag, scales),
        charged: charged.rows(),
        waits: useful::waits(scale),
        alone: scales.first().filter(|s| s.p == 1),
        pag,
        scale,
        least,
    };
    let mut all = search.phases(None);
    let worth = |all: &[Uneven]| -> Allowed {
        let dear = all.iter().filter(|u| u.gain >= least);
        dear.map(|u| (u.of, u.place)).collect()
    };
    // Causes that are not reported must not reduce those that are: they are left out, and the rest is priced without
    // them.
    for _ in 0..MOST {
        if all.iter().all(|u| u.gain >= least) {
            break;
        }
        let kept = worth(&all);
        all = search.phases(Some(&kept));
    }
    let dear = all.into_iter().filter(|u| u.gain >= least);
    let dear = join(pag, dear.collect()).into_iter();
    dear.map(|u| u.candidate(pag, scale, &search.waits))
        .collect()
}

/// What is looked for, and at which places.
type Allowed = FxHashSet<(Of, u32)>;

struct Search<'a> {
    pag: &'a Pag,
    scale: &'a Scale,
    places: Places,
    noise: Noise<'a>,
    smaller: Smaller<'a>,
    charged: Vec<(u32, &'a [f64])>,
    /// Places where ranks sleep until their threads have finished.
    waits: FxHashSet<VertexIx>,
    /// The smallest scale, if it is one rank alone.
    alone: Option<&'a Scale>,
    least: f64,
}

impl Search<'_> {
    /// The uneven work of all phases, by place; only at `allowed` places where they are given.
    fn phases(&self, allowed: Option<&Allowed>) -> Vec<Uneven> {
        if allowed.is_some_and(Allowed::is_empty) {
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
        // In one phase, all late ranks at a place are one cause, whatever they are late by; in another phase, other
        // ranks may be late at the place.
        let of_phase = |phase| merge(self.peel(phase, allowed), true, |_, _| true);
        let same_ranks = |a: &Uneven, b: &Uneven| in_common(&a.ranks, &b.ranks) >= SAME_RANKS;
        merge(
            phases.into_iter().flat_map(of_phase).collect(),
            false,
            same_ranks,
        )
    }

    /// The causes of one phase. Sleep comes first: it is known better than work, because no core and no memory that
    /// ranks share makes it longer, so less of it is noise.
    fn peel(&self, phase: u32, allowed: Option<&Allowed>) -> Vec<Uneven> {
        let mut left = self.left(phase);
        let mut out = Vec::new();
        for of in [Of::Sleep, Of::All] {
            for _ in 0..MOST {
                let Some((found, mended)) = self.next(phase, of, &left, allowed) else {
                    break;
                };
                left.take(self.pag, of, &mended);
                out.push(found);
            }
        }
        out
    }

    /// The time of one phase, without what causes between threads explain.
    fn left(&self, phase: u32) -> Left {
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
        let sleeping = useful::without(scale, &keys, &self.waits);
        Left {
            busy,
            asleep: Inclusive::new(pag, scale.view(), &data.blocked, &sleeping),
            moved: vec![0.0; scale.p as usize],
            taken: Vec::new(),
        }
    }

    /// The cause with the largest gain in what is left of a phase.
    fn next(
        &self,
        phase: u32,
        of: Of,
        left: &Left,
        allowed: Option<&Allowed>,
    ) -> Option<(Uneven, Mended)> {
        let totals = left.totals()?;
        if stats::max(&totals) - stats::mean(&totals) < PHASE * self.least {
            return None;
        }
        let column = left.column(of);
        let own = match of {
            Of::Sleep => column.row(TopDown::ROOT)?,
            Of::All => &totals,
        };
        if stats::max(own) - stats::mean(own) < PHASE * self.least {
            return None;
        }
        let late = slowest(own);
        let holder = Holder::new(self.pag, &self.places, column, &late);
        let here = Here {
            phase,
            of,
            column,
            totals: &totals,
            first: &late,
            taken: &left.taken,
            compared: holder.count(),
        };
        // The whole phase shows best whether there is any uneven work: its time does not depend on samples.
        let all = excess(own, &late);
        let whole = self.lateness(&here, &holder.whole(all), None);
        let doubt = match whole {
            Some(_) => Doubt::Where,
            None => Doubt::IfAtAll,
        };
        let blur = |part: &Part| match of {
            Of::All => self
                .noise
                .of_mean(&self.inside(&here, part), &ranks_of(&late)),
            Of::Sleep => 0.0,
        };
        // A place that is not reported must not hide one that is.
        let known = |u: &Uneven| allowed.is_none_or(|a| a.contains(&(of, u.place)));
        let judge = |part: &Part, doubt: Doubt| {
            let whole = whole.as_ref().filter(|_| doubt == Doubt::Where);
            let (found, mended) = self.judge(&here, part, whole)?;
            known(&found).then_some((found.gain, (found, mended)))
        };
        holder.find(all, self.least, doubt, blur, judge)
    }

    /// The keys of a part in its phase, ascending.
    fn inside(&self, here: &Here<'_>, part: &Part) -> Vec<u32> {
        let (pag, scale) = (self.pag, self.scale);
        let data = &scale.view().computation;
        let of_phase = |k: &u32| {
            let key = data.keys.get(*k as usize);
            key.is_some_and(|k| scale.phases.after(k.after) == here.phase)
        };
        let mut inside = scale.keys_inside_all(pag, &part.vertices);
        inside.retain(of_phase);
        inside
    }

    /// Which ranks are late at a place, if that is more than noise. `whole` is how they are late in what encloses it,
    /// if that is certain: then only the choice of the place is left to chance, and its late ranks are mostly the same.
    fn lateness(&self, here: &Here<'_>, part: &Part, whole: Option<&Known>) -> Option<Known> {
        let row = here.column.sum(&part.vertices);
        let inside = self.inside(here, part);
        let of_samples = |ranks: &[u32]| match here.of {
            Of::All => self.noise.of_samples(&inside, ranks),
            Of::Sleep => 0.0,
        };
        let late = match whole {
            Some(whole) => Late::within(&row, &whole.late, of_samples(&whole.late.ranks))?,
            None => Late::new(&row, here.first)?,
        };
        let sampling = of_samples(&late.ranks) / (late.ranks.len().max(1) as f64).sqrt();
        let timing = match here.of {
            Of::All => self.noise.of_timing(&inside, &row, &late),
            Of::Sleep => timing::of_sleep(&late.alike(&row), late.high),
        };
        // Number of differences that might have been found instead: each rank, or group of ranks, at each place. A
        // difference in a whole phase was not chosen from places; but few ranks hardly show their scatter.
        let choices = late.choices(row.len());
        let chosen = part.place != WHOLE || row.len() < timing::FEW;
        let places = if chosen { here.compared as f64 } else { 1.0 };
        let chance = timing::above_chance(choices * places);
        let is_late = match (whole, here.of) {
            // Time between two calls is measured, so where all of it is at one place, samples do not matter.
            (Some(_), Of::All) if stats::is_above(sampling, 0.0) => {
                let misplaced = self.noise.misplaced(&inside, &late, row.len());
                late.excess > (chance * timing).max(misplaced)
            }
            (Some(_), _) | (None, Of::Sleep) => late.excess > chance * timing,
            (None, Of::All) => {
                let errors = self.noise.errors(&inside, &row, &late, timing);
                errors > chance
                    || errors > timing::above_chance(choices) && {
                        // A place that smaller scales show too was not chosen from all places.
                        let evidence = self.evidence(here, part);
                        errors > timing::above_chance(choices * (places / evidence).max(1.0))
                    }
            }
        };
        let are_few = here.of == Of::All && late.shape == Shape::Few && late.ranks.len() > 1;
        let late =
            match is_late && are_few && self.can_only_be_divided(&late, &row, part, of_samples) {
                true => late.divided(&row),
                false => late,
            };
        is_late.then_some(Known {
            row,
            late,
            inside,
            noise: timing.hypot(sampling),
            sampling,
        })
    }

    /// Whether the work of a few late ranks can be given to others but not saved: if the others are not alike, they do not
    /// show what is needed, and if all ranks together do no more than one rank does alone, nothing shows that there is
    /// more work than that. With one late rank, the latter may be work that rank 0 always has.
    fn can_only_be_divided(
        &self,
        late: &Late,
        row: &[f64],
        part: &Part,
        of_samples: impl Fn(&[u32]) -> f64,
    ) -> bool {
        let others: Vec<bool> = late.mask(row.len()).iter().map(|m| !m).collect();
        if !late.has_measure(row, of_samples(&ranks_of(&others))) {
            return true;
        }
        let Some(alone) = self.alone else {
            return false;
        };
        // Causes that were taken off belong to the work of the place, and one rank may come there by other call paths.
        let vertices = match part.place {
            WHOLE => vec![TopDown::ROOT],
            place => self.places.vertices(place),
        };
        let at = |scale: &Scale| -> f64 {
            let keys = scale.keys_inside_all(self.pag, &vertices);
            let busy = &scale.view().computation.busy;
            sum_rows(busy, &keys, scale.p).iter().sum()
        };
        let all = at(self.scale);
        let beyond = late.ranks.len() as f64 * (late.high - late.level);
        beyond >= LARGE * all && all - at(alone) <= SAME * beyond
    }

    /// Evidence from smaller scales for a place. Causes are not taken off there, so smaller scales are no evidence for
    /// a place where a cause was found, nor for what is around or inside it.
    fn evidence(&self, here: &Here<'_>, part: &Part) -> f64 {
        let top = &self.pag.top;
        let related = |v: &VertexIx| {
            let mut taken = here.taken.iter();
            taken.any(|t| top.contains(*t, *v) || top.contains(*v, *t))
        };
        if part.place == WHOLE || part.vertices.iter().any(related) {
            return 1.0;
        }
        self.smaller.evidence(&part.vertices)
    }

    /// The excess of late ranks at a place, if it is more than noise and its removal shortens the phase.
    fn judge(
        &self,
        here: &Here<'_>,
        part: &Part,
        whole: Option<&Known>,
    ) -> Option<(Uneven, Mended)> {
        let Known {
            row,
            late,
            inside,
            noise,
            sampling,
        } = self.lateness(here, part, whole)?;
        let &Here {
            of,
            column,
            totals,
            first,
            ..
        } = here;
        // If ranks are late by the whole excess at this place, their lateness is known better than samples at the place
        // show.
        let alone = whole.is_some() && !late.evens_out();
        let slack = if alone { BLURRED * sampling } else { 0.0 };
        let (mended, after) = mend(of, part, &row, totals, &late, slack);
        let gain = stats::max(totals) - stats::max(&after);
        if !stats::is_above(gain, 0.0) {
            return None;
        }
        let around = stats::mean_of(&mended.around, &late.ranks);
        let noise = match whole {
            Some(whole) if around > 0.0 => {
                // An excess beyond all that samples may have missed is elsewhere, or here as well.
                let rest = stats::mean_of(&after, &late.ranks) - usual(totals, &late);
                whole.noise.hypot(MISSED * around).hypot(rest / CONFIDENCE)
            }
            _ => noise.min(TESTED * (late.excess + around) / CONFIDENCE),
        };
        let usual = usual(totals, &late);
        let longer = late.high - late.level + around;
        let cost = longer.min(stats::max(totals) - usual);
        let beyond = |row: &[f64]| excess(row, first).max(0.0);
        let excess = |v: &VertexIx| column.row(*v).map_or(0.0, beyond);
        let mut vertices: Vec<(VertexIx, f64)> =
            part.vertices.iter().map(|v| (*v, excess(v))).collect();
        vertices.sort_by_key(most_first);
        let found = Uneven {
            of,
            place: part.place,
            vertices,
            cost: cost.max(gain),
            gain,
            longer,
            error: noise * (gain / (late.excess + around)).min(1.0),
            inside,
            shape: late.words(),
            ranks: late.ranks,
        };
        Some((found, mended))
    }
}

/// How ranks are late at a place.
struct Known {
    /// Seconds of each rank.
    row: Vec<f64>,
    late: Late,
    /// Keys of the computation there.
    inside: Vec<u32>,
    /// Standard error of the excess, seconds.
    noise: f64,
    /// The part of it from samples, which may attribute time to other places, seconds.
    sampling: f64,
}

/// The part of the program in which a place is judged.
struct Here<'a> {
    phase: u32,
    of: Of,
    /// The time that is examined, by vertex and rank.
    column: &'a Inclusive,
    /// Seconds of each rank in the phase.
    totals: &'a [f64],
    /// By rank: whether it is late in the phase.
    first: &'a [bool],
    /// Vertices of the causes that were found in it before.
    taken: &'a [VertexIx],
    /// Number of places that are compared.
    compared: usize,
}
