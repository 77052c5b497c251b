//! Sums losses that are each too small for a cause, by place in the source, and finds what they share.
//!
//! The loss by uneven work and by growth divides over places exactly. Uneven work of a place is, in each phase, what
//! the slowest rank computes there beyond the mean; growth is what the mean rank computes there beyond the ideal.

use crate::find::candidate::Candidate;
use crate::find::work::NEW;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::scaling;
use crate::price::account::grows;
use crate::price::within::{ALL, Loss, Within, within};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::RankSet;
use headwater_model::diagnosis::{SmallLoss, SmallLosses, SmallStep};
use headwater_model::psg::VertexKind;
use headwater_model::words::frame_at;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A place must lose this share of the run time to count among small losses.
pub const PLACE: f64 = 0.0002;

/// The counted places have together this share of small losses: the others are noise.
const MOST: f64 = 0.95;

/// At most this many places are listed.
const LISTED: usize = 5;

/// At most this many characters of a sentence name ranks.
const ROOM: usize = 40;

/// What a vertex, without what is inside it, contributes to the loss, seconds.
#[derive(Clone, Copy, Default)]
struct Contribution {
    /// Can be negative, as the next one.
    growth: f64,
    uneven: f64,
    /// Time of the mean rank at the smallest and at the largest scale.
    before: f64,
    now: f64,
}

/// Seconds that each vertex, without what is inside it, contributes to the loss.
pub struct Contributions {
    /// Ranks of the largest scale.
    pub ranks: u32,
    by_vertex: BTreeMap<VertexIx, Contribution>,
    tree: Vec<Option<VertexIx>>,
}

/// The rank with the most; of several, the first.
fn slowest(row: &[f64]) -> u32 {
    let longest = (0..).zip(row).reduce(|a, b| if b.1 > a.1 { b } else { a });
    longest.map_or(0, |(rank, _)| rank)
}

impl Contributions {
    /// The contributions at the largest scale.
    pub fn new(scales: &Scales, last: &Scale) -> Self {
        let mut by_vertex: BTreeMap<VertexIx, Contribution> = BTreeMap::new();
        let late: FxHashMap<u32, u32> = last
            .phase_busy
            .iter()
            .map(|(phase, row)| (*phase, slowest(row)))
            .collect();
        let compared = scales.compared();
        let base = compared.first().filter(|_| compared.len() > 1);
        let p = f64::from(last.p.max(1));
        let data = &last.view().computation;
        for (key, of) in (0..).zip(&data.keys) {
            let Some(row) = data.busy.row(key) else {
                continue;
            };
            let mean = row.sum() / p;
            let slow = late.get(&last.phases.after(of.after));
            let entry = by_vertex.entry(of.vertex).or_default();
            entry.now += mean;
            if base.is_some() {
                entry.growth += mean;
            }
            entry.uneven += slow.map_or(0.0, |rank| row.at(*rank) - mean);
        }
        if let Some(first) = base {
            let data = &first.view().computation;
            let p = f64::from(first.p.max(1));
            for (key, of) in (0..).zip(&data.keys) {
                let mean = data.busy.row(key).map_or(0.0, |row| row.sum() / p);
                let should = scaling::ideal(scales.scaling, mean, first.size, last.size);
                let should = scales.pace.factor * should;
                let entry = by_vertex.entry(of.vertex).or_default();
                entry.growth -= should;
                entry.before += mean;
            }
        }
        let top = &scales.pag().top;
        Self {
            ranks: last.p,
            by_vertex,
            tree: top.vertices.iter().map(|v| v.parent).collect(),
        }
    }

    /// Growth and unevenness in the places of a cause, 0 if negative.
    pub fn inside(&self, c: &Candidate) -> (f64, f64) {
        let places = places(c);
        let mut sum = (0.0, 0.0);
        for (v, of) in &self.by_vertex {
            if self.is_inside(*v, &places) {
                sum = (sum.0 + of.growth, sum.1 + of.uneven);
            }
        }
        (sum.0.max(0.0), sum.1.max(0.0))
    }

    fn is_inside(&self, v: VertexIx, places: &BTreeSet<VertexIx>) -> bool {
        let up = |v: &VertexIx| self.tree.get(*v as usize).copied().flatten();
        std::iter::successors(Some(v), up).any(|a| places.contains(&a))
    }

    /// Places that are in no cause and lose more than `floor` seconds; and the sums of unevenness and growth of all
    /// places that are in no cause.
    pub fn small(
        &self,
        scales: &Scales,
        last: &Scale,
        found: &[Candidate],
        floor: f64,
    ) -> (Option<SmallLosses>, f64, f64) {
        let pag = scales.pag();
        let taken: BTreeSet<VertexIx> = found.iter().flat_map(places).collect();
        // By place in the source, over all call paths; one vertex represents each.
        let mut by_place: BTreeMap<(u32, u32, u32, VertexIx), Small> = BTreeMap::new();
        for (v, of) in &self.by_vertex {
            if self.is_inside(*v, &taken) {
                continue;
            }
            let at = structured(pag, *v);
            let site = pag.top.get(at);
            let one = if site.function == u32::MAX { at } else { 0 };
            let key = (site.module, site.function, site.psg, one);
            let small = by_place.entry(key).or_insert_with(|| Small::new(at));
            small.growth += of.growth;
            small.uneven += of.uneven;
            small.before += of.before;
            small.now += of.now;
            let own = of.growth.max(0.0) + of.uneven.max(0.0);
            small.vertices.push((*v, own));
        }
        let mut all: Vec<Small> = by_place.into_values().collect();
        let positive = |get: fn(&Small) -> f64| all.iter().map(get).sum::<f64>().max(0.0);
        let (uneven, growth) = (positive(|s| s.uneven), positive(|s| s.growth));
        // What replaces another place has not lost all of its time.
        for new in all.iter_mut().filter(|s| s.before < NEW * s.now) {
            new.growth = new.growth.min(growth);
        }
        all.retain(|s| s.loss() > floor);
        all.sort_by(|a, b| b.loss().total_cmp(&a.loss()).then(a.at.cmp(&b.at)));
        let sum: f64 = all.iter().map(Small::loss).sum();
        let mut so_far = 0.0;
        all.retain(|s| {
            let counts = so_far < MOST * sum;
            so_far += s.loss();
            counts
        });
        if all.is_empty() {
            return (None, uneven, growth);
        }
        let largest = all.iter().take(LISTED).map(|s| SmallLoss {
            place: pag.place(s.at),
            seconds: s.loss(),
        });
        let losses = SmallLosses {
            places: all.len() as u32,
            largest: largest.collect(),
            shared: shared(scales, last, &all, &taken),
            steps: steps(pag, &all),
        };
        (Some(losses), uneven, growth)
    }
}

/// Vertices of a cause.
fn places(c: &Candidate) -> BTreeSet<VertexIx> {
    c.vertices()
        .chain(c.team.as_ref().map(|t| t.around))
        .collect()
}

/// The innermost loop or function around `v`.
fn structured(pag: &Pag, v: VertexIx) -> VertexIx {
    let holds = |kind: VertexKind| {
        kind.is_loop() || matches!(kind, VertexKind::Function | VertexKind::Inlined)
    };
    let mut around = pag.top.ancestors(v);
    around.find(|a| holds(pag.top.get(*a).kind)).unwrap_or(v)
}

/// A place in the source.
struct Small {
    at: VertexIx,
    growth: f64,
    uneven: f64,
    before: f64,
    now: f64,
    /// Its call paths, and what each loses by itself, seconds.
    vertices: Vec<(VertexIx, f64)>,
}

impl Small {
    fn new(at: VertexIx) -> Self {
        Self {
            at,
            growth: 0.0,
            uneven: 0.0,
            before: 0.0,
            now: 0.0,
            vertices: Vec::new(),
        }
    }

    fn loss(&self) -> f64 {
        self.growth.max(0.0) + self.uneven.max(0.0)
    }

    /// The loss, divided over the call paths by what each loses by itself.
    fn by_path(&self) -> impl Iterator<Item = (VertexIx, f64)> {
        let sum: f64 = self.vertices.iter().map(|(_, own)| own).sum();
        let equal = self.loss() / self.vertices.len().max(1) as f64;
        let seconds = move |own: f64| match sum > 0.0 {
            true => self.loss() * own / sum,
            false => equal,
        };
        self.vertices
            .iter()
            .map(move |(v, own)| (*v, seconds(*own)))
    }
}

/// What small losses share: their kind, their late ranks, their source file or function, their caller.
fn shared(scales: &Scales, last: &Scale, all: &[Small], taken: &BTreeSet<VertexIx>) -> Vec<String> {
    let pag = scales.pag();
    let sum: f64 = all.iter().map(Small::loss).sum();
    let part = |get: fn(&Small) -> f64| all.iter().map(|s| get(s).max(0.0)).sum::<f64>() / sum;
    let mut out = Vec::new();
    if part(|s| s.growth) >= ALL {
        out.push(grows(scales.scaling, last.unit()));
    } else if part(|s| s.uneven) >= ALL {
        out.push("ranks differ in them".to_string());
        out.extend(late_ranks(pag, last, taken));
    }
    if all.len() < 2 {
        return out;
    }
    let most = |name: &dyn Fn(VertexIx) -> Option<String>| {
        let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
        for s in all {
            if let Some(name) = name(s.at) {
                *by_name.entry(name).or_default() += s.loss();
            }
        }
        let most = by_name.into_iter().find(|n| n.1 >= ALL * sum);
        most.map(|n| n.0)
    };
    let function = |v| Some(pag.place(v).function).filter(|f| !f.is_empty());
    let in_function = most(&function);
    if let Some(name) = &in_function {
        out.push(format!("they are in {name}"));
    } else if let Some(file) = most(&|v| pag.place(v).file) {
        let base = file.rsplit('/').next().unwrap_or(&file);
        out.push(format!("they are in {base}"));
    }
    out.extend(caller(pag, all, in_function.as_deref()));
    out
}

/// The steps of the program that hold a good part of the losses each.
fn steps(pag: &Pag, all: &[Small]) -> Vec<SmallStep> {
    let mut first: BTreeMap<(u32, u32), VertexIx> = BTreeMap::new();
    let mut losses = Vec::new();
    for (place, s) in all.iter().enumerate() {
        for (v, seconds) in s.by_path() {
            let functions = pag.top.ancestors(v).filter_map(|a| {
                let site = pag.top.get(a);
                let is_one = site.kind == VertexKind::Function && site.function != u32::MAX;
                is_one.then(|| {
                    let function = (site.module, site.function);
                    first.entry(function).or_insert(a);
                    function
                })
            });
            losses.push(Loss {
                place,
                seconds,
                around: functions.collect(),
            });
        }
    }
    let place = |function: &(u32, u32)| first.get(function).map(|v| pag.place(*v));
    let step = |of: Within<(u32, u32)>| {
        let names = of.without.iter().filter_map(place);
        Some(SmallStep {
            place: place(&of.function)?,
            share: of.share,
            without: names.map(|place| place.name).collect(),
        })
    };
    within(&losses).into_iter().filter_map(step).collect()
}

/// The innermost caller that contains most of the losses, if it is more than the program itself.
fn caller(pag: &Pag, all: &[Small], known: Option<&str>) -> Option<String> {
    let mut inside: FxHashMap<VertexIx, f64> = FxHashMap::default();
    let mut sum = 0.0;
    for s in all {
        for (v, seconds) in s.by_path() {
            sum += seconds;
            pag.top
                .ancestors(v)
                .for_each(|a| *inside.entry(a).or_default() += seconds);
        }
    }
    let mut at = TopDown::ROOT;
    let heavy = |c: &&VertexIx| inside.get(c).is_some_and(|i| *i >= ALL * sum);
    while let Some(next) = pag.children.get(at as usize)?.iter().find(heavy) {
        at = *next;
    }
    let at = structured(pag, at);
    let outermost = pag.top.get(at).parent.is_none_or(|p| p == TopDown::ROOT);
    let place = pag.place(at);
    let same_function = known == Some(place.function.as_str());
    let is_one = all.iter().any(|s| s.at == at);
    (!outermost && !same_function && !is_one)
        .then(|| format!("they are called from {}", frame_at(&place)))
}

/// The ranks that are late in most of the small losses, if they are few and the same.
fn late_ranks(pag: &Pag, last: &Scale, taken: &BTreeSet<VertexIx>) -> Option<String> {
    let mut phases: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let data = &last.view().computation;
    for (key, of) in (0..).zip(&data.keys) {
        if pag.top.ancestors(of.vertex).any(|a| taken.contains(&a)) {
            continue;
        }
        let row = phases
            .entry(last.phases.after(of.after))
            .or_insert_with(|| vec![0.0; last.p as usize]);
        if let Some(values) = data.busy.row(key) {
            values.add_to(row);
        }
    }
    let mut more = vec![0.0; last.p as usize];
    for row in phases.values() {
        let mean = stats::mean(row);
        let excess = row.iter().map(|r| (r - mean).max(0.0));
        more.iter_mut().zip(excess).for_each(|(m, e)| *m += e);
    }
    let most = stats::max(&more);
    let late: RankSet = (0..last.p)
        .filter(|r| more.get(*r as usize).is_some_and(|m| *m >= 0.5 * most))
        .collect();
    let of_late: f64 = late
        .as_slice()
        .iter()
        .filter_map(|r| more.get(*r as usize))
        .sum();
    let few = 2 * late.len() as u32 <= last.p && !late.is_empty();
    (few && of_late >= ALL * more.iter().sum::<f64>()).then(|| {
        let ranks = headwater_model::words::ranks(&late, last.p, ROOM);
        format!("the late ranks are the same: {ranks}")
    })
}
