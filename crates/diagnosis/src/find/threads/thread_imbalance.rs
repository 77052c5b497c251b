//! Finds threads of one rank with uneven work: the team waits for the slowest of them, stretch by stretch.
//!
//! The time that each thread of a team computes from one barrier to the next is measured, so only the place comes from
//! samples. The loss is what the slowest thread computes beyond the mean, which evenly divided work would take.

use crate::find::candidate::{Candidate, OfThreads, Price, ThreadStep};
use crate::find::finder::{Does, Finder, Look};
use crate::find::proposal::{Loss, Proposal};
use crate::find::threads::divided::{Divided, UnevenLoop, uneven_loops};
use crate::measure::inclusive::Inclusive;
use crate::measure::pace::SLOWED;
use crate::measure::same_site;
use crate::measure::scale::Scale;
use crate::measure::stretch::Stretch;
use crate::measure::teams::Team;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, Site, TopDown, VertexIx};
use headwater_model::diagnosis::{CauseClass, Clock, ThreadTimes};
use headwater_model::words;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A rank (or thread) is concerned if it has this part of the largest loss (or excess).
pub const CONCERNED: f64 = 0.5;

/// Part of the computation that the smallest scale does not have, from which on a reader must know of it.
const GROWN: f64 = 0.05;

/// Threads that were made for a team do this part of their work in it, or their call paths do not begin there.
const MOST: f64 = 0.5;

/// All threads of a team work at a place if the others may spend this part of the late ones' time there.
const BOTH: f64 = 0.1;

/// They may spend more time there than samples show, by so many standard errors: samples scatter.
const SCATTER: f64 = 2.0;

/// Ranks with the part [`CONCERNED`] or more of the largest loss, ascending, and the rank that has the largest.
pub fn concerned(losses: &[f64]) -> (Vec<u32>, u32) {
    let most = stats::max(losses);
    let ranks = (0..).zip(losses).filter(|l| *l.1 >= CONCERNED * most);
    let worst = (0..).zip(losses).find(|l| *l.1 >= most).map_or(0, |l| l.0);
    (ranks.map(|l| l.0).collect(), worst)
}

/// The finder.
pub const FINDER: Finder = Finder {
    name: "thread-imbalance",
    about: "Teams of threads that wait for the slowest of them.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Proposes(propose),
};

/// Teams whose threads have uneven work. If several of a team's loops are uneven, each is a cause of its own.
fn propose(look: &Look<'_>) -> Vec<Proposal> {
    let (pag, scale, teams, least) = (look.pag, look.last, look.teams, look.least);
    let callers = callers_wait(scale);
    let of_team = |team: &Team| {
        let pool = teams.pool(team);
        let team = pool.unwrap_or(team);
        let losses = team.losses(Stretch::imbalance);
        let whole: f64 = losses.iter().sum();
        if whole <= 0.0 || whole < least {
            return Vec::new();
        }
        let grown = slower(look, team);
        let errors = team.losses(|s| s.imbalance_error(grown));
        let (ranks, worst) = concerned(&losses);
        let divided = Divided::new(pag, scale, team);
        // The call paths of a pool do not say which loops are whose.
        let loops = match pool {
            Some(_) => Vec::new(),
            None => uneven_loops(pag, scale, team, &divided, (whole, least)),
        };
        let uneven = match loops.is_empty() {
            true => vec![all_of_it(
                pag,
                scale,
                team,
                &divided,
                (losses, ranks, worst),
                &errors,
            )],
            false => {
                let part =
                    |of: &UnevenLoop| one_loop(pag, scale, team, &divided, of, (&losses, &errors));
                loops.iter().map(part).collect()
            }
        };
        let proposal = |of: Uneven| of.proposal(pag, scale, team, &callers, grown);
        uneven.into_iter().map(proposal).collect()
    };
    let all = same_site::by_site(pag, teams);
    all.iter().flat_map(|team| of_team(team)).collect()
}

/// Part of what a team computes that it does beyond the ideal of the smallest scale, as far as slower cores may be the
/// reason. Where the smallest scale has no such team, it is that of the whole program.
fn slower(look: &Look<'_>, team: &Team) -> f64 {
    let grown = grown(look, team);
    let is_possible = 1.0 / (1.0 - grown) <= SLOWED;
    if is_possible { grown } else { 0.0 }
}

fn grown(look: &Look<'_>, team: &Team) -> f64 {
    let scales = look.scales;
    let ([first, .., last], Some(teams)) = (scales.compared(), scales.teams.first()) else {
        return 0.0;
    };
    let computed = |team: &Team| -> f64 {
        let shares = team.stretches.iter().flat_map(|s| &s.shares);
        shares.map(|t| t.busy).sum()
    };
    let before = team.calls.iter().filter_map(|call| teams.team(*call));
    let (before, now): (f64, f64) = (before.map(computed).sum(), computed(team));
    if before <= 0.0 || now <= 0.0 {
        return scales.grown();
    }
    let each = |all: f64, scale: &Scale| all / f64::from(scale.size.max(1));
    scales.beyond(each(before, first), each(now, last))
}

/// Uneven work of a team: all of it, or that of one of its loops.
struct Uneven {
    /// The place, first, and then the same place on other call paths.
    places: Vec<VertexIx>,
    /// By rank.
    losses: Vec<f64>,
    ranks: Vec<u32>,
    worst: u32,
    /// Computation of the worst rank's threads; the late ones are concerned.
    times: ThreadTimes,
    /// The loop in which that is, if it is not all that the team computes, and what the team's loops lose in all.
    of_loop: Option<(VertexIx, f64)>,
    error: f64,
}

/// All uneven work of a team.
fn all_of_it(
    pag: &Pag,
    scale: &Scale,
    team: &Team,
    divided: &Divided,
    (losses, ranks, worst): (Vec<f64>, Vec<u32>, u32),
    errors: &[f64],
) -> Uneven {
    let (times, excess) = times(team, worst);
    let late = late_in_team(team);
    let places = place(pag, scale, divided, &team.starts, (&late, !team.joined));
    Uneven {
        places: places.unwrap_or_else(|| vec![team.vertex]),
        losses,
        ranks,
        worst,
        times: ThreadTimes {
            concerned: picked(&times, &excess, &times.threads),
            ..times
        },
        of_loop: None,
        error: errors.get(worst as usize).copied().unwrap_or(0.0),
    }
}

/// The uneven work of one loop, which is its part of the team's.
fn one_loop(
    pag: &Pag,
    scale: &Scale,
    team: &Team,
    divided: &Divided,
    of: &UnevenLoop,
    (losses, errors): (&[f64], &[f64]),
) -> Uneven {
    let whole = losses.iter().sum();
    let part = |losses: &[f64]| losses.iter().zip(&of.shares).map(|(l, s)| l * s).collect();
    let losses: Vec<f64> = part(losses);
    let errors: Vec<f64> = part(errors);
    let (ranks, worst) = concerned(&losses);
    let of_worst = |of: &[f64]| of.get(worst as usize).copied().unwrap_or(0.0);
    let names = team.positions(worst).names;
    let late = of.late(worst, CONCERNED);
    let is_late = late_in_loop(team, of);
    let places = place(pag, scale, divided, &of.vertices, (&is_late, false));
    let seconds = of.seconds.get(worst as usize).cloned();
    Uneven {
        places: places.unwrap_or_else(|| of.vertices.clone()),
        error: of_worst(&errors).hypot(of_worst(&of.errors(scale.period))),
        losses,
        ranks,
        worst,
        times: ThreadTimes {
            rank: worst,
            concerned: late.iter().filter_map(|i| names.get(*i)).copied().collect(),
            threads: names,
            seconds: seconds.unwrap_or_default(),
        },
        of_loop: of.vertices.first().map(|v| (*v, whole)),
    }
}

impl Uneven {
    fn proposal(
        self,
        pag: &Pag,
        scale: &Scale,
        team: &Team,
        callers: &FxHashMap<VertexIx, f64>,
        grown: f64,
    ) -> Proposal {
        let mut places = self.places;
        let vertex = match places.is_empty() {
            true => team.vertex,
            false => places.remove(0),
        };
        let late = &self.times.concerned;
        let (own, beside): (Vec<_>, Vec<_>) = (self.times.threads.iter())
            .zip(&self.times.seconds)
            .partition(|(thread, _)| late.contains(thread));
        let mean = |of: &[(&u32, &f64)]| {
            let seconds: Vec<f64> = of.iter().map(|(_, seconds)| **seconds).collect();
            words::seconds(stats::mean(&seconds))
        };
        // From one barrier to the next, each of them may have been the slowest.
        let others = match beside.is_empty() {
            true => "on average, each the slowest between some of its barriers".to_string(),
            false => format!(
                "in this {}, the others {} on average",
                self.of_loop.map_or("team", |_| "loop"),
                mean(&beside)
            ),
        };
        let mut evidence = vec![
            format!(
                "{}{} computed {} {others}",
                scale.subject().on(self.worst),
                threads(late),
                mean(&own),
            ),
            format!(
                "the slowest thread beyond the mean of its team, each time added up: {}",
                scale.subject().together(
                    self.worst,
                    self.losses.get(self.worst as usize).copied().unwrap_or(0.0),
                    self.losses.iter().sum(),
                ),
            ),
        ];
        if let Some((_, whole)) = self.of_loop {
            evidence.push(format!(
                "several loops of this team are uneven and lose {} together; this loop's part is estimated from samples",
                words::seconds(whole),
            ));
        }
        if grown >= GROWN {
            evidence.push(format!(
                "its threads together computed {:.0} % more than at the smallest scale; as far as {} had a slower core, that is no uneven work",
                100.0 * grown / (1.0 - grown).max(f64::MIN_POSITIVE),
                threads(late),
            ));
        }
        let waiting: Vec<u32> = beside.iter().map(|(thread, _)| **thread).collect();
        let waits = if self.ranks.len() == 1 {
            "waits"
        } else {
            "wait"
        };
        let wait = ThreadStep {
            what: match waiting.is_empty() {
                true => format!("{waits} in each thread for the slowest"),
                false => format!("{waits} in {} for {}", threads(&waiting), threads(late)),
            },
            vertex: waits_at(pag, scale, team, callers, self.of_loop.map(|of| of.0)),
            seconds: stats::mean_of(&self.losses, &self.ranks),
            clock: Clock::Cpu,
        };
        Proposal {
            candidate: Candidate {
                class: CauseClass::ThreadImbalance,
                vertex,
                ranks: self.ranks,
                cost: 0.0,
                gain: 0.0,
                after: Vec::new(),
                evidence,
                twins: places,
                in_turn: false,
                price: Price::default(),
                error: self.error,
                team: Some(OfThreads {
                    times: self.times,
                    around: team.around,
                    on_top: 0.0,
                    waits: vec![wait],
                }),
            },
            losses: vec![Loss {
                keys: team.keys.clone(),
                around: team.around,
                asleep: !team.joined,
                on_top: false,
                by_rank: self.losses,
            }],
        }
    }
}

/// `thread 1`, `threads 0-2`.
pub fn threads(list: &[u32]) -> String {
    let set: headwater_model::RankSet = list.iter().copied().collect();
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("thread{plural} {set}")
}

/// The elements of `of`, one for each thread, of threads whose excess is a large part of the largest.
fn picked<T: Copy>(times: &ThreadTimes, excess: &[f64], of: &[T]) -> Vec<T> {
    let most = stats::max(excess);
    let late = |i: &usize| excess.get(*i).is_some_and(|e| *e >= CONCERNED * most);
    let all = (0..times.threads.len()).filter(late);
    all.filter_map(|i| of.get(i)).copied().collect()
}

/// Computation of a team's threads on one rank, and their excess over the mean in stretches where they were late.
fn times(team: &Team, rank: u32) -> (ThreadTimes, Vec<f64>) {
    let names = team.positions(rank).names;
    let (mut seconds, mut excess) = (vec![0.0; names.len()], vec![0.0; names.len()]);
    for s in team.of_rank(rank) {
        let late = s.late();
        let mean = s.shares.iter().map(|t| t.busy).sum::<f64>() / s.shares.len().max(1) as f64;
        for (i, share) in s.shares.iter().enumerate() {
            seconds[i] += share.busy;
            if late.contains(&i) {
                excess[i] += share.busy - mean;
            }
        }
    }
    let times = ThreadTimes {
        rank,
        threads: names,
        seconds,
        concerned: Vec::new(),
    };
    (times, excess)
}

/// Seconds by place that the ranks' own threads wait for other threads, except for locks.
fn callers_wait(scale: &Scale) -> FxHashMap<VertexIx, f64> {
    let mut at: FxHashMap<VertexIx, f64> = FxHashMap::default();
    for e in scale.own_waits() {
        *at.entry(e.at).or_default() += e.wait;
    }
    at
}

/// Where the team waits for its last thread: at a barrier, or at its end; or where the rank's own thread waits for the
/// team. It is the first such place behind `of_loop`, or the one with the longest waits.
fn waits_at(
    pag: &Pag,
    scale: &Scale,
    team: &Team,
    callers: &FxHashMap<VertexIx, f64>,
    of_loop: Option<VertexIx>,
) -> VertexIx {
    let mut at: FxHashMap<VertexIx, f64> = FxHashMap::default();
    if !team.joined {
        at.clone_from(callers);
    }
    for t in team.calls.iter().flat_map(|call| scale.team_rows(*call)) {
        *at.entry(t.to).or_default() += t.wait;
    }
    // A team's end is the call that begins it.
    let behind = of_loop.and_then(|of| {
        let order = pag.top.program_order();
        let position = |v: VertexIx| order.get(v as usize).copied().unwrap_or(0);
        let later = at.keys().copied().filter(|v| position(*v) > position(of));
        later.min_by_key(|v| position(*v))
    });
    let end = of_loop.and_then(|_| at.contains_key(&team.vertex).then_some(team.vertex));
    let longest = || {
        let longer =
            |a: &(&VertexIx, &f64), b: &(&VertexIx, &f64)| a.1.total_cmp(b.1).then(b.0.cmp(a.0));
        at.iter().max_by(longer).map(|longest| *longest.0)
    };
    behind.or(end).or_else(longest).unwrap_or(team.vertex)
}

/// Whether each thread of a team is late, by rank and number.
type IsLate = FxHashMap<(u32, u16), bool>;

/// Threads that compute beyond the mean of their team in some of its stretches.
fn late_in_team(team: &Team) -> IsLate {
    let mut is_late = IsLate::default();
    for s in &team.stretches {
        let late = s.late();
        let mean = s.mean();
        for (i, share) in s.shares.iter().enumerate() {
            let is_late = is_late.entry((s.rank, share.thread)).or_default();
            *is_late |= late.contains(&i) && share.busy > mean;
        }
    }
    is_late
}

/// Threads that compute beyond the mean of their team in one loop.
fn late_in_loop(team: &Team, of: &UnevenLoop) -> IsLate {
    let mut is_late = IsLate::default();
    for s in &team.stretches {
        let late = of.late(s.rank, 0.0);
        let threads = s.shares.iter().enumerate();
        is_late.extend(threads.map(|(i, t)| ((s.rank, t.thread), late.contains(&i))));
    }
    is_late
}

/// The loop in which late threads spend more time than the others of their team, first, and then the same loop on other
/// call paths. It is inside one of `starts`, or anywhere; `None` if no thread that is late was seen. If it `lives_there`, a thread does
/// most of its work inside `starts`.
fn place(
    pag: &Pag,
    scale: &Scale,
    divided: &Divided,
    starts: &[VertexIx],
    (is_late, lives_there): (&IsLate, bool),
) -> Option<Vec<VertexIx>> {
    let late = is_late.values().filter(|l| **l).count().max(1) as f64;
    let others = (is_late.len() as f64 - late).max(1.0);
    let inside = |ways: &[VertexIx]| {
        let here: BTreeSet<VertexIx> = ways.iter().flat_map(|w| pag.inside(*w)).collect();
        let here = here
            .into_iter()
            .flat_map(|v| scale.view().threads.times_in(v));
        let entries = here.filter_map(|t| {
            let column = usize::from(!is_late.get(&(t.rank, t.thread))?);
            let of = if column == 0 { late } else { others };
            Some((t.vertex, column, t.cpu / of))
        });
        let entries: Vec<(VertexIx, usize, f64)> = entries.collect();
        (entries.iter().any(|e| e.1 == 0)).then(|| Inclusive::of_columns(pag, 2, entries))
    };
    let late_in = |v: VertexIx, times: &Inclusive| times.row(v).map_or(0.0, |row| row[0]);
    // Where one place of the source begins all of it, it is looked at where it takes longest.
    let sites: BTreeSet<Option<Site>> = starts.iter().map(|v| pag.top.site(*v)).collect();
    let is_one = sites.len() == 1 && !sites.contains(&None);
    let start = |ways: &[VertexIx], times: &Inclusive| {
        let ways = ways.iter().copied();
        let common = |a, b| pag.top.common_ancestor(a, b);
        let longest = |a, b| {
            if late_in(b, times) > late_in(a, times) {
                b
            } else {
                a
            }
        };
        let start = if is_one {
            ways.reduce(longest)
        } else {
            ways.reduce(common)
        };
        start.unwrap_or(TopDown::ROOT)
    };
    // Call paths of threads whose maker is unknown do not begin at the team, nor do those of all pools.
    let found = [starts, &[TopDown::ROOT]].into_iter();
    let found: Vec<(VertexIx, f64, Inclusive)> = found
        .filter_map(|ways| {
            let times = inside(ways)?;
            let late = ways.iter().map(|way| late_in(*way, &times)).sum();
            Some((start(ways, &times), late, times))
        })
        .collect();
    let all = found.last().map_or(0.0, |of| of.1);
    let is_there = |of: &&(VertexIx, f64, Inclusive)| !lives_there || of.1 >= MOST * all;
    let (start, _, times) = found.iter().find(is_there)?;
    let start = *start;
    let beyond = |row: &[f64]| row[0] - row[1];
    let known = times.row(start).is_some_and(|row| beyond(row) > 0.0);
    let vertex = times.descend(pag, start, |row| if known { beyond(row) } else { row[0] });
    // A rank's own thread may come to the same loop on another call path.
    let same = |v: VertexIx| times.same_place(pag, v, |row| row[0] + row[1]);
    let at_most = |mean: f64| mean + SCATTER * (mean * scale.period.max(0.0) / others).sqrt();
    let vertex = match times.sum(&same(vertex))[..] {
        [of_late, of_others] if at_most(of_others) >= BOTH * of_late => divided.to_mend(vertex),
        _ => vertex,
    };
    (vertex != TopDown::ROOT).then(|| same(vertex))
}
