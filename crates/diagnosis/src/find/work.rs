//! Computation that does not shrink as ranks are added (ScalAna, section IV-A).
//!
//! The middle rank (of two the faster) is compared between the smallest and the largest scale, so that work which only
//! some ranks have is left to [`crate::find::imbalance`]. Under strong scaling the time should fall as 1/p, under weak
//! scaling it should stay. What is beyond that is lost; it decides with its standard error, not by how steep it grows.
//!
//! Where the machine itself is slower at the largest scale ([`crate::measure::pace`]), that is no loss of the program:
//! a place must lose much beyond it, as the pace is an assumption.
//!
//! Places are compared, not call paths: the seconds of all vertices of a place are added up before scales are compared,
//! as a scale may reach it by other calls, or run another copy that the compiler made. A scale may also do at one place
//! what another scale does at another one, by another branch. So a place that spends most of its time in one function
//! loses no more than this function loses in all places that call it.

mod cause;

use crate::find::candidate::Candidate;
use crate::measure::holder::HOLDS;
use crate::measure::inclusive::{is_body, is_most_of_body};
use crate::measure::pace::Pace;
use crate::measure::scale::Scale;
use crate::measure::scaling::ideal;
use crate::measure::source_place::SourcePlaces;
use crate::measure::times::Times;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::Scaling;
use headwater_model::psg::VertexKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Causes looked for at the most.
const MOST: usize = 6;

/// Part of the time of a place that must be in a function for the loss of this function to be a bound.
const MOSTLY: f64 = 0.5;

/// Share of the loss of a place that places in it must hold to be looked at in its stead.
const COVERED: f64 = 0.4;

/// Part of the time of a place that must be lost for the place to be one piece of work, which more ranks do not make
/// less.
const LOST: f64 = 0.6;

/// Share of the loss of a place that one of its parts must hold for the place to be a cause.
const CONCENTRATED: f64 = 0.25;

/// Standard error of the ideal time, as a part of it: the same work takes a little more or less time where caches and
/// memory are shared by another number of ranks.
const MACHINE: f64 = 0.1;

/// Part of its time at the largest scale that a place must have at the smallest one to be compared by itself. A place
/// with less is new: the smaller scale may do the same in another branch.
pub const NEW: f64 = 0.1;

/// Samples of a rank below which they are few, and standard deviations of their number that ranks are apart which do
/// the same.
const FEW: (f64, f64) = (10.0, 4.0);

/// Looks for work that does not shrink. `scales` ascend; `pace` is that of the machine
/// between them, `least` the smallest cost worth telling, seconds.
pub fn find(
    pag: &Pag,
    scales: &[Scale],
    times: &Times,
    scaling: Scaling,
    pace: Pace,
    least: f64,
) -> Vec<Candidate> {
    let [first, .., last] = scales else {
        return Vec::new();
    };
    let places = SourcePlaces::new(pag);
    let mut search = Search {
        pag,
        scales,
        ends: [first, last],
        scaling,
        pace,
        least,
        places,
        rows: FxHashMap::default(),
        heavy: Vec::new(),
        above: FxHashMap::default(),
        opened: FxHashSet::default(),
        out: Vec::new(),
    };
    let root = search.places.of(TopDown::ROOT);
    if search.loss(root) < least {
        return Vec::new();
    }
    // A place in which no rank has the time cannot lose it.
    let end = scales.len() - 1;
    let most = |place: &u32| -> f64 {
        let own = search.places.vertices(*place).iter();
        own.map(|v| times.computation(end, *v).most).sum()
    };
    let structured = |place: &u32| {
        let own = search.places.vertices(*place).first();
        own.is_some_and(|v| *v != TopDown::ROOT && pag.top.get(*v).kind != VertexKind::Comp)
    };
    let all = 0..search.places.len();
    let possible: Vec<u32> = all
        .filter(structured)
        .filter(|p| most(p) >= least)
        .collect();
    search.heavy = possible
        .into_iter()
        .filter(|p| search.loss(*p) >= least)
        .collect();
    let places = &search.places;
    let around = |v: &VertexIx| {
        let around = pag.top.ancestors(*v).skip(1).chain([TopDown::ROOT]);
        around.map(|a| places.of(a)).collect()
    };
    let above =
        (search.heavy.iter()).map(|p| (*p, places.vertices(*p).iter().map(around).collect()));
    search.above = above.collect();
    search.open(root);
    search.out
}

/// The way down to the smallest places that hold a loss.
struct Search<'a> {
    pag: &'a Pag,
    scales: &'a [Scale],
    ends: [&'a Scale; 2],
    scaling: Scaling,
    pace: Pace,
    least: f64,
    places: SourcePlaces,
    /// Seconds of the usual and of the mean rank in some vertices at each scale.
    rows: FxHashMap<Vec<VertexIx>, Vec<(f64, f64)>>,
    /// Places that lose enough.
    heavy: Vec<u32>,
    /// The places around each of their vertices.
    above: FxHashMap<u32, Vec<FxHashSet<u32>>>,
    opened: FxHashSet<u32>,
    out: Vec<Candidate>,
}

impl Search<'_> {
    /// Seconds of each rank in some vertices.
    fn row(&self, scale: &Scale, vertices: &[VertexIx]) -> Vec<f64> {
        sum_rows(
            &scale.view().computation.busy,
            &self.keys(scale, vertices),
            scale.p,
        )
    }

    fn keys(&self, scale: &Scale, vertices: &[VertexIx]) -> Vec<u32> {
        scale.keys_inside_all(self.pag, vertices)
    }

    /// Seconds of the usual and of the mean rank in some vertices, by scale.
    fn seconds(&mut self, vertices: &[VertexIx]) -> Vec<(f64, f64)> {
        if let Some(known) = self.rows.get(vertices) {
            return known.clone();
        }
        let of_scale = |s: &Scale| {
            let row = self.row(s, vertices);
            (usual(&row, s.period), stats::mean(&row))
        };
        let seconds: Vec<(f64, f64)> = self.scales.iter().map(of_scale).collect();
        self.rows.insert(vertices.to_vec(), seconds.clone());
        seconds
    }

    /// The same of the usual rank alone.
    fn usual(&mut self, vertices: &[VertexIx]) -> Vec<f64> {
        self.seconds(vertices).into_iter().map(|s| s.0).collect()
    }

    /// Seconds that the usual rank loses in some vertices; no more than the mean rank, which has had more to do where
    /// ranks differ at the smallest scale.
    fn loss_in(&mut self, vertices: &[VertexIx]) -> f64 {
        let seconds = self.seconds(vertices);
        let (Some(before), Some(now)) = (seconds.first(), seconds.last()) else {
            return 0.0;
        };
        let lost = |before, now: f64| now - self.pace.factor * self.ideal(before);
        lost(before.0, now.0).min(lost(before.1, now.1))
    }

    /// What seconds at the smallest scale should be at the largest one, on a machine that is as fast there.
    fn ideal(&self, seconds: f64) -> f64 {
        let [first, last] = self.ends;
        ideal(self.scaling, seconds, first.size, last.size)
    }

    fn at_ends(&mut self, vertices: &[VertexIx]) -> (f64, f64) {
        let usual = self.usual(vertices);
        let ends = usual.first().zip(usual.last());
        ends.map_or((0.0, 0.0), |(a, b)| (*a, *b))
    }

    /// The vertices that some vertices of a place are compared by: themselves, or, if the place is new at the largest scale,
    /// the smallest place around it that is not. `None` if there is none.
    fn compared_by(&mut self, own: &[VertexIx]) -> Option<Vec<VertexIx>> {
        let is_new = |(before, now): (f64, f64)| before < NEW * now;
        if !is_new(self.at_ends(own)) {
            return Some(own.to_vec());
        }
        let heaviest = self.heaviest(own);
        let around: Vec<VertexIx> = (self.pag.top.ancestors(heaviest).skip(1))
            .chain([TopDown::ROOT])
            .collect();
        around.into_iter().find_map(|v| {
            let around = self.places.vertices(self.places.of(v)).to_vec();
            (!is_new(self.at_ends(&around))).then_some(around)
        })
    }

    /// Seconds that the usual rank loses in a place, and no more than in the place by which it is compared.
    fn loss(&mut self, place: u32) -> f64 {
        let vertices = self.places.vertices(place).to_vec();
        let own = self.loss_in(&vertices);
        if own < self.least {
            return own;
        }
        match self.compared_by(&vertices) {
            Some(by) if by == vertices => own,
            Some(by) => own.min(self.loss_in(&by)),
            None => 0.0,
        }
    }

    /// The most that can be lost in some vertices, by what the functions lose in which most of their time is, wherever
    /// these are called, and by how exactly that is known.
    fn most_in_functions(&mut self, own: &[VertexIx]) -> f64 {
        let now = self.at_ends(own).1;
        let mut inside: BTreeMap<u32, Vec<VertexIx>> = BTreeMap::new();
        for v in own.iter().flat_map(|v| self.pag.inside(*v)) {
            let kind = self.pag.top.get(v).kind;
            if matches!(kind, VertexKind::Function | VertexKind::Inlined) {
                inside.entry(self.places.of(v)).or_default().push(v);
            }
        }
        let mut most = f64::INFINITY;
        for (place, here) in inside {
            let all = self.places.vertices(place).to_vec();
            let is_elsewhere = all.iter().any(|v| !here.contains(v));
            let here = outermost(self.pag, here.into_iter());
            if is_elsewhere && self.at_ends(&here).1 >= MOSTLY * now {
                let all = outermost(self.pag, all.into_iter());
                let before = self.at_ends(&all).0;
                let should = self.ideal(before);
                most = most.min(self.loss_in(&all) + MACHINE * should);
            }
        }
        most.max(0.0)
    }

    /// The vertex with the most time at the largest scale.
    fn heaviest(&self, vertices: &[VertexIx]) -> VertexIx {
        let seconds = |v: VertexIx| stats::mean(&self.row(self.ends[1], &[v]));
        let all = vertices.iter().map(|v| (*v, seconds(*v)));
        let most = all.reduce(|a, b| if b.1 > a.1 { b } else { a });
        most.map_or(TopDown::ROOT, |m| m.0)
    }

    /// Notes the smallest places in a place that hold its loss, or the place itself; whether the search is done with
    /// it.
    fn open(&mut self, place: u32) -> bool {
        if self.out.len() >= MOST || !self.opened.insert(place) {
            // What was looked at already was so by another way.
            return true;
        }
        let own = self.places.vertices(place).to_vec();
        let all = self.loss(place);
        let inner = self.inner(place);
        // Inside this place, each vertex once.
        let all_inner = outermost(
            self.pag,
            inner.iter().flat_map(|p| self.places.vertices(*p)).copied(),
        );
        let within = self.within(&own, &all_inner);
        let is_root = place == self.places.of(TopDown::ROOT);
        let covered = if within.is_empty() {
            0.0
        } else {
            self.loss_in(&within)
        };
        // What stays in a loop itself and in what it calls is one piece of work.
        let is_loop = own.iter().any(|v| self.pag.top.get(*v).kind.is_loop());
        if is_loop && covered < HOLDS * all && self.is_one(&own, all) && self.note(place, all) {
            for p in inner {
                let here = self.within(&own, self.places.vertices(p));
                if self.loss_in(&here) >= HOLDS * self.loss(p) {
                    self.opened.insert(p);
                }
            }
            return true;
        }
        let mut found = false;
        if covered >= COVERED * all {
            for p in inner {
                found |= self.open(p);
            }
        }
        // Where many places lose a little each, the places around them are no causes either.
        found || !is_root && (!self.is_concentrated(&own, all) || self.note(place, all))
    }

    /// Those of some vertices that are inside others.
    fn within(&self, around: &[VertexIx], vertices: &[VertexIx]) -> Vec<VertexIx> {
        let inside = |v: &VertexIx| around.iter().any(|a| self.pag.top.contains(*a, *v));
        vertices.iter().copied().filter(inside).collect()
    }

    /// Whether most of a loop's time is lost, much of it in its own computation and not in its parts.
    fn is_one(&mut self, own: &[VertexIx], all: f64) -> bool {
        // Lines of the loop's body are the loop.
        let pag = self.pag;
        let of_parts = self.losses_of_parts(own, |v| !is_body(pag, v));
        let of_parts: f64 = of_parts.iter().sum();
        all >= LOST * self.at_ends(own).1 && all - of_parts >= (1.0 - HOLDS) * all
    }

    /// Whether a part of a place, or its own computation outside all parts, holds much of its loss. If not, many places
    /// lose a little each, and the account of the loss describes them together.
    fn is_concentrated(&mut self, own: &[VertexIx], all: f64) -> bool {
        let losses = self.losses_of_parts(own, |_| true);
        let outside = all - losses.iter().sum::<f64>();
        let most = losses.into_iter().fold(outside, f64::max);
        most >= CONCENTRATED * all
    }

    /// What is lost in those loops, calls and functions right inside some vertices that count, by place.
    fn losses_of_parts(&mut self, own: &[VertexIx], counts: impl Fn(VertexIx) -> bool) -> Vec<f64> {
        let structured = |v: &VertexIx| self.pag.top.get(*v).kind != VertexKind::Comp && counts(*v);
        let children = own
            .iter()
            .flat_map(|v| self.pag.children[*v as usize].iter().copied());
        let mut parts: BTreeMap<u32, Vec<VertexIx>> = BTreeMap::new();
        for v in children.filter(structured) {
            parts.entry(self.places.of(v)).or_default().push(v);
        }
        parts.values().map(|part| self.loss_in(part)).collect()
    }

    /// The largest places inside a place that lose enough.
    fn inner(&mut self, place: u32) -> Vec<u32> {
        let inside = |p: &u32| *p != place && self.above(*p).iter().any(|a| a.contains(&place));
        let mut all: Vec<u32> = self.heavy.iter().copied().filter(inside).collect();
        all.retain(|p| {
            // A part of a loop's body is the loop, if it does not hold nearly all of it.
            let around = self.body_of(*p);
            around.is_none_or(|l| is_most_of_body(self.loss(*p), self.loss(l)))
        });
        let covers = |a: u32, b: u32| {
            let inside = |around: &&FxHashSet<u32>| around.contains(&place);
            a != b && (self.above(b).iter().filter(inside)).all(|around| around.contains(&a))
        };
        let largest = |p: &&u32| !all.iter().any(|o| covers(*o, **p) && !covers(**p, *o));
        all.iter().filter(largest).copied().collect()
    }

    /// The places around each vertex of a place that loses enough.
    fn above(&self, place: u32) -> &[FxHashSet<u32>] {
        self.above.get(&place).map_or(&[], |all| all)
    }

    /// The loop around a place that is only lines of its body.
    fn body_of(&self, place: u32) -> Option<u32> {
        let (pag, own) = (self.pag, self.places.vertices(place));
        let body = own.iter().all(|v| is_body(pag, *v));
        let first = own.first().filter(|_| body)?;
        let mut around = pag.top.ancestors(*first).skip(1);
        let around = around.find(|a| pag.top.get(*a).kind.is_loop())?;
        Some(self.places.of(around))
    }
}

/// Seconds of the usual rank, where a sample represents `period` seconds: those of the middle rank. If ranks have few
/// samples and differ by no more than chance, it is the mean, which uses the samples of all of them.
fn usual(row: &[f64], period: f64) -> f64 {
    let mean = stats::mean(row);
    let least = row.iter().copied().fold(f64::INFINITY, f64::min);
    let alike = stats::max(row) - least <= FEW.1 * (mean * period).sqrt();
    if mean < FEW.0 * period && alike {
        mean
    } else {
        stats::lower_median(row)
    }
}

/// Vertices without those inside others.
fn outermost(pag: &Pag, vertices: impl Iterator<Item = VertexIx>) -> Vec<VertexIx> {
    let mut all: Vec<VertexIx> = vertices.collect();
    all.sort_unstable();
    all.dedup();
    let mut out: Vec<VertexIx> = Vec::new();
    for v in all {
        if !out.iter().any(|o| pag.top.contains(*o, v)) {
            out.push(v);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few_samples_the_mean_is_usual() {
        // Three samples each, but for chance.
        assert_eq!(usual(&[2.0, 4.0, 1.0, 5.0], 1.0), 3.0);
        // One of four ranks has work of its own, or there are samples enough.
        assert_eq!(usual(&[0.0, 0.0, 0.0, 9.0], 1.0), 0.0);
        assert_eq!(usual(&[20.0, 22.0, 24.0, 30.0], 1.0), 22.0);
    }
}
