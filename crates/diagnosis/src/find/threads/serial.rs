//! Finds what one thread computes between the regions of its team, while the team idles.
//!
//! This is the serial part of Amdahl's law: with the team's threads it would take a fraction of the time. Only what all
//! ranks do alike counts, because what some do beyond that is uneven work between ranks. Computation before the first
//! and after the last MPI call does not count, because it happens once.

use crate::find::candidate::{Candidate, OfThreads, Price};
use crate::find::finder::{Does, Finder};
use crate::find::proposal::{Loss, Proposal};
use crate::measure::inclusive::{Inclusive, communicates};
use crate::measure::scale::Scale;
use crate::measure::stretch::Share;
use crate::measure::teams::{Team, Teams};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::{CauseClass, ThreadTimes};
use headwater_model::psg::VertexKind;
use headwater_model::run::{CtxId, ThreadInfo};
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// A place is reported only if this part of its serial computation is its own, and not that of places inside it: users
/// can do little about a function that only calls many small ones.
const OWN: f64 = 0.25;

/// A place inside a loop is reported instead of the loop if it has at least this part of the loop's serial computation.
const MOSTLY: f64 = 0.8;

/// A loop in which teams work is reported itself unless places in it that are large enough have this part of its serial
/// computation.
const COVERED: f64 = 0.5;

/// Least share of a rank's computation in its teams: a rank that hardly uses threads does not lack them.
const IN_TEAMS: f64 = 0.1;

/// At most this many places are reported.
const MOST: usize = 3;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "serial-region",
    about: "What one thread of a rank does while its team idles.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Proposes(|l| propose(l.pag, l.last, l.teams, l.least)),
};

/// Serial computation of ranks that have teams.
fn propose(pag: &Pag, scale: &Scale, teams: &Teams, least: f64) -> Vec<Proposal> {
    let data = &scale.view().computation;
    let sizes = teams.sizes(scale.p);
    let ranks: Vec<u32> = (0..scale.p).filter(|r| sizes[*r as usize] > 1).collect();
    let keys = data.keys_where(|k| is_serial(pag, scale, teams, k.vertex));
    let busy = scale.busy();
    let at_work = at_work(scale, teams);
    let using = |r: &u32| at_work[*r as usize] >= IN_TEAMS * busy[*r as usize];
    let ranks: Vec<u32> = ranks.into_iter().filter(using).collect();
    if ranks.is_empty() {
        return Vec::new();
    }
    let computed = |key: u32| {
        let mut row = vec![0.0; scale.p as usize];
        if let Some(all) = data.busy.row(key) {
            all.add_to(&mut row);
        }
        if let Some(asleep) = data.blocked.row(key) {
            asleep.iter().for_each(|(r, s)| row[r as usize] -= s);
        }
        row
    };
    // It is unknown when threads that other threads made run: at most the time that was left beside them can have been
    // serial.
    let beside = beside(scale, teams);
    let room: Vec<f64> = busy.iter().zip(&beside).map(|(b, t)| b - t).collect();
    let entries = keys.iter().flat_map(|key| {
        let vertex = data
            .keys
            .get(*key as usize)
            .map_or(TopDown::ROOT, |k| k.vertex);
        let row = computed(*key).into_iter().enumerate();
        row.map(move |(rank, seconds)| (vertex, rank, seconds.max(0.0)))
            .collect::<Vec<_>>()
    });
    let times = Inclusive::of_columns(pag, scale.p as usize, entries.filter(|e| e.2 > 0.0));
    let usual = |row: &[f64]| stats::mean_of(row, &ranks);
    let mut walk = Walk {
        pag,
        times: &times,
        usual,
        least,
        with_teams: (teams.teams.iter().flat_map(|t| &t.starts))
            .flat_map(|start| pag.top.ancestors(*start))
            .collect(),
        found: Vec::new(),
    };
    walk.walk(TopDown::ROOT);
    let mut places = std::mem::take(&mut walk.found);
    places.sort_by_key(|v| (Reverse(stats::ticks(walk.seconds(*v))), *v));
    let mut out = Vec::new();
    for vertex in places.into_iter().take(MOST) {
        let Some(row) = times.row(vertex).map(<[f64]>::to_vec) else {
            continue;
        };
        let of_ranks: Vec<f64> = ranks.iter().map(|r| row[*r as usize]).collect();
        let level = stats::lower_median(&of_ranks);
        let mut loss = vec![0.0; row.len()];
        for r in ranks.iter().map(|r| *r as usize) {
            let serial = row[r].min(level).min(room[r].max(0.0));
            loss[r] = serial * (1.0 - 1.0 / sizes[r] as f64);
        }
        let mut inside = scale.keys_inside(pag, vertex);
        inside.retain(|k| keys.binary_search(k).is_ok());
        let slept = sum_rows(&data.blocked, &inside, scale.p);
        if stats::max(&loss) < least || usual(&slept) > usual(&row) {
            continue;
        }
        let noise = scale.sampling_noise(pag, &inside, &ranks);
        let mut found = proposal(scale, teams, vertex, &row, loss, &ranks, inside);
        // The error is lost in the same part as the time.
        let lost = found.seconds() / row.iter().sum::<f64>();
        found.candidate.error = noise * lost.min(1.0);
        out.push(found);
    }
    out
}

/// The descent to the smallest places with enough serial computation.
struct Walk<'a, F> {
    pag: &'a Pag,
    times: &'a Inclusive,
    usual: F,
    least: f64,
    /// Vertices in which a team works.
    with_teams: FxHashSet<VertexIx>,
    found: Vec<VertexIx>,
}

impl<F: Fn(&[f64]) -> f64> Walk<'_, F> {
    /// Seconds of the usual rank.
    fn seconds(&self, v: VertexIx) -> f64 {
        self.times.row(v).map_or(0.0, &self.usual)
    }

    /// The next places inside a vertex; branches and lines without structure are a part of what encloses them.
    fn parts(&self, v: VertexIx) -> Vec<VertexIx> {
        let children = self.pag.children[v as usize].iter();
        let part = |c: &VertexIx| match self.pag.top.get(*c).kind {
            VertexKind::Comp => Vec::new(),
            VertexKind::Branch => self.parts(*c),
            _ => vec![*c],
        };
        children.flat_map(part).collect()
    }

    /// Collects the places in `v`, or `v` itself.
    fn walk(&mut self, v: VertexIx) {
        let all = self.seconds(v);
        let parts = self.parts(v);
        let inside: f64 = parts.iter().map(|p| self.seconds(*p)).sum();
        // A loop in which ranks do not communicate is a piece of work. One with a team inside, such as that of the steps of a
        // program, is several, unless most of it is in many small ones.
        let is_piece = self.pag.top.get(v).kind.is_loop() && !communicates(self.pag, v);
        let has_teams = self.with_teams.contains(&v);
        let enough = if is_piece && !has_teams {
            self.least.max(MOSTLY * all)
        } else {
            self.least
        };
        let large: Vec<VertexIx> = parts
            .into_iter()
            .filter(|p| self.seconds(*p) >= enough)
            .collect();
        let own = is_piece || all - inside >= OWN * all;
        let covered: f64 = large.iter().map(|p| self.seconds(*p)).sum();
        let is_many = is_piece && has_teams && covered < COVERED * all;
        if v != TopDown::ROOT && own && (large.is_empty() || is_many) {
            self.found.push(v);
            return;
        }
        large.into_iter().for_each(|p| self.walk(p));
    }
}

/// Whether a rank's own thread computes outside of its teams in a vertex, neither before its first call of MPI nor behind the
/// last one.
fn is_serial(pag: &Pag, scale: &Scale, teams: &Teams, v: VertexIx) -> bool {
    let mut stages = [TopDown::STARTUP, TopDown::WINDDOWN].into_iter();
    let staged = stages.any(|stage| pag.top.contains(stage, v));
    let around = scale.teams_around(pag, v).next();
    !staged && around.is_none() && !teams.is_shared(pag, v)
}

/// Seconds of each rank that its own thread computes in `v` outside of its teams.
pub fn seconds(pag: &Pag, scale: &Scale, teams: &Teams, v: VertexIx) -> Vec<f64> {
    let data = &scale.view().computation;
    let mut inside = scale.keys_inside(pag, v);
    let vertex = |key: &u32| data.keys.get(*key as usize).map(|k| k.vertex);
    inside.retain(|key| vertex(key).is_some_and(|v| is_serial(pag, scale, teams, v)));
    let mut row = sum_rows(&data.busy, &inside, scale.p);
    let asleep = sum_rows(&data.blocked, &inside, scale.p);
    (row.iter_mut().zip(asleep)).for_each(|(all, asleep)| *all = (*all - asleep).max(0.0));
    row
}

/// Seconds of each rank that its teams were at work.
fn at_work(scale: &Scale, teams: &Teams) -> Vec<f64> {
    let mut out = vec![0.0; scale.p as usize];
    for s in teams.teams.iter().flat_map(|t| &t.stretches) {
        let longest = s.shares.iter().map(|t| t.busy + t.locked + t.allocator);
        if let Some(slot) = out.get_mut(s.rank as usize) {
            *slot += longest.fold(0.0, f64::max);
        }
    }
    out
}

/// A stretch of a team beside a rank's own thread.
struct Beside {
    rank: u32,
    /// From when to when its threads can have been on a core, nanoseconds: their lives without their waiting for cores.
    life: (u64, u64),
    /// Seconds that its busiest thread computed.
    busy: f64,
}

/// The same as [`at_work`] for teams in which a rank's own thread does not work, so that it may compute at the same time,
/// or where it is a guest. Teams that exist at the same time are at work for no longer than they exist.
fn beside(scale: &Scale, teams: &Teams) -> Vec<f64> {
    let lives: FxHashMap<(u32, u16), (u64, u64)> =
        (scale.run().threads.iter().filter_map(life_on_cores)).collect();
    // A single thread that was there to the end may be one of a library, or wait for work on its core.
    let ended: FxHashSet<(u32, u16)> = (scale.run().teams.iter())
        .map(|t| (t.rank, t.thread))
        .collect();
    let is_helper = |t: &&Team| {
        let mut all = t.stretches.iter();
        teams.pool(t).is_none()
            && all.all(|s| {
                s.shares.len() == 1
                    && s.shares
                        .iter()
                        .all(|t| !ended.contains(&(s.rank, t.thread)))
            })
    };
    let outside = teams.teams.iter().filter(|t| !t.joined || !t.inside);
    let outside = outside.filter(|t| !is_helper(t));
    let stretches = outside.flat_map(|t| &t.stretches).map(|s| {
        let life = |t: &Share| lives.get(&(s.rank, t.thread)).copied();
        let join = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        // If nothing is known of a thread, it may have been there all the time.
        let life = s.shares.iter().map(|t| life(t).unwrap_or((0, u64::MAX)));
        Beside {
            rank: s.rank,
            life: life.reduce(join).unwrap_or_default(),
            busy: s.slowest(|t| t.busy),
        }
    });
    let mut stretches: Vec<Beside> = stretches.collect();
    stretches.sort_by(|a, b| {
        let by_time = (a.rank, a.life).cmp(&(b.rank, b.life));
        by_time.then(a.busy.total_cmp(&b.busy))
    });
    let mut out = vec![0.0; scale.p as usize];
    let mut rest = stretches.into_iter().peekable();
    while let Some(mut group) = rest.next() {
        let begin = group.life.0;
        let meets = |group: &Beside, s: &Beside| s.rank == group.rank && s.life.0 < group.life.1;
        while let Some(next) = rest.next_if(|s| meets(&group, s)) {
            group.life.1 = group.life.1.max(next.life.1);
            group.busy += next.busy;
        }
        let exist = group.life.1.saturating_sub(begin) as f64 * 1e-9;
        if let Some(slot) = out.get_mut(group.rank as usize) {
            *slot += group.busy.min(exist);
        }
    }
    out
}

/// A thread, and from when to when it lives, nanoseconds, without the time that it waited for a core. Of a thread that is
/// older than the recording, the begin is not known.
fn life_on_cores(t: &ThreadInfo) -> Option<((u32, u16), (u64, u64))> {
    let is_older = t.begin_ns == 0 && t.made_by != CtxId::NONE;
    let on_cores = t.wall_ns.saturating_sub(t.runq_ns);
    let end = t.begin_ns.saturating_add(on_cores);
    (!is_older).then_some(((t.rank, t.thread), (t.begin_ns, end)))
}

fn proposal(
    scale: &Scale,
    teams: &Teams,
    vertex: VertexIx,
    row: &[f64],
    loss: Vec<f64>,
    ranks: &[u32],
    keys: Vec<u32>,
) -> Proposal {
    let worst = ranks.iter().copied().reduce(|a, b| {
        if loss[b as usize] > loss[a as usize] {
            b
        } else {
            a
        }
    });
    let worst = worst.unwrap_or(0);
    let size = teams
        .sizes(scale.p)
        .get(worst as usize)
        .copied()
        .unwrap_or(1);
    let serial = row.get(worst as usize).copied().unwrap_or(0.0);
    let largest = teams
        .teams
        .iter()
        .max_by_key(|t| (t.positions(worst).names.len(), Reverse(t.vertex)));
    let mut threads = largest
        .map(|t| t.positions(worst).names)
        .unwrap_or_default();
    let callers = &scale.view().threads.callers;
    let first = callers
        .iter()
        .find(|c| c.0 == worst)
        .map_or(0, |c| u32::from(c.1));
    if !threads.contains(&first) {
        threads.insert(0, first);
    }
    let seconds = threads
        .iter()
        .map(|t| if *t == first { serial } else { 0.0 })
        .collect();
    let evidence = vec![format!(
        "{}one thread computes {} here, while the {size} threads that its teams have would take {}",
        scale.subject().on(worst),
        words::seconds(serial),
        words::seconds(serial / size as f64),
    )];
    Proposal {
        candidate: Candidate {
            class: CauseClass::SerialRegion,
            vertex,
            ranks: ranks.to_vec(),
            cost: 0.0,
            gain: 0.0,
            after: Vec::new(),
            evidence,
            twins: Vec::new(),
            in_turn: false,
            price: Price::default(),
            error: 0.0,
            team: Some(OfThreads {
                times: ThreadTimes {
                    rank: worst,
                    threads,
                    seconds,
                    concerned: vec![first],
                },
                around: vertex,
                on_top: 0.0,
                waits: Vec::new(),
            }),
        },
        losses: vec![Loss {
            keys,
            around: vertex,
            asleep: false,
            on_top: false,
            by_rank: loss,
        }],
    }
}
