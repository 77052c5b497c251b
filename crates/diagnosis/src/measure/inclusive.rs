//! Time of vertices with everything inside them, over ranks, and the descent to the vertex that has most of it.

use crate::measure::places::is_named;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, RankRows, RunView, TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;

/// Inclusive seconds by vertex and rank.
pub struct Inclusive {
    rows: Vec<Option<Box<[f64]>>>,
    ranks: usize,
}

/// A place must contain this share of the whole, or the place around it is reported. The share is not that of its
/// parent: over many levels that would lead to a small place that explains nothing.
const DESCEND: f64 = 0.4;

/// Another call path to a place must have this part of the place's weight to be the same cause.
const ALIKE: f64 = 0.25;

/// An inlined function without loops must have this part of a loop's weight to be reported instead of the loop: such a
/// function is a few lines of the loop's body.
const BODY: f64 = 0.8;

/// Whether `v` is an inlined function that is only a few lines of the body of a loop around it. This does not apply to
/// a loop that communicates: its body is the program's step, and the functions in it are its parts.
pub fn is_body(pag: &Pag, v: VertexIx) -> bool {
    let kind = |v: VertexIx| pag.top.get(v).kind;
    let own = |c: &VertexIx| kind(*c) != VertexKind::Function;
    let around = loop_around(pag, v).filter(|_| kind(v) == VertexKind::Inlined);
    around.is_some_and(|l| !holds(pag, v, |c| kind(c).is_loop(), own) && !communicates(pag, l))
}

/// Whether ranks communicate in `v`: then it is a step of the program, not a single piece of work.
pub fn communicates(pag: &Pag, v: VertexIx) -> bool {
    pag.inside(v).any(|v| pag.top.get(v).mpi.is_some())
}

/// Whether `v` or something inside it is `wanted`; only children for which `enters` holds are visited.
fn holds(
    pag: &Pag,
    v: VertexIx,
    wanted: impl Fn(VertexIx) -> bool,
    enters: impl Fn(&VertexIx) -> bool,
) -> bool {
    let mut inside = vec![v];
    while let Some(next) = inside.pop() {
        if wanted(next) {
            return true;
        }
        let entered = pag.children[next as usize].iter().copied().filter(&enters);
        inside.extend(entered);
    }
    false
}

/// The loop of the same function around `v`.
fn loop_around(pag: &Pag, v: VertexIx) -> Option<VertexIx> {
    let kind = |v: &VertexIx| pag.top.get(*v).kind;
    let mut around = pag
        .top
        .ancestors(v)
        .take_while(|a| kind(a) != VertexKind::Function);
    around.find(|a| kind(a).is_loop())
}

/// Whether `weight` is a large enough part of a loop's weight to be reported instead of it.
pub fn is_most_of_body(weight: f64, of_loop: f64) -> bool {
    weight >= BODY * of_loop
}

impl Inclusive {
    /// Sums the rows that `column` has for `keys` up: each row counts for its vertex and all vertices around it.
    pub fn new(pag: &Pag, view: &RunView, column: &RankRows, keys: &[u32]) -> Self {
        let n = pag.top.vertices.len();
        let mut this = Self {
            rows: (0..n).map(|_| None).collect(),
            ranks: view.ranks as usize,
        };
        let keyed = keys.iter().filter_map(|k| {
            let vertex = view.computation.keys.get(*k as usize)?.vertex;
            Some((vertex, column.row(*k)?))
        });
        for (vertex, row) in keyed {
            row.add_to(this.slot(vertex));
        }
        // Parents have smaller indices than their children.
        for v in (1..n).rev() {
            if let (Some(row), Some(parent)) = (this.rows[v].take(), pag.top.vertices[v].parent) {
                this.slot(parent)
                    .iter_mut()
                    .zip(&row[..])
                    .for_each(|(p, r)| *p += r);
                this.rows[v] = Some(row);
            }
        }
        this
    }

    /// Sums values by vertex and column up: each value counts for its vertex and all vertices around it.
    pub fn of_columns(
        pag: &Pag,
        columns: usize,
        values: impl IntoIterator<Item = (VertexIx, usize, f64)>,
    ) -> Self {
        let n = pag.top.vertices.len();
        let mut this = Self {
            rows: (0..n).map(|_| None).collect(),
            ranks: columns,
        };
        for (vertex, column, value) in values {
            let around = pag.top.ancestors(vertex).chain([TopDown::ROOT]);
            for v in around {
                if let Some(slot) = this.slot(v).get_mut(column) {
                    *slot += value;
                }
            }
        }
        this
    }

    /// Subtracts seconds by rank from `v` and everything around it.
    pub fn take(&mut self, pag: &Pag, v: VertexIx, seconds: &[f64]) {
        for v in pag.top.ancestors(v).chain([TopDown::ROOT]) {
            let row = self.rows.get_mut(v as usize).and_then(|r| r.as_deref_mut());
            for (slot, less) in row.into_iter().flatten().zip(seconds) {
                *slot = (*slot - less).max(0.0);
            }
        }
    }

    fn slot(&mut self, v: VertexIx) -> &mut [f64] {
        let ranks = self.ranks;
        self.rows[v as usize].get_or_insert_with(|| vec![0.0; ranks].into_boxed_slice())
    }

    /// The row of a vertex; `None` where no rank spent time.
    pub fn row(&self, v: VertexIx) -> Option<&[f64]> {
        self.rows.get(v as usize).and_then(|r| r.as_deref())
    }

    /// `v` and the vertices of the same place on other call paths, if they have at least the part `ALIKE` of its
    /// weight: one loop called from two places is one place.
    pub fn same_place(
        &self,
        pag: &Pag,
        v: VertexIx,
        weigh: impl Fn(&[f64]) -> f64,
    ) -> Vec<VertexIx> {
        let weight = |v: VertexIx| self.row(v).map_or(0.0, &weigh);
        let least = ALIKE * weight(v);
        let mut same = vec![v];
        for other in (0..self.rows.len() as VertexIx).filter(|o| *o != v) {
            let disjoint =
                |s: &VertexIx| !pag.top.contains(*s, other) && !pag.top.contains(other, *s);
            if pag.top.is_same_place(v, other)
                && weight(other) >= least.max(f64::MIN_POSITIVE)
                && same.iter().all(disjoint)
            {
                same.push(other);
            }
        }
        same
    }

    /// The rows of some vertices together.
    pub fn sum(&self, of: &[VertexIx]) -> Vec<f64> {
        let mut out = vec![0.0; self.ranks];
        for row in of.iter().filter_map(|v| self.row(*v)) {
            out.iter_mut().zip(row).for_each(|(o, r)| *o += r);
        }
        out
    }

    /// Descends from `start` to the vertex with most of the weight: into the heaviest child, as long as it has enough
    /// of the weight of `start`. Computation without structure of its own is not entered.
    pub fn descend(&self, pag: &Pag, start: VertexIx, weigh: impl Fn(&[f64]) -> f64) -> VertexIx {
        let mut here = start;
        let whole = self.row(start).map_or(0.0, &weigh);
        loop {
            let heaviest = pag.children[here as usize]
                .iter()
                .filter(|c| !matches!(pag.top.get(**c).kind, VertexKind::Comp))
                .filter_map(|&c| self.row(c).map(|row| (c, weigh(row))))
                .filter(|(c, w)| {
                    let around = loop_around(pag, *c).and_then(|l| self.row(l));
                    let part_of = around.filter(|_| is_body(pag, *c)).map(&weigh);
                    part_of.is_none_or(|all| is_most_of_body(*w, all))
                })
                .reduce(|best, next| if next.1 > best.1 { next } else { best });
            match heaviest {
                Some((child, w)) if w > 0.0 && w >= DESCEND * whole => here = child,
                _ => return settle(pag, here),
            }
        }
    }

    /// The smallest place inside the recursive function `v` with enough of its weight, on all levels of the recursion
    /// together: each level alone has little. The heaviest vertex comes first; none if `v` is not recursive, or no place
    /// has so much.
    pub fn in_recursion(
        &self,
        pag: &Pag,
        v: VertexIx,
        weigh: impl Fn(&[f64]) -> f64,
    ) -> Vec<VertexIx> {
        let weight = |v: VertexIx| self.row(v).map_or(0.0, &weigh);
        let is_copy = |other: VertexIx| other != v && pag.top.is_same_place(v, other);
        if !pag.inside(v).any(is_copy) {
            return Vec::new();
        }
        let depth = |v: VertexIx| pag.top.ancestors(v).count();
        let mut places: Vec<(f64, Vec<VertexIx>)> = Vec::new();
        let mut of_site: FxHashMap<(u32, u32, u32), usize> = FxHashMap::default();
        for u in pag.inside(v).filter(|u| *u != v && is_named(pag, *u)) {
            let around = pag.top.ancestors(u).skip(1);
            let mut around = around.take_while(|a| *a != v);
            let is_inner = around.any(|a| pag.top.is_same_place(a, u));
            let vertex = pag.top.get(u);
            if is_inner || vertex.function == u32::MAX || is_body(pag, u) || is_copy(u) {
                continue;
            }
            let site = (vertex.module, vertex.function, vertex.psg);
            let at = *of_site.entry(site).or_insert(places.len());
            if at == places.len() {
                places.push((0.0, Vec::new()));
            }
            if let Some((sum, copies)) = places.get_mut(at) {
                *sum += weight(u);
                copies.push(u);
            }
        }
        let least = DESCEND * weight(v);
        places.retain(|(sum, _)| *sum > 0.0 && *sum >= least);
        let inner = |copies: &[VertexIx]| copies.iter().map(|u| depth(*u)).max();
        let smallest = places.into_iter().min_by(|a, b| {
            let size = |sum: f64| stats::ticks(sum);
            (size(a.0).cmp(&size(b.0))).then_with(|| inner(&b.1).cmp(&inner(&a.1)))
        });
        let mut copies = smallest.map_or_else(Vec::new, |s| s.1);
        copies.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)).then(a.cmp(b)));
        copies
    }

    /// Subtracts from `v`, what is inside it and everything around it the part of the `other` seconds there that ranks
    /// do not keep.
    pub fn take_part(&mut self, pag: &Pag, v: VertexIx, other: &Self, kept: &[f64]) {
        let less = |v: VertexIx| -> Option<Vec<f64>> {
            let row = other.row(v)?.iter().zip(kept);
            Some(row.map(|(value, kept)| value * (1.0 - kept)).collect())
        };
        let Some(all) = less(v) else {
            return;
        };
        if let Some(parent) = pag.top.get(v).parent {
            self.take(pag, parent, &all);
        }
        for inside in pag.inside(v) {
            let row = self.rows.get_mut(inside as usize);
            let row = row.and_then(|r| r.as_deref_mut());
            for (slot, less) in row.into_iter().flatten().zip(less(inside).iter().flatten()) {
                *slot = (*slot - less).max(0.0);
            }
        }
    }

    /// Leaves each rank the given share of its time in `v` and inside it, and subtracts the difference from everything
    /// around it.
    pub fn scale(&mut self, pag: &Pag, v: VertexIx, shares: &[f64]) {
        let Some(old) = self.row(v).map(<[f64]>::to_vec) else {
            return;
        };
        let less = old
            .iter()
            .zip(shares)
            .map(|(old, share)| old * (1.0 - share));
        let less: Vec<f64> = less.collect();
        if let Some(parent) = pag.top.get(v).parent {
            self.take(pag, parent, &less);
        }
        let inside: Vec<VertexIx> = pag.inside(v).collect();
        for v in inside {
            let row = self.rows.get_mut(v as usize).and_then(|r| r.as_deref_mut());
            let pairs = row.into_iter().flatten().zip(shares);
            pairs.for_each(|(slot, share)| *slot *= share);
        }
    }
}

/// A branch is not a place that people would look for: returns the innermost vertex around `v`, or `v` itself, that is
/// not a branch.
fn settle(pag: &Pag, v: VertexIx) -> VertexIx {
    pag.top
        .ancestors(v)
        .find(|a| pag.top.get(*a).kind != VertexKind::Branch)
        .unwrap_or(v)
}
