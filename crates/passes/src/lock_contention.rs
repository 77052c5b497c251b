//! Threads that wait for the same lock (PerFlow, 4.3.2 D): the edges between them lead from who waits to
//! where the holder took it, and that is the place.
//!
//! The price is how much longer a team takes by its threads' waits. Where threads outnumber cores a wait
//! is also for the holder's core: of each wait at most a millisecond counts then, and of all of them as
//! much as the thread itself had a core. But threads seldom meet then: a team takes at least as long as all its
//! threads together hold the lock (`held`).

use crate::allocator;
use crate::cause::{Candidate, OfThreads, ThreadStep};
use crate::charge::{Loss, Proposal};
use crate::held;
use crate::program_place;
use crate::scale::Scale;
use crate::stats;
use crate::teams::{Contended, Stretch, Team, Teams};
use crate::thread_imbalance::{concerned, threads as threads_of};
use headwater_graph::{Pag, ThreadEdge, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::{CauseClass, Clock, ThreadTimes};
use headwater_model::run::WaitKind;
use headwater_model::words;
use rustc_hash::FxHashMap;

/// Waits for locks, those in the memory allocator included.
pub fn waits(pag: &Pag, scale: &Scale<'_>) -> Vec<Contended> {
    let crowded = scale.is_crowded();
    let edges = scale.view.parallel.threads.iter();
    let of_lock = |edge: &ThreadEdge| {
        let seconds = if crowded {
            edge.brief * on_core(scale, edge.rank, edge.thread)
        } else {
            edge.wait
        };
        let allocator = allocator::is_inside(pag, edge.at);
        let place = if allocator {
            program_place::own_loop(pag, edge.at)
        } else {
            let holder = edge.on.filter(|on| !pag.top.is_same_place(*on, edge.at));
            program_place::own(pag, holder.unwrap_or(edge.at))
        };
        Contended {
            team: team_of(pag, scale, edge),
            rank: edge.rank,
            thread: edge.thread,
            at: edge.at,
            place,
            allocator,
            kind: Some(edge.kind),
            seconds,
            recorded: edge.wait,
            count: edge.count,
        }
    };
    edges.filter(|e| e.kind.is_lock()).map(of_lock).collect()
}

/// Share of the time in which a thread was ready to run that it had a core.
pub fn on_core(scale: &Scale<'_>, rank: u32, thread: u16) -> f64 {
    let rows = scale.teams.iter();
    let own = rows.filter(|t| (t.rank, t.thread) == (rank, thread));
    let (mut cpu, mut runq) = own.fold((0.0, 0.0), |sum, t| (sum.0 + t.cpu, sum.1 + t.runq));
    if cpu <= 0.0 {
        let mut infos = scale.run.threads.iter();
        let info = infos.find(|t| (t.rank, t.thread) == (rank, thread));
        (cpu, runq) = info.map_or((0.0, 0.0), |t| (t.cpu_ns as f64, t.runq_ns as f64));
    }
    if cpu > 0.0 { cpu / (cpu + runq) } else { 1.0 }
}

/// The team in which a thread waited: the innermost one around the place, or else the one in which it waited
/// longest, as call paths of unknown origin do not begin at the team.
fn team_of(pag: &Pag, scale: &Scale<'_>, edge: &ThreadEdge) -> Option<VertexIx> {
    let rows = scale.teams.iter();
    let own = rows.filter(|t| (t.rank, t.thread) == (edge.rank, edge.thread));
    let mut locked: FxHashMap<VertexIx, f64> = FxHashMap::default();
    for t in own {
        *locked.entry(t.team).or_default() += t.locked;
    }
    let around = locked
        .keys()
        .filter(|v| {
            let ways = scale.ways(**v);
            ways.iter().any(|w| pag.top.contains(*w, edge.at))
        })
        .max();
    if around.is_some() || scale.view.threads.calls_mpi(edge.rank, edge.thread) {
        return around.copied();
    }
    let longest = locked.into_iter().reduce(|a, b| {
        let longer = b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_gt();
        if longer { b } else { a }
    });
    longest.map(|l| l.0)
}

/// Locks that threads wait for.
pub fn propose(pag: &Pag, scale: &Scale<'_>, teams: &Teams) -> Vec<Proposal> {
    contention(pag, scale, teams, CauseClass::LockContention)
}

/// Contention of one class, by place.
pub fn contention(pag: &Pag, scale: &Scale<'_>, teams: &Teams, class: CauseClass) -> Vec<Proposal> {
    let allocator = class == CauseClass::AllocatorContention;
    let mine = teams.contended.iter().filter(|c| c.allocator == allocator);
    let mine: Vec<&Contended> = mine.filter(|c| c.seconds > 0.0).collect();
    // All waiting of this class by team and rank, of which each place has its part.
    let mut all: FxHashMap<(VertexIx, u32), f64> = FxHashMap::default();
    for c in &mine {
        if let Some(team) = c.team {
            *all.entry((team, c.rank)).or_default() += c.seconds;
        }
    }
    let mut places: Vec<VertexIx> = mine.iter().map(|c| c.place).collect();
    places.sort_unstable();
    places.dedup();
    let mut groups: Vec<Vec<VertexIx>> = Vec::new();
    for v in places {
        // Memory is taken in an inner loop and given back in one around it.
        let nested = |o: VertexIx| allocator && pag.top.contains(o, v);
        let same =
            |g: &&mut Vec<VertexIx>| g.iter().any(|o| pag.top.is_same_place(*o, v) || nested(*o));
        match groups.iter_mut().find(same) {
            Some(group) => group.push(v),
            None => groups.push(vec![v]),
        }
    }
    let of_group = |mut group: Vec<VertexIx>| {
        let seconds = |v: VertexIx| -> f64 {
            let own = mine.iter().filter(|c| c.place == v);
            own.map(|c| c.seconds).sum()
        };
        group.sort_by(|a, b| seconds(*b).total_cmp(&seconds(*a)).then(a.cmp(b)));
        let here: Vec<&Contended> = mine
            .iter()
            .copied()
            .filter(|c| group.contains(&c.place))
            .collect();
        let mut losses: Vec<Loss> = Vec::new();
        for team in &teams.teams {
            let of_stretch = if allocator {
                Stretch::allocation
            } else {
                Stretch::locks
            };
            let mut by_rank = team.losses(of_stretch);
            let mut part = vec![0.0; by_rank.len()];
            for c in here.iter().filter(|c| c.team == Some(team.vertex)) {
                let whole = all.get(&(team.vertex, c.rank)).copied().unwrap_or(0.0);
                if let Some(slot) = part.get_mut(c.rank as usize).filter(|_| whole > 0.0) {
                    *slot += c.seconds / whole;
                }
            }
            by_rank.iter_mut().zip(&part).for_each(|(l, p)| *l *= p);
            if by_rank.iter().any(|l| *l > 0.0) {
                losses.push(Loss {
                    keys: team.keys.clone(),
                    around: team.around,
                    asleep: !team.joined,
                    on_top: false,
                    by_rank: by_rank.clone(),
                });
            }
            let in_line = in_line(pag, scale, team, &here);
            let on_top: Vec<f64> = in_line
                .iter()
                .zip(&by_rank)
                .map(|(line, measured)| (line - measured).max(0.0))
                .collect();
            if scale.is_crowded() && on_top.iter().any(|l| *l > 0.0) {
                losses.push(Loss {
                    keys: team.keys.clone(),
                    around: team.around,
                    asleep: !team.joined,
                    on_top: true,
                    by_rank: on_top,
                });
            }
        }
        losses.extend(of_ranks(pag, scale, &here));
        let mut by_rank = vec![0.0; scale.p as usize];
        for loss in &losses {
            by_rank
                .iter_mut()
                .zip(&loss.by_rank)
                .for_each(|(sum, l)| *sum += l);
        }
        if stats::max(&by_rank) <= 0.0 {
            return None;
        }
        let (ranks, worst) = concerned(&by_rank);
        let on_top = losses.iter().any(|l| l.on_top);
        Some(Proposal {
            candidate: Candidate {
                class,
                vertex: *group.first()?,
                twins: group.get(1..).unwrap_or(&[]).to_vec(),
                cost: 0.0,
                gain: 0.0,
                after: Vec::new(),
                evidence: evidence(&here, &by_rank, worst, class, on_top),
                in_turn: false,
                team: Some(of_threads(pag, teams, &here, &ranks, worst)),
                ranks,
            },
            losses,
        })
    };
    groups.into_iter().filter_map(of_group).collect()
}

/// Waiting of the ranks' own threads outside all teams: it is in their computation as it stands.
fn of_ranks(pag: &Pag, scale: &Scale<'_>, here: &[&Contended]) -> Option<Loss> {
    let mut keys: Vec<u32> = Vec::new();
    let mut by_rank = vec![0.0; scale.p as usize];
    let own = |c: &&&Contended| c.team.is_none() && scale.view.threads.calls_mpi(c.rank, c.thread);
    for c in here.iter().filter(own) {
        keys.extend(scale.keys_inside(pag, c.at));
        if let Some(slot) = by_rank.get_mut(c.rank as usize) {
            *slot += c.seconds;
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let there = sum_rows(&scale.view.computation.blocked, &keys, scale.p);
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

/// Seconds by rank that a team takes longer if its threads stand in line for a lock that they were seen to
/// wait for: all of them together hold it for longer than any of them computes.
fn in_line(pag: &Pag, scale: &Scale<'_>, team: &Team, here: &[&Contended]) -> Vec<f64> {
    let mut waits: Vec<VertexIx> = here
        .iter()
        // Who reads stands in nobody's line.
        .filter(|c| c.kind != Some(WaitKind::ReadLock))
        .filter(|c| c.team == Some(team.vertex) && !c.allocator)
        .map(|c| c.at)
        .collect();
    waits.sort_unstable();
    waits.dedup();
    let mut held = vec![0.0; scale.p as usize];
    for at in waits {
        for ((rank, _), seconds) in held::held(pag, scale, at) {
            if let Some(sum) = held.get_mut(rank as usize) {
                *sum += seconds;
            }
        }
    }
    let mut longest: FxHashMap<(u32, u16), f64> = FxHashMap::default();
    for (rank, share) in team
        .stretches
        .iter()
        .flat_map(|s| s.shares.iter().map(|t| (s.rank, t)))
    {
        *longest.entry((rank, share.thread)).or_default() += share.busy;
    }
    let mut busy = vec![0.0f64; scale.p as usize];
    for ((rank, _), seconds) in longest {
        if let Some(most) = busy.get_mut(rank as usize) {
            *most = most.max(seconds);
        }
    }
    let longer = held
        .iter()
        .zip(&busy)
        .map(|(held, busy)| (held - busy).max(0.0));
    longer.collect()
}

fn evidence(
    here: &[&Contended],
    by_rank: &[f64],
    worst: u32,
    class: CauseClass,
    on_top: bool,
) -> Vec<String> {
    let count: u64 = here.iter().map(|c| c.count).sum();
    let all: f64 = here.iter().map(|c| c.recorded).sum();
    let mut out = vec![format!(
        "teams are longer by these waits: {} on rank {worst}, {} on all ranks together",
        words::seconds(by_rank.get(worst as usize).copied().unwrap_or(0.0)),
        words::seconds(by_rank.iter().sum()),
    )];
    if on_top {
        out.push(
            "threads outnumbered cores and so seldom met here: with a core for each they stand in line for as long as all of them together hold it, by samples".to_string(),
        );
    }
    if count > 0 {
        let kinds: Vec<WaitKind> = here.iter().filter_map(|c| c.kind).collect();
        let what = match (class, kinds.first()) {
            (CauseClass::AllocatorContention, _) => "the allocator's lock",
            (_, Some(WaitKind::ReadLock | WaitKind::WriteLock)) => "the read-write lock",
            (_, Some(WaitKind::SpinLock)) => "the spin lock",
            (_, Some(WaitKind::Critical)) => "the OpenMP lock or critical section",
            (_, Some(WaitKind::Futex)) => "a lock of the runtime (futex)",
            _ => "the mutex",
        };
        out.push(format!(
            "threads waited {count} times for {what}, {} each and {} in all; locks that were free are not counted",
            words::seconds(all / count as f64),
            words::seconds(all),
        ));
    } else {
        out.push(format!(
            "threads that allocate were asleep for {} that no other call explains",
            words::seconds(all),
        ));
    }
    out
}

/// What the threads of the rank that loses most waited, and where.
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
