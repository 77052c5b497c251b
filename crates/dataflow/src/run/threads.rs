//! How many threads computed, and whether all of them were recorded.

use headwater_model::RankSet;
use headwater_model::diagnosis::ScaleSummary;
use headwater_model::run::{CtxId, Run, ThreadInfo};
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};

/// A process has more threads than the recorded ones if it used this many times their CPU time.
const MORE: f64 = 1.1;

/// A smaller difference of CPU time is not significant: a few ticks of the kernel, nanoseconds.
const TICKS: f64 = 30e6;

/// A thread counts if it computes for this share of the time in which it had a core, or could have had one: others
/// sleep until they are needed.
const COMPUTES: f64 = 0.1;

/// Recorded threads that call no MPI.
pub fn workers(run: &Run) -> impl Iterator<Item = &ThreadInfo> {
    let callers: FxHashSet<(u32, u16)> = run.segments.iter().map(|s| (s.rank, s.thread)).collect();
    let known = move |t: &&ThreadInfo| t.thread > 0 && !callers.contains(&(t.rank, t.thread));
    run.threads.iter().filter(known)
}

/// Threads of teams, of a program without MPI: they want a core each, also where serial parts and
/// locks leave them little to do.
fn members(run: &Run) -> FxHashSet<(u32, u16)> {
    if !run.is_without_mpi() {
        return FxHashSet::default();
    }
    let mut teams: FxHashMap<(u32, CtxId), FxHashSet<u16>> = FxHashMap::default();
    for t in &run.teams {
        teams.entry((t.rank, t.team)).or_default().insert(t.thread);
    }
    let several = teams.into_iter().filter(|(_, threads)| threads.len() > 1);
    let all = several.flat_map(|((rank, _), threads)| threads.into_iter().map(move |t| (rank, t)));
    all.collect()
}

/// How many threads of each rank computed at the same time, at least one.
pub fn concurrent(run: &Run) -> Vec<u32> {
    concurrent_of(run, |_| true)
}

/// The same of those threads for which `counts`.
fn concurrent_of(run: &Run, counts: impl Fn(&ThreadInfo) -> bool) -> Vec<u32> {
    let mut out = vec![1; run.header.ranks as usize];
    let members = members(run);
    let active = |t: &&ThreadInfo| {
        let time = t.wall_ns.saturating_sub(t.runq_ns) as f64;
        let works = t.cpu_ns as f64 > COMPUTES * time || members.contains(&(t.rank, t.thread));
        works && counts(t)
    };
    for of_rank in run.threads.chunk_by(|a, b| a.rank == b.rank) {
        let mut turns: Vec<(u64, i32)> = of_rank
            .iter()
            .filter(active)
            .flat_map(|t| [(t.begin_ns, 1), (t.begin_ns.saturating_add(t.wall_ns), -1)])
            .collect();
        // A thread that ends counts as gone before the next one begins.
        turns.sort_unstable();
        let (mut now, mut most) = (0, 0);
        for (_, turn) in turns {
            now += turn;
            most = most.max(now);
        }
        let rank = of_rank.first().map_or(0, |t| t.rank as usize);
        if let Some(slot) = out.get_mut(rank) {
            *slot = u32::try_from(most).unwrap_or(1).max(1);
        }
    }
    out
}

/// The most threads of a rank that are believed, whatever a damaged header says.
const MOST: u32 = 1 << 16;

/// Threads of each rank that are a part of the scale of a run: those that the program was asked for or, of a program
/// without MPI, those that were seen. `None` for a run whose scale is its number of ranks.
pub fn of_scale(run: &Run) -> Option<u32> {
    let header = &run.header;
    if let Some(asked) = header.threads_asked {
        return Some(asked.clamp(1, MOST));
    }
    run.is_without_mpi().then(|| seen(run))
}

/// Ranks and threads: what the scale of a run is, in the order of scales.
pub fn scale(run: &Run) -> (u64, u32, Option<u32>) {
    let threads = of_scale(run);
    let ranks = run.header.ranks;
    let size = u64::from(ranks) * u64::from(threads.unwrap_or(1));
    (size, ranks, threads)
}

/// The most threads of a rank that worked at the same time, whether they computed or were held up: those of its largest
/// team, or those that computed. The first thread of a program without MPI counts if it worked in a team or beside one:
/// what it computes alone must not decide about the scale of a recording.
pub fn seen(run: &Run) -> u32 {
    let mut teams: FxHashMap<(u32, CtxId), FxHashSet<u16>> = FxHashMap::default();
    for t in &run.teams {
        teams.entry((t.rank, t.team)).or_default().insert(t.thread);
    }
    let largest = teams.values().map(FxHashSet::len).max().unwrap_or(1);
    let guest = run.is_without_mpi() && !teams.is_empty() && !works_too(run, &teams);
    let active = concurrent_of(run, |t| !guest || t.thread > 0);
    let active = active.into_iter().max().unwrap_or(1);
    u32::try_from(largest).unwrap_or(1).max(active)
}

/// The first thread is one of those that work if it computes for this share of the mean of a team's threads while they
/// are there.
const WORKS_TOO: f64 = 0.5;

/// Whether the first thread works in a team, or beside one that it made.
fn works_too(run: &Run, teams: &FxHashMap<(u32, CtxId), FxHashSet<u16>>) -> bool {
    let infos = run.threads.iter().map(|t| ((t.rank, t.thread), t));
    let infos: FxHashMap<(u32, u16), &ThreadInfo> = infos.collect();
    teams.iter().any(|((rank, _), members)| {
        if members.contains(&0) {
            return members.len() > 1;
        }
        let Some(first) = infos.get(&(*rank, 0)) else {
            return false;
        };
        let known = members.iter().filter_map(|m| infos.get(&(*rank, *m)));
        let (mut begin, mut end, mut cpu) = (u64::MAX, 0, 0.0);
        for t in known {
            begin = begin.min(t.begin_ns);
            end = end.max(t.begin_ns.saturating_add(t.wall_ns));
            cpu += t.cpu_ns as f64;
        }
        // Without them it may have computed all the time.
        let alone = first.wall_ns.saturating_sub(end.saturating_sub(begin));
        let beside = first.cpu_ns.saturating_sub(alone) as f64;
        beside > WORKS_TOO * cpu / members.len() as f64
    })
}

/// Share of all rank time, including that of their threads, that was waiting for a core.
pub fn runq_share(run: &Run) -> f64 {
    let ranks: f64 = run.ranks.iter().map(|r| r.wall_ns as f64).sum();
    // A rank's time is that of its first thread; waiting for a core is that of all its threads.
    let others = run.threads.iter().filter(|t| t.thread > 0);
    let threads: f64 = others.map(|t| t.wall_ns as f64).sum();
    let runq: f64 = run.ranks.iter().map(|r| r.runq_ns as f64).sum();
    if ranks > 0.0 {
        (runq / (ranks + threads)).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Whether threads outnumber cores, or other work took the cores.
pub fn is_crowded(run: &Run) -> bool {
    let cores = run.header.cores.iter().sum();
    ScaleSummary::crowds(concurrent(run).iter().sum(), cores, runq_share(run))
}

/// The sentence about how many threads were recorded, where ranks had several.
pub fn recorded(runs: &[&Run]) -> Option<String> {
    let several = |run: &&&Run| concurrent(run).iter().any(|n| *n > 1);
    let run = runs.iter().rev().find(several)?;
    let counts = concurrent(run);
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    let many = if least == most {
        most.to_string()
    } else {
        format!("{least} to {most}")
    };
    if run.is_without_mpi() {
        return Some(format!(
            "{many} threads were recorded; what the program takes is the time of its first thread, in which it waits for the others."
        ));
    }
    Some(format!(
        "{many} threads a rank were recorded ({}); what a rank takes is the time of the thread that calls MPI, in which it waits for the others.",
        words::count(run.header.ranks as usize)
    ))
}

/// The sentence about threads that the results do not cover, if there are any.
pub fn unseen(run: &Run) -> Option<String> {
    let mut known = vec![0.0; run.header.ranks as usize];
    let mut add = |rank: u32, ns: u64| {
        if let Some(sum) = known.get_mut(rank as usize) {
            *sum += ns as f64;
        }
    };
    let all = run.is_without_mpi();
    let inside = |s: &&headwater_model::run::Segment| all || s.from != CtxId::NONE;
    run.segments
        .iter()
        .filter(inside)
        .for_each(|s| add(s.rank, s.cpu_ns));
    run.calls.iter().for_each(|c| add(c.rank, c.cpu_ns));
    workers(run).for_each(|t| add(t.rank, t.cpu_ns));
    let unseen = run.ranks.iter().filter(|i| {
        let known = known.get(i.rank as usize).copied().unwrap_or(0.0);
        let all = i.cpu_ns.unwrap_or(0) as f64;
        all > MORE * known && all > known + TICKS
    });
    let more: RankSet = unseen.map(|i| i.rank).collect();
    let several: RankSet = run
        .calls
        .iter()
        .filter(|c| c.thread > 0)
        .map(|c| c.rank)
        .collect();
    if all && !more.is_empty() {
        return Some(
            "Threads that were not recorded used CPU time, too: what follows covers the recorded threads only."
                .to_string(),
        );
    }
    let who = |set: &RankSet| words::ranks(set, run.header.ranks, 40);
    let what = match (several.is_empty(), more.is_empty()) {
        (true, true) => return None,
        (true, false) => format!(
            "other threads than those that call MPI used CPU time on {}",
            who(&more)
        ),
        (false, _) => format!("more than one thread called MPI on {}", who(&several)),
    };
    Some(format!(
        "With {} {what} (OpenMP, say): the verdict covers the recorded threads only.",
        words::count(run.header.ranks as usize)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::run::{Header, TeamWork};

    /// A process that makes `workers` threads, each of which computes a second; the first one computes before and while
    /// they are there.
    fn process(workers: u16, before: u64, beside: u64) -> Run {
        const SECOND: u64 = 1_000_000_000;
        let mut run = Run {
            header: Header {
                ranks: 1,
                ..Default::default()
            },
            threads: vec![ThreadInfo {
                wall_ns: before + SECOND,
                cpu_ns: before + beside,
                ..Default::default()
            }],
            ..Default::default()
        };
        for thread in 1..=workers {
            run.threads.push(ThreadInfo {
                thread,
                begin_ns: before,
                wall_ns: SECOND,
                cpu_ns: SECOND,
                ..Default::default()
            });
            run.teams.push(TeamWork {
                thread,
                team: CtxId(1),
                ..Default::default()
            });
        }
        run
    }

    #[test]
    fn what_the_first_thread_does_alone_is_no_part_of_the_scale() {
        const TENTH: u64 = 100_000_000;
        for before in [0, TENTH, 3 * TENTH, 20 * TENTH] {
            assert_eq!(seen(&process(4, before, TENTH)), 4, "{before}");
            assert_eq!(seen(&process(3, before, 9 * TENTH)), 4, "{before}");
            assert_eq!(seen(&process(1, before, TENTH)), 1, "{before}");
            assert_eq!(seen(&process(1, before, 9 * TENTH)), 2, "{before}");
        }
        assert_eq!(seen(&process(0, TENTH, TENTH)), 1);
        let mut imported = process(3, TENTH, 9 * TENTH);
        imported.teams.clear();
        assert_eq!(seen(&imported), 4, "nothing is known of teams");
    }
}
