//! Finds threads that wait for the same lock (PerFlow, 4.3.2 D): the edges between them lead from the waiting thread to
//! where the holder took the lock, and that is the place. The pass `contention` looks for patterns of such edges of any
//! kind, and computes no price.
//!
//! The price is how much longer a team takes because of its threads' waits (`contended`). Where threads outnumber cores
//! they seldom meet: the time that they would wait in line with a core each is added (`line`).

use crate::find::candidate::{Candidate, OfThreads, Price, ThreadStep};
use crate::find::finder::{Does, Finder, Look};
use crate::find::proposal::{Loss, Proposal};
use crate::find::threads::thread_imbalance::{concerned, threads as threads_of};
use crate::measure::contended::Contended;
use crate::measure::line::{self, ByTeam};
use crate::measure::lock_groups::{Group, beyond, groups, measured};
use crate::measure::scale::Scale;
use crate::measure::stretch::Stretch;
use crate::measure::teams::{Team, Teams};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::{CauseClass, Clock, ThreadTimes};
use headwater_model::run::WaitKind;
use headwater_model::words::{self, Subject};
use rustc_hash::FxHashMap;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "lock-contention",
    about: "Locks for which threads wait.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Proposes(|l| contention(l, CauseClass::LockContention)),
};

/// Contention of one class, by place, where it costs all ranks together enough to be reported.
pub fn contention(l: &Look<'_>, class: CauseClass) -> Vec<Proposal> {
    let (pag, scale, teams, least) = (l.pag, l.last, l.teams, l.least);
    let allocator = class == CauseClass::AllocatorContention;
    let mine = teams.contended.iter().filter(|c| c.allocator == allocator);
    let mine: Vec<&Contended> = mine.filter(|c| c.seconds > 0.0).collect();
    let groups = groups(pag, &mine, allocator);
    let of_stretch = if allocator {
        Stretch::allocation
    } else {
        Stretch::locks
    };
    let lengths = measured(teams, &groups, of_stretch);
    let open = if allocator {
        ByTeam::new()
    } else {
        measured(teams, &groups, Stretch::locks_error)
    };
    let line = beyond(pag, scale, teams, &groups, &lengths);
    let of_group = |(i, group): (usize, &Group<'_>)| {
        let here = &group.waits;
        let of_team = |((_, team), by_rank): (&(usize, VertexIx), &Vec<f64>), on_top| {
            let team = teams.team(*team)?;
            Some(Loss {
                keys: team.keys.clone(),
                around: team.around,
                asleep: !team.joined,
                on_top,
                by_rank: by_rank.clone(),
            })
        };
        let own = (i, VertexIx::MIN)..=(i, VertexIx::MAX);
        let mut losses: Vec<Loss> = lengths
            .range(own.clone())
            .filter_map(|row| of_team(row, false))
            .collect();
        losses.extend(
            line.likely
                .range(own.clone())
                .filter_map(|row| of_team(row, true)),
        );
        losses.extend(of_ranks(pag, scale, here));
        let mut by_rank = vec![0.0; scale.p as usize];
        for loss in &losses {
            by_rank
                .iter_mut()
                .zip(&loss.by_rank)
                .for_each(|(sum, l)| *sum += l);
        }
        if stats::max(&by_rank) <= 0.0 || by_rank.iter().sum::<f64>() < least {
            return None;
        }
        let (ranks, worst) = concerned(&by_rank);
        let on_top = losses.iter().any(|l| l.on_top);
        let at_worst = |by_team: &ByTeam| -> f64 {
            let rows = by_team.range(own.clone());
            rows.filter_map(|(_, row)| row.get(worst as usize)).sum()
        };
        let seconds = by_rank.get(worst as usize).copied().unwrap_or(0.0);
        let error = if allocator {
            seconds * of_samples(here)
        } else {
            at_worst(&line.error).hypot(at_worst(&open))
        };
        Some(Proposal {
            candidate: Candidate {
                class,
                vertex: *group.places.first()?,
                twins: group.places.get(1..).unwrap_or(&[]).to_vec(),
                cost: 0.0,
                gain: 0.0,
                after: Vec::new(),
                evidence: evidence(here, &by_rank, worst, class, on_top, scale.subject()),
                in_turn: false,
                price: Price::default(),
                error,
                team: Some(of_threads(pag, teams, here, &ranks, worst)),
                ranks,
            },
            losses,
        })
    };
    (0..).zip(&groups).filter_map(of_group).collect()
}

/// Standard error of waits, as a part of them: from the number of waits, or a half where only otherwise unexplained
/// sleep was seen.
fn of_samples(here: &[&Contended]) -> f64 {
    let count: u64 = here.iter().map(|c| c.count).sum();
    if count > 0 {
        1.0 / (count as f64).sqrt()
    } else {
        0.5
    }
}

/// Waiting of the ranks' own threads outside all teams: their computation contains it unchanged.
fn of_ranks(pag: &Pag, scale: &Scale, here: &[&Contended]) -> Option<Loss> {
    let mut keys: Vec<u32> = Vec::new();
    let mut by_rank = vec![0.0; scale.p as usize];
    let own =
        |c: &&&Contended| c.team.is_none() && scale.view().threads.calls_mpi(c.rank, c.thread);
    for c in here.iter().filter(own) {
        keys.extend(scale.keys_inside(pag, c.at));
        if let Some(slot) = by_rank.get_mut(c.rank as usize) {
            *slot += c.seconds;
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let there = sum_rows(&scale.view().computation.blocked, &keys, scale.p);
    by_rank
        .iter_mut()
        .zip(&there)
        .for_each(|(l, t)| *l = l.min(*t));
    by_rank.iter().any(|l| *l > 0.0).then_some(Loss {
        keys,
        around: here.first()?.at,
        asleep: true,
        on_top: false,
        by_rank,
    })
}

fn evidence(
    here: &[&Contended],
    by_rank: &[f64],
    worst: u32,
    class: CauseClass,
    on_top: bool,
    subject: Subject,
) -> Vec<String> {
    let count: u64 = here.iter().map(|c| c.count).sum();
    let all: f64 = here.iter().map(|c| c.recorded).sum();
    let mut out = vec![format!(
        "teams are longer by these waits: {}",
        subject.together(
            worst,
            by_rank.get(worst as usize).copied().unwrap_or(0.0),
            by_rank.iter().sum()
        ),
    )];
    if on_top {
        out.push(
            "threads outnumbered cores and so seldom met here: with a core for each they would wait in line, by a replay of what samples say that they compute and hold it".to_string(),
        );
        let own = here.iter().filter(|c| c.rank == worst);
        let locks = line::count(own.fold(0, |all, c| all | c.locks));
        if locks > 1.0 {
            out.push(format!(
                "it is not one lock but about {locks:.0}, each with a line of its own"
            ));
        }
    }
    if count > 0 {
        let kinds: Vec<WaitKind> = here.iter().filter_map(|c| c.kind).collect();
        let what = match (class, kinds.first()) {
            (CauseClass::AllocatorContention, _) => "the allocator's lock",
            (_, Some(WaitKind::ReadLock | WaitKind::WriteLock)) => "the read-write lock",
            (_, Some(WaitKind::SpinLock)) => "the spin lock",
            (_, Some(WaitKind::Critical)) => "the OpenMP lock or critical section",
            (_, Some(WaitKind::Gil)) => "Python's global lock (GIL)",
            (_, Some(WaitKind::Futex)) => "a lock of the runtime (futex)",
            _ => "the mutex",
        };
        out.push(format!(
            "threads waited {count} times for {what}, {} each and {} in all; locks that were free are not counted",
            words::seconds(all / count as f64),
            words::seconds(all),
        ));
        if kinds.first() == Some(&WaitKind::Gil) {
            out.push(
                "one thread at a time runs Python: have the work done by an extension that gives the lock up, or by several processes".to_string(),
            );
        }
    } else {
        out.push(format!(
            "threads that allocate were asleep for {} that no other call explains",
            words::seconds(all),
        ));
    }
    out
}

/// How long and where the threads of the rank with the largest loss waited.
fn of_threads(
    pag: &Pag,
    teams: &Teams,
    here: &[&Contended],
    ranks: &[u32],
    worst: u32,
) -> OfThreads {
    let waited = |c: &&&Contended| c.rank == worst;
    let team: Option<&Team> = here.iter().filter(waited).find_map(|c| teams.team(c.team?));
    let positions = team.map(|t| t.positions(worst)).unwrap_or_default();
    let mut threads = positions.names.clone();
    let mut seconds = vec![0.0; threads.len()];
    for c in here.iter().filter(waited) {
        let at = positions.of(c.thread).or_else(|| {
            let number = u32::from(c.thread);
            threads.iter().position(|t| *t == number)
        });
        match at.and_then(|at| seconds.get_mut(at)) {
            Some(slot) => *slot += c.recorded,
            None => {
                threads.push(u32::from(c.thread));
                seconds.push(c.recorded);
            }
        }
    }
    let concerned: Vec<u32> = threads
        .iter()
        .zip(&seconds)
        .filter(|(_, s)| **s > 0.0)
        .map(|(t, _)| *t)
        .collect();
    // The longest wait by place.
    let mut at: FxHashMap<VertexIx, f64> = FxHashMap::default();
    for c in here {
        *at.entry(c.at).or_default() += c.recorded;
    }
    let longest = at.into_iter().reduce(|a, b| {
        let longer = b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_gt();
        if longer { b } else { a }
    });
    let waits = longest.map(|(vertex, seconds)| ThreadStep {
        what: format!(
            "{} in {} for one another ({})",
            if ranks.len() == 1 { "waits" } else { "wait" },
            pag.place(vertex).name,
            threads_of(&concerned)
        ),
        vertex,
        seconds: seconds / ranks.len().max(1) as f64,
        clock: Clock::Wall,
    });
    OfThreads {
        times: ThreadTimes {
            rank: worst,
            threads,
            seconds,
            concerned,
        },
        around: TopDown::ROOT,
        on_top: 0.0,
        waits: waits.into_iter().collect(),
    }
}
