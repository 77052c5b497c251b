//! The loops that a team of threads divides among itself, and which of them are uneven.
//!
//! Threads are late between two points where they come together, and a program may have several such stretches with a
//! loop each. How late is measured for all of them together, or for each; which loop made them late is known from
//! samples. If several loops are uneven, each is a cause of its own, and has a part of the loss.

use crate::measure::scale::Scale;
use crate::measure::teams::Team;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, Site, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A loop must have this part of the loss, or it is no cause of its own.
const OF_ITS_OWN: f64 = 0.2;

/// The loops with a loss of their own must have this part of all loops' loss, or the team as a whole is the cause.
const NEARLY_ALL: f64 = 0.8;

/// Loops that together lose more than this many times what the team does are late in turn: a thread that is late in one
/// makes up for it in the next, and no loop alone costs anything.
const IN_TURN: f64 = 1.5;

/// The late threads' seconds in a loop must be so many standard errors beyond the others': samples scatter.
const CLEARLY: f64 = 3.0;

/// Which loops a team divides: those without a point where it comes together.
pub struct Divided<'a> {
    pag: &'a Pag,
    ways: &'a [VertexIx],
    ends: FxHashSet<VertexIx>,
}

impl<'a> Divided<'a> {
    /// The loops of a team.
    pub fn new(pag: &'a Pag, scale: &Scale, team: &'a Team) -> Self {
        let ways = &team.starts;
        let ends = team.calls.iter().flat_map(|call| scale.meets(*call));
        // Barriers that are not OpenMP's are waits of threads for each other.
        let waits = scale.view().parallel.threads.iter();
        let waits = waits.filter(|e| !e.kind.is_lock()).map(|e| e.at);
        let ends = ends.chain(waits).filter(|to| !ways.contains(to)).collect();
        Self { pag, ways, ends }
    }

    /// From `v` out to the outermost divided loop around it; `None` if there is none. Loops around the call that begins
    /// the team divide no work between its threads.
    fn path(&self, v: VertexIx) -> Option<Vec<VertexIx>> {
        let mut path: Vec<VertexIx> = self.pag.top.ancestors(v).collect();
        let begin = path.iter().position(|v| self.ways.contains(v))?;
        path.truncate(begin);
        let outermost = path.iter().rposition(|v| self.is_divided(*v))?;
        path.truncate(outermost + 1);
        Some(path)
    }

    fn is_divided(&self, v: VertexIx) -> bool {
        let top = &self.pag.top;
        top.get(v).kind.is_loop() && !self.ends.iter().any(|end| top.contains(v, *end))
    }

    /// The outermost divided loop around `v`, which may be `v`.
    fn outermost(&self, v: VertexIx) -> Option<VertexIx> {
        self.path(v)?.last().copied()
    }

    /// The loop to divide otherwise, if all threads work at `v`: late threads have more or longer iterations of it, and
    /// what these call is no cause. It is the innermost divided loop of the function that has the outermost one around
    /// `v`; `v` if there is none.
    pub fn to_mend(&self, v: VertexIx) -> VertexIx {
        let Some(path) = self.path(v) else {
            return v;
        };
        let kind = |v: VertexIx| self.pag.top.get(v).kind;
        // An inlined function is another one, whatever the compiler made of it.
        let is_other = |v: VertexIx| kind(v).is_call() || kind(v) == VertexKind::Inlined;
        let own = path.iter().rev().take_while(|v| !is_other(**v));
        let innermost = own.filter(|v| self.is_divided(**v)).last();
        innermost.copied().unwrap_or(v)
    }
}

/// A loop in which some threads compute longer than others.
pub struct UnevenLoop {
    /// The loop on each call path.
    pub vertices: Vec<VertexIx>,
    /// Seconds by rank and position in the team, from samples.
    pub seconds: Vec<Vec<f64>>,
    /// By rank: its part of the loss.
    pub shares: Vec<f64>,
}

impl UnevenLoop {
    /// By rank: what the slowest thread computes beyond the mean of all, seconds.
    fn excess(&self) -> Vec<f64> {
        let of = |seconds: &Vec<f64>| stats::max(seconds) - stats::mean(seconds);
        self.seconds.iter().map(of).collect()
    }

    /// By rank: the standard error of the excess, seconds, if a sample stands for `period` seconds.
    pub fn errors(&self, period: f64) -> Vec<f64> {
        let of = |seconds: &Vec<f64>| (stats::max(seconds) * period.max(0.0)).sqrt();
        self.seconds.iter().map(of).collect()
    }

    /// Positions of the late threads of a rank: those with at least the part `least` of the largest excess.
    pub fn late(&self, rank: u32, least: f64) -> Vec<usize> {
        let seconds = self.seconds.get(rank as usize).map_or(&[][..], |s| s);
        let mean = stats::mean(seconds);
        let most = stats::max(seconds) - mean;
        let late = |(_, s): &(usize, &f64)| most > 0.0 && *s - mean >= least * most;
        (0..).zip(seconds).filter(late).map(|(i, _)| i).collect()
    }
}

/// All loops that a team divides, each once, with what its threads compute there.
fn loops_of(pag: &Pag, scale: &Scale, team: &Team, divided: &Divided) -> Vec<UnevenLoop> {
    let positions: Vec<_> = (0..scale.p).map(|rank| team.positions(rank)).collect();
    let empty: Vec<Vec<f64>> = positions.iter().map(|p| vec![0.0; p.names.len()]).collect();
    let mut loops: Vec<UnevenLoop> = Vec::new();
    let mut numbers: FxHashMap<Site, usize> = FxHashMap::default();
    // A rank's own thread may work around the call that begins the team.
    let inside: BTreeSet<VertexIx> = (divided.ways.iter().flat_map(|w| pag.inside(*w))).collect();
    for v in inside {
        let here = scale.view().threads.times_in(v);
        let outermost = divided.outermost(v).filter(|_| !here.is_empty());
        let Some((outermost, site)) = outermost.and_then(|v| Some((v, pag.top.site(v)?))) else {
            continue;
        };
        let number = *numbers.entry(site).or_insert(loops.len());
        if number == loops.len() {
            loops.push(UnevenLoop {
                vertices: Vec::new(),
                seconds: empty.clone(),
                shares: Vec::new(),
            });
        }
        let Some(of) = loops.get_mut(number) else {
            continue;
        };
        if !of.vertices.contains(&outermost) {
            of.vertices.push(outermost);
        }
        for t in here {
            let at = positions.get(t.rank as usize).and_then(|p| p.of(t.thread));
            let row = of.seconds.get_mut(t.rank as usize);
            if let Some(slot) = at.and_then(|at| row?.get_mut(at)) {
                *slot += t.cpu;
            }
        }
    }
    loops
}

/// The loops of a team that are uneven each for itself, the one with the largest loss first. None if there are fewer than
/// two, if the part of one in the `whole` loss is below `least` seconds, if they are late in turn, or if other loops have
/// much of the loss.
pub fn uneven_loops(
    pag: &Pag,
    scale: &Scale,
    team: &Team,
    divided: &Divided,
    (whole, least): (f64, f64),
) -> Vec<UnevenLoop> {
    let mut loops = loops_of(pag, scale, team, divided);
    let sum = |of: &UnevenLoop| of.excess().iter().sum::<f64>();
    let error = |of: &UnevenLoop| of.errors(scale.period).into_iter().fold(0.0, f64::hypot);
    loops.retain(|of| sum(of) > CLEARLY * error(of));
    let all: f64 = loops.iter().map(sum).sum();
    let by_rank: Vec<f64> = (0..scale.p as usize)
        .map(|rank| loops.iter().map(|of| of.excess()[rank]).sum())
        .collect();
    loops.retain(|of| sum(of) >= OF_ITS_OWN * all);
    let is_small = |of: &UnevenLoop| sum(of) / all * whole < least;
    let kept: f64 = loops.iter().map(sum).sum();
    if loops.len() < 2
        || kept < NEARLY_ALL * all
        || all > IN_TURN * whole
        || loops.iter().any(is_small)
    {
        return Vec::new();
    }
    loops.sort_by(|a, b| sum(b).total_cmp(&sum(a)).then(a.vertices.cmp(&b.vertices)));
    for of in &mut loops {
        let usual = sum(of) / all;
        let pairs = of.excess().into_iter().zip(&by_rank);
        let share = |(own, all): (f64, &f64)| if *all > 0.0 { own / all } else { usual };
        of.shares = pairs.map(share).collect();
    }
    loops
}
