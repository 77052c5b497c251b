//! The smallest place that holds what late ranks have more than the others.
//!
//! All places in the part of the program that is looked at are weighed: a place has the sum over all its vertices
//! there, whichever call paths lead to them. Of those that hold nearly all of the excess the smallest is the one on
//! which the mean rank spends the least time. So a loop that five call paths reach is smaller than what is around all
//! of them, and the one call by which a shared function is uneven is smaller than that function.

use crate::measure::inclusive::{Inclusive, communicates, is_body};
use crate::measure::places::{Places, is_named};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Share of the excess that a place must hold to be named for all of it. Samples attribute what is near a loop's ends
/// to its neighbours, and a gain may be wrong by as much; with less, a good part of what is reported would be
/// elsewhere.
pub const HOLDS: f64 = 0.8;

/// How many times the excess a place may hold: where late ranks have much more here, but less elsewhere, they do
/// another part of the work, and what is around both parts is what differs.
const COMPENSATED: f64 = 1.5;

/// Part of the excess of a place by which other ranks may differ there and still do the same.
const ALIKE: f64 = 0.25;

/// Part of the relative excess of a place by one call path that other paths must have to be uneven as well, and part of
/// the usual time by them by which a rank must differ.
const AS_UNEVEN: f64 = 0.5;

/// How many times the time of its uneven parts a place may take and still be named for all of them.
const NOT_MUCH_BIGGER: f64 = 1.5;

/// In the stead of the number of a place: all that is looked at.
pub const WHOLE: u32 = u32::MAX;

/// Part of the excess that a place must hold by its samples at the least, however many these may miss.
const MUCH: f64 = 0.35;

/// Standard errors by which samples may attribute too little to the place that holds all.
pub const BLURRED: f64 = 2.0;

/// A place is less likely to be the one, the larger it is: by this power of its time. To say that the whole program
/// holds all of the excess says nothing.
const SIZE: f64 = 2.0;

/// What may be doubted of the excess of a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Doubt {
    /// Whether there is one: it may be chance.
    IfAtAll,
    /// Where it is: ranks are late for certain in what is around the place, as time between two calls is measured, and
    /// only samples say in which place.
    Where,
}

/// The vertices of a place, or those of them that one part of the program holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The place.
    pub place: u32,
    /// Its vertices, ascending; none is inside another one.
    pub vertices: Vec<VertexIx>,
    /// Seconds that a late rank has more there than the others have on the mean.
    pub excess: f64,
    /// Seconds of the mean rank.
    pub time: f64,
}

impl Part {
    /// Whether nearly all of the excess of `whole` is here.
    fn holds(&self, whole: &Part) -> bool {
        !stats::is_above(HOLDS * whole.excess, self.excess)
    }
}

/// Where the time of late ranks is.
pub struct Holder<'a> {
    pag: &'a Pag,
    places: &'a Places,
    busy: &'a Inclusive,
    /// By rank whether it is late.
    late: &'a [bool],
    /// Excess and time by vertex.
    weights: Vec<(f64, f64)>,
}

/// How much more the late ranks have than the others, mean against mean, so that parts add up to the whole.
pub fn excess(row: &[f64], late: &[bool]) -> f64 {
    let (mut sums, mut counts) = ([0.0; 2], [0.0f64; 2]);
    for (value, late) in row.iter().zip(late) {
        sums[usize::from(*late)] += value;
        counts[usize::from(*late)] += 1.0;
    }
    sums[1] / counts[1].max(1.0) - sums[0] / counts[0].max(1.0)
}

impl<'a> Holder<'a> {
    /// Weighs all vertices by what `late` ranks have more.
    pub fn new(pag: &'a Pag, places: &'a Places, busy: &'a Inclusive, late: &'a [bool]) -> Self {
        let weigh = |v: VertexIx| {
            let row = busy.row(v);
            row.map_or((0.0, 0.0), |row| (excess(row, late), stats::mean(row)))
        };
        let weights = (0..pag.top.vertices.len() as VertexIx).map(weigh);
        Self {
            weights: weights.collect(),
            pag,
            places,
            busy,
            late,
        }
    }

    /// Places that take time.
    pub fn count(&self) -> usize {
        let mut all: Vec<u32> = (0..)
            .zip(&self.weights)
            .filter(|(v, weight)| weight.1 > 0.0 && is_named(self.pag, *v))
            .map(|(v, _)| self.places.of(v))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// What `judge` says of the place that holds `excess` seconds of the late ranks, or the largest part of them. It
    /// says nothing of a place that cannot be distinguished from noise, and with what it says how much mending would
    /// gain: a part of what several places hold is named for itself if that is at least `least` seconds. `doubt` is of
    /// the place that holds all; `blur` returns the standard error of what samples attribute to a place, seconds.
    pub fn find<T>(
        &self,
        excess: f64,
        least: f64,
        doubt: Doubt,
        blur: impl Fn(&Part) -> f64,
        judge: impl Fn(&Part, Doubt) -> Option<(f64, T)>,
    ) -> Option<T> {
        let mut here = self.whole(excess);
        let mut found = None;
        let all = self.inside(&here);
        let mut doubt = doubt;
        loop {
            // Standard errors by which the samples of a place are too few to hold the excess; `None` where they are far
            // too few.
            let misses = |part: &Part, whole: &Part| -> Option<f64> {
                if part.holds(whole) {
                    return Some(0.0);
                }
                if doubt != Doubt::Where || part.excess < MUCH * whole.excess {
                    return None;
                }
                let missed = (HOLDS * whole.excess - part.excess) / blur(part);
                (missed <= BLURRED).then_some(missed)
            };
            let judged = |part: &Part| judge(part, doubt);
            if let Some((part, said)) = self.smallest(&here, &all, misses, judged) {
                (here, found) = (part, Some(said));
            }
            // A part of it may be late by chance.
            doubt = Doubt::IfAtAll;
            match self.part(&here, &all, least, &|part: &Part| judge(part, doubt)) {
                Some((part, said)) => (here, found) = (part, Some(said)),
                None => return found,
            }
        }
    }

    /// All that is looked at, in which late ranks have `excess` seconds more.
    pub fn whole(&self, excess: f64) -> Part {
        Part {
            place: WHOLE,
            vertices: vec![TopDown::ROOT],
            excess,
            time: self.time(TopDown::ROOT),
        }
    }

    fn time(&self, v: VertexIx) -> f64 {
        self.weights.get(v as usize).map_or(0.0, |w| w.1)
    }

    fn of_vertices(&self, place: u32, vertices: Vec<VertexIx>) -> Part {
        let weights = vertices
            .iter()
            .filter_map(|v| self.weights.get(*v as usize));
        let (excess, time) = weights.fold((0.0, 0.0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
        Part {
            place,
            vertices,
            excess,
            time,
        }
    }

    /// The places inside a part that can be named and take time.
    fn inside(&self, part: &Part) -> Vec<Part> {
        let mut of_place: BTreeMap<u32, Vec<VertexIx>> = BTreeMap::new();
        for own in &part.vertices {
            for v in self.pag.inside(*own).filter(|v| v != own) {
                let place = self.places.of(v);
                let named = is_named(self.pag, v) && self.places.is_outermost(v);
                if named && place != part.place && self.time(v) > 0.0 {
                    of_place.entry(place).or_default().push(v);
                }
            }
        }
        let part = |(place, mut vertices): (u32, Vec<VertexIx>)| {
            vertices.sort_unstable();
            self.of_vertices(place, vertices)
        };
        of_place.into_iter().map(part).collect()
    }

    /// The smaller first; of those of one time the inner one, by the depth at which most of their time is.
    fn by_size(&self, parts: &mut [&Part]) {
        let depth = |p: &Part| {
            let weight = |v: &VertexIx| (stats::ticks(self.time(*v)), Reverse(*v));
            let heaviest = p.vertices.iter().copied().max_by_key(weight);
            heaviest.map_or(0, |v| self.pag.top.ancestors(v).count())
        };
        let time = |p: &Part| stats::ticks(p.time);
        parts.sort_by(|a, b| {
            time(a)
                .cmp(&time(b))
                .then_with(|| depth(b).cmp(&depth(a)))
                .then(a.place.cmp(&b.place))
        });
    }

    /// Whether the other ranks do the same at a place.
    fn others_are_alike(&self, part: &Part) -> bool {
        let row = self.busy.sum(&part.vertices);
        let others = row.iter().zip(self.late).filter(|(_, late)| !**late);
        let others: Vec<f64> = others.map(|(value, _)| *value).collect();
        let spread = stats::quantile(&others, 0.9) - stats::median(&others);
        !stats::is_above(spread, ALIKE * part.excess)
    }

    /// Whether late ranks do not have less elsewhere for what they have more here.
    fn is_not_compensated(&self, part: &Part, whole: &Part) -> bool {
        !stats::is_above(part.excess, COMPENSATED * whole.excess) || self.others_are_alike(part)
    }

    /// The smallest of the places inside `whole` that holds its excess and is no noise; `all` are those of the program.
    /// `misses` says by how many standard errors one may have too few samples for that. The smaller a place is, the
    /// less likely it has them by chance, so a much smaller one may have fewer: the two are weighed as logarithms of
    /// chances.
    fn smallest<T>(
        &self,
        whole: &Part,
        all: &[Part],
        misses: impl Fn(&Part, &Part) -> Option<f64>,
        judge: impl Fn(&Part) -> Option<(f64, T)>,
    ) -> Option<(Part, T)> {
        let mut holding: Vec<(f64, Part)> = Vec::new();
        let inside = self.inside(whole);
        let mut by_size: Vec<&Part> = inside.iter().collect();
        self.by_size(&mut by_size);
        for part in by_size {
            let missed = misses(part, whole).filter(|_| part.excess > 0.0);
            if let Some(missed) = missed.filter(|_| self.is_not_compensated(part, whole)) {
                let size = part.time.max(f64::MIN_POSITIVE).ln();
                holding.push((0.5 * missed * missed + SIZE * size, part.clone()));
            }
        }
        // Of equal ones the smaller stays first.
        holding.sort_by_key(|h| stats::ticks(h.0));
        let judged = |part: Part| {
            let part = self.with_copies(&part, all);
            let said = judge(&part).filter(|_| misses(&part, whole).is_some());
            said.map(|(_, said)| (part, said))
        };
        holding.into_iter().find_map(|(_, part)| {
            let inner = self.innermost(&part, whole, all);
            inner.and_then(judged).or_else(|| judged(part))
        })
    }

    /// The smallest place within `part` that holds the excess of `whole` there; `None` where that is the part itself.
    /// In all of the program it may be larger, if other call paths lead to it as well. Where these take much of its
    /// time, it is shared, and it is the call within `part` that makes the difference.
    fn innermost(&self, part: &Part, whole: &Part, all: &[Part]) -> Option<Part> {
        let inside = self.inside(part);
        let is_shared = |p: &Part| {
            let everywhere = all.iter().find(|own| own.place == p.place);
            everywhere.is_some_and(|own| stats::is_above(HOLDS * own.time, p.time))
        };
        let mut holding: Vec<&Part> = inside
            .iter()
            .filter(|p| p.excess > 0.0 && p.holds(whole) && self.is_not_compensated(p, whole))
            .filter(|p| !is_shared(p))
            .collect();
        self.by_size(&mut holding);
        holding.first().map(|p| (*p).clone())
    }

    /// The place in `part` that holds its excess, with its vertices elsewhere, if late ranks differ from the others
    /// there too: then the calling context that was found is not what makes the difference. Else the part itself.
    fn with_copies(&self, part: &Part, all: &[Part]) -> Part {
        let mut own = self.inside(part);
        own.push(part.clone());
        let mut holding: Vec<&Part> = own.iter().filter(|p| p.holds(part)).collect();
        self.by_size(&mut holding);
        let copies = holding.into_iter().find_map(|own| {
            let whole = all.iter().find(|p| p.place == own.place)?;
            let (excess, time) = (whole.excess - own.excess, whole.time - own.time);
            let usual = AS_UNEVEN * own.excess / own.time * time;
            let as_uneven = !stats::is_above(usual, excess.abs());
            let counts = stats::is_above(excess.abs(), (1.0 - HOLDS) * ALIKE * own.excess);
            let is_other = |v: &&VertexIx| !own.vertices.contains(v);
            let elsewhere: Vec<VertexIx> =
                whole.vertices.iter().filter(is_other).copied().collect();
            let differs = as_uneven && counts || self.divides(&elsewhere, own.excess);
            (!elsewhere.is_empty() && differs).then(|| whole.clone())
        });
        copies.unwrap_or_else(|| part.clone())
    }

    /// Whether not all ranks reach some vertices: then these and others are copies of one place, which ranks have
    /// divided among them. `excess` is that of the other copies.
    fn divides(&self, vertices: &[VertexIx], excess: f64) -> bool {
        let row = self.busy.sum(vertices);
        let pick = |wanted: bool| -> Vec<f64> {
            let of = row
                .iter()
                .zip(self.late)
                .filter(|(_, late)| **late == wanted);
            of.map(|(value, _)| *value).collect()
        };
        let (late, others) = (pick(true), pick(false));
        let usual = stats::median(&others);
        let much = (ALIKE * excess).max(AS_UNEVEN * usual);
        late.iter()
            .any(|value| stats::is_above((value - usual).abs(), much))
            || stats::is_above(
                stats::quantile(&others, 0.9) - stats::quantile(&others, 0.1),
                much,
            )
    }

    /// Whether ranks communicate in a part.
    fn communicates(&self, part: &Part) -> bool {
        part.vertices.iter().any(|v| communicates(self.pag, *v))
    }

    fn is_disjoint(&self, a: &Part, b: &Part) -> bool {
        let top = &self.pag.top;
        let within = |a: VertexIx, b: VertexIx| top.contains(a, b) || top.contains(b, a);
        let mut pairs = a
            .vertices
            .iter()
            .flat_map(|a| b.vertices.iter().map(|b| (*a, *b)));
        !pairs.any(|(a, b)| within(a, b))
    }

    /// The largest part of `whole` that is worth naming for itself. Where ranks communicate in it, it is a step of the
    /// program and its parts are causes of their own; elsewhere it is one piece of work, unless most of it is even.
    fn part<T>(
        &self,
        whole: &Part,
        all: &[Part],
        least: f64,
        judge: &impl Fn(&Part) -> Option<(f64, T)>,
    ) -> Option<(Part, T)> {
        let inside = self.inside(whole);
        let mut parts: Vec<&Part> = inside.iter().filter(|p| p.excess >= least).collect();
        parts.retain(|p| {
            p.excess > 0.0
                && !p.holds(whole)
                && !p.vertices.iter().any(|v| is_body(self.pag, *v))
                && self.is_not_compensated(p, whole)
        });
        self.by_size(&mut parts);
        parts.sort_by_key(|p| Reverse(stats::ticks(p.excess)));
        if !self.communicates(whole) {
            let mut disjoint: Vec<&Part> = Vec::new();
            for part in &parts {
                if disjoint.iter().all(|other| self.is_disjoint(part, other)) {
                    disjoint.push(part);
                }
            }
            let uneven: f64 = disjoint.iter().map(|p| p.time).sum();
            if !stats::is_above(whole.time, NOT_MUCH_BIGGER * uneven) {
                return None;
            }
        }
        parts.into_iter().find_map(|part| {
            let part = self.with_copies(part, all);
            // What holds most of the whole was looked at before.
            let is_part = part.excess >= least && !part.holds(whole);
            let (gain, said) = judge(&part).filter(|_| is_part)?;
            (gain >= least).then_some((part, said))
        })
    }
}
