//! Finds threads of one rank with uneven work: the team waits for the slowest of them, stretch by stretch.
//!
//! The time that each thread of a team computes from one barrier to the next is measured, so only the place comes from
//! samples. The loss is what the slowest thread computes beyond the mean, which evenly divided work would take.

use crate::find::candidate::{Candidate, OfThreads, Price, ThreadStep};
use crate::find::finder::{Does, Finder};
use crate::find::proposal::{Loss, Proposal};
use crate::measure::inclusive::Inclusive;
use crate::measure::scale::Scale;
use crate::measure::stretch::Stretch;
use crate::measure::teams::{Team, Teams};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{CauseClass, Clock, ThreadTimes};
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};

/// A rank (or thread) is concerned if it has this part of the largest loss (or excess).
pub const CONCERNED: f64 = 0.5;

/// All threads of a team work at a place if the others spend this part of the late ones' time there.
const BOTH: f64 = 0.1;

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
    does: Does::Proposes(|l| propose(l.pag, l.last, l.teams, l.least)),
};

/// Teams whose threads have uneven work.
fn propose(pag: &Pag, scale: &Scale, teams: &Teams, least: f64) -> Vec<Proposal> {
    let callers = callers_wait(scale);
    let of_team = |team: &Team| {
        let losses = team.losses(Stretch::imbalance);
        let whole: f64 = losses.iter().sum();
        if whole <= 0.0 || whole < least {
            return None;
        }
        let (ranks, worst) = concerned(&losses);
        let errors = team.losses(Stretch::imbalance_error);
        let (times, excess) = times(team, worst);
        let late: Vec<u32> = picked(&times, &excess, &times.threads);
        let beside: Vec<f64> = times
            .threads
            .iter()
            .zip(&times.seconds)
            .filter(|(thread, _)| !late.contains(thread))
            .map(|(_, seconds)| *seconds)
            .collect();
        let own: Vec<f64> = picked(&times, &excess, &times.seconds);
        // From one barrier to the next, each of them may have been the slowest.
        let others = match beside.is_empty() {
            true => "on average, each the slowest between some of its barriers".to_string(),
            false => format!(
                "in this team, the others {} on average",
                words::seconds(stats::mean(&beside))
            ),
        };
        let evidence = vec![
            format!(
                "{}{} computed {} {others}",
                scale.subject().on(worst),
                threads(&late),
                words::seconds(stats::mean(&own)),
            ),
            format!(
                "the slowest thread beyond the mean of its team, each time added up: {}",
                scale.subject().together(
                    worst,
                    losses.get(worst as usize).copied().unwrap_or(0.0),
                    whole
                ),
            ),
        ];
        let waiting: Vec<u32> = times
            .threads
            .iter()
            .copied()
            .filter(|t| !late.contains(t))
            .collect();
        let waits = if ranks.len() == 1 { "waits" } else { "wait" };
        let wait = ThreadStep {
            what: match waiting.is_empty() {
                true => format!("{waits} in each thread for the slowest"),
                false => format!("{waits} in {} for {}", threads(&waiting), threads(&late)),
            },
            vertex: waits_at(scale, team, &callers),
            seconds: stats::mean_of(&losses, &ranks),
            clock: Clock::Cpu,
        };
        let mut places = place(pag, scale, team);
        let vertex = if places.is_empty() {
            team.vertex
        } else {
            places.remove(0)
        };
        Some(Proposal {
            candidate: Candidate {
                class: CauseClass::ThreadImbalance,
                vertex,
                ranks,
                cost: 0.0,
                gain: 0.0,
                after: Vec::new(),
                evidence,
                twins: places,
                in_turn: false,
                price: Price::default(),
                error: errors.get(worst as usize).copied().unwrap_or(0.0),
                team: Some(OfThreads {
                    times: ThreadTimes {
                        concerned: late,
                        ..times
                    },
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
                by_rank: losses,
            }],
        })
    };
    teams.teams.iter().filter_map(of_team).collect()
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
    let callers = &scale.view().threads;
    let edges = scale.view().parallel.threads.iter();
    let own = edges.filter(|e| !e.kind.is_lock() && callers.calls_mpi(e.rank, e.thread));
    for e in own {
        *at.entry(e.at).or_default() += e.wait;
    }
    at
}

/// Where the team waits longest for its last thread: at a barrier, or at its end; or where the rank's own thread waits
/// for the team.
fn waits_at(scale: &Scale, team: &Team, callers: &FxHashMap<VertexIx, f64>) -> VertexIx {
    let mut at: FxHashMap<VertexIx, f64> = FxHashMap::default();
    if !team.joined {
        at.clone_from(callers);
    }
    for t in scale.team_rows(team.vertex) {
        *at.entry(t.to).or_default() += t.wait;
    }
    let longest = at.into_iter().reduce(|a, b| {
        let longer = b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_gt();
        if longer { b } else { a }
    });
    longest.map_or(team.vertex, |a| a.0)
}

/// The loop to divide otherwise, if all threads work at `v`: late threads have more or longer iterations of it, and what
/// these call is no cause. It is the innermost loop of the function that has the outermost loop around `v` in which the
/// team does not come together; `v` if there is none.
fn divided(pag: &Pag, scale: &Scale, team: &Team, v: VertexIx) -> VertexIx {
    let ends = scale.meets(team.vertex).into_iter();
    // Barriers that are not OpenMP's are waits of threads for each other.
    let waits = scale.view().parallel.threads.iter();
    let waits = waits.filter(|e| !e.kind.is_lock()).map(|e| e.at);
    let begins = |v: VertexIx| scale.ways(team.vertex).contains(&v);
    let ends: FxHashSet<VertexIx> = ends.chain(waits).filter(|to| !begins(*to)).collect();
    let mut path: Vec<VertexIx> = pag.top.ancestors(v).collect();
    // Loops around the call that begins the team divide no work between its threads.
    let Some(begin) = path.iter().position(|v| begins(*v)) else {
        return v;
    };
    path.truncate(begin);
    let is_divided = |v: &VertexIx| {
        pag.top.get(*v).kind.is_loop() && !ends.iter().any(|end| pag.top.contains(*v, *end))
    };
    let Some(outermost) = path.iter().rposition(is_divided) else {
        return v;
    };
    let own = path.iter().take(outermost + 1).rev();
    let own = own.take_while(|v| !pag.top.get(**v).kind.is_call());
    let innermost = own.filter(|v| is_divided(v)).last();
    innermost.copied().unwrap_or(v)
}

/// The loop in which late threads spend more time than the others of their team, first, and then the same loop on other
/// call paths.
fn place(pag: &Pag, scale: &Scale, team: &Team) -> Vec<VertexIx> {
    // Excess of each thread over the mean of its team.
    let mut excess: FxHashMap<(u32, u16), f64> = FxHashMap::default();
    for s in &team.stretches {
        let late = s.late();
        let mean = s.shares.iter().map(|t| t.busy).sum::<f64>() / s.shares.len().max(1) as f64;
        for (i, share) in s.shares.iter().enumerate() {
            let sum = excess.entry((s.rank, share.thread)).or_default();
            *sum += if late.contains(&i) {
                share.busy - mean
            } else {
                0.0
            };
        }
    }
    let is_late = |rank, thread| excess.get(&(rank, thread)).map(|e| *e > 0.0);
    let late = excess.values().filter(|e| **e > 0.0).count().max(1) as f64;
    let others = (excess.len() as f64 - late).max(1.0);
    let inside = |ways: &[VertexIx]| {
        let here = ways.iter().flat_map(|w| pag.inside(*w));
        let here = here.flat_map(|v| scale.view().threads.times_in(v));
        let entries = here.filter_map(|t| {
            let column = usize::from(!is_late(t.rank, t.thread)?);
            let of = if column == 0 { late } else { others };
            Some((t.vertex, column, t.cpu / of))
        });
        let entries: Vec<(VertexIx, usize, f64)> = entries.collect();
        (entries.iter().any(|e| e.1 == 0)).then(|| Inclusive::of_columns(pag, 2, entries))
    };
    // Call paths of threads whose maker is unknown do not begin at the team.
    let ways = scale.ways(team.vertex);
    let start = ways.iter().copied();
    let start = start.reduce(|a, b| pag.top.common_ancestor(a, b));
    let start = start.unwrap_or(TopDown::ROOT);
    let found = [(start, ways), (TopDown::ROOT, &[TopDown::ROOT])].into_iter();
    let found = found
        .filter_map(|(v, ways)| Some((v, inside(ways)?)))
        .next();
    let Some((start, times)) = found else {
        return vec![team.vertex];
    };
    let beyond = |row: &[f64]| row[0] - row[1];
    let known = times.row(start).is_some_and(|row| beyond(row) > 0.0);
    let vertex = times.descend(pag, start, |row| if known { beyond(row) } else { row[0] });
    let share = |row: &[f64]| row[1] >= BOTH * row[0];
    let vertex = if times.row(vertex).is_some_and(share) {
        divided(pag, scale, team, vertex)
    } else {
        vertex
    };
    if vertex == TopDown::ROOT {
        vec![team.vertex]
    } else {
        times.same_place(pag, vertex, |row| row[0] + row[1])
    }
}
