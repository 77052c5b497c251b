//! Teams of threads at one scale: what each thread had to do between the points where its team comes together, and
//! which part of its waiting was for locks and for the memory allocator.
//!
//! A team takes as long as its slowest thread computes and waits. So its time divides, stretch by stretch, into the
//! mean computation of its threads, what the slowest computes beyond that (imbalance), and what waiting for locks and
//! for the allocator adds. Two parts cannot claim the same second.

use crate::measure::allocation;
use crate::measure::beside;
use crate::measure::contended::{self, Contended, Threads};
use crate::measure::scale::Scale;
use crate::measure::stretch::{Share, Stretch};
use headwater_graph::{Pag, RankRow, RankRows, Site, TeamStretch, TopDown, VertexIx, sum_rows};
use headwater_model::run::ThreadInfo;
use rustc_hash::{FxHashMap, FxHashSet};

/// A vertex around a team contains it if the ranks' computation there is at least this share of the team's losses;
/// sampling and rounding leave a little out.
const MOST: f64 = 0.9;

/// Threads made by one call are a team if the slowest of them has this share of the life of all: threads that follow
/// one another are not a team.
const TOGETHER: f64 = 0.5;

/// A team at one scale, all ranks.
#[derive(Clone, Debug)]
pub struct Team {
    /// The call that begins it; of several, the one with the largest loss.
    pub vertex: VertexIx,
    /// All calls that begin it, that one first.
    pub calls: Vec<VertexIx>,
    /// Its work, by rank.
    pub stretches: Vec<Stretch>,
    /// Whether the ranks' threads that call MPI work in it; if not, they at most wait for it.
    pub joined: bool,
    /// Whether their computation in it is inside the call that begins it; it is not where they are guests of threads
    /// that they made.
    pub inside: bool,
    /// The vertex in which the ranks' computation contains it.
    pub around: VertexIx,
    /// Keys of the ranks' computation in which they work in it or wait for it.
    pub keys: Vec<u32>,
    /// By rank: the part of its losses that can have lengthened the rank's computation there.
    pub felt: Vec<f64>,
    /// Its work is inside these vertices: the calls that begin it, and where the ranks' own threads work if that is elsewhere.
    pub starts: Vec<VertexIx>,
    /// Where others compute and the ranks' own threads may do so beside them, outside of the calls that begin it.
    pub shared: FxHashSet<Site>,
}

impl Team {
    /// By rank: the sum of `of` over stretches, as far as the rank took longer because of it.
    pub fn losses(&self, of: impl Fn(&Stretch) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; self.felt.len()];
        for s in &self.stretches {
            let at = s.rank as usize;
            if let (Some(slot), Some(felt)) = (out.get_mut(at), self.felt.get(at)) {
                *slot += of(s) * felt;
            }
        }
        out
    }
}

/// The threads of a team on one rank by their position in it: threads of later generations are reported as the first
/// ones.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// Numbers of the first threads.
    pub names: Vec<u32>,
    at: FxHashMap<u16, usize>,
}

impl Positions {
    /// The position of a thread.
    pub fn of(&self, thread: u16) -> Option<usize> {
        self.at.get(&thread).copied()
    }
}

impl Team {
    /// Its work on `rank`.
    pub fn of_rank(&self, rank: u32) -> &[Stretch] {
        let start = self.stretches.partition_point(|s| s.rank < rank);
        let rest = self.stretches.get(start..).unwrap_or(&[]);
        let end = rest.partition_point(|s| s.rank == rank);
        rest.get(..end).unwrap_or(&[])
    }

    /// The threads of `rank`.
    pub fn positions(&self, rank: u32) -> Positions {
        let mut out = Positions::default();
        for s in self.of_rank(rank) {
            for (i, share) in s.shares.iter().enumerate() {
                out.at.entry(share.thread).or_insert(i);
                if out.names.len() == i {
                    out.names.push(u32::from(share.thread));
                }
            }
        }
        out
    }
}

/// All teams of a run.
#[derive(Debug, Default)]
pub struct Teams {
    /// By vertex.
    pub teams: Vec<Team>,
    /// Waits for locks and for the allocator, by place.
    pub contended: Vec<Contended>,
    /// Those teams that are pools, with the ranks' own threads, by vertex.
    pools: Vec<Team>,
}

/// The parts of a thread's waiting that are set aside, and what each was for.
#[derive(Clone, Copy, Default)]
struct Waiting {
    /// For locks and for the allocator, recorded as waits.
    locked: f64,
    allocator: f64,
    /// For locks, as recorded.
    waited: f64,
    /// For the allocator, seen as sleep that nothing else explains.
    asleep: f64,
}

impl Teams {
    /// The teams of one scale.
    pub fn new(pag: &Pag, scale: &Scale) -> Self {
        let rows = &scale.teams;
        let threads = Threads::new(scale);
        let mut contended = contended::of_locks(pag, scale, &threads);
        contended.extend(allocation::asleep(pag, scale, &threads));
        contended.sort_by_key(|c| c.place);
        let mut waiting: FxHashMap<(VertexIx, u32, u16), Waiting> = FxHashMap::default();
        for c in &contended {
            let Some(team) = c.team else { continue };
            let sum = waiting.entry((team, c.rank, c.thread)).or_default();
            match (c.allocator, c.kind) {
                (true, None) => sum.asleep += c.seconds,
                (true, Some(_)) => sum.allocator += c.seconds,
                (false, _) => {
                    sum.locked += c.seconds;
                    sum.waited += c.recorded;
                }
            }
        }
        let infos = scale.run().threads.iter();
        let infos: FxHashMap<(u32, u16), &ThreadInfo> =
            infos.map(|t| ((t.rank, t.thread), t)).collect();
        let teams: Vec<Team> = rows
            .chunk_by(|a, b| a.team == b.team)
            .filter_map(|of_team| {
                let vertex = of_team.first()?.team;
                let sums = in_team(of_team, &waiting);
                // Threads of an OpenMP runtime outlive the regions that they work in: their ends say nothing of these.
                let in_regions = pag.begins_region(vertex);
                let parts = |rows: &[TeamStretch]| match in_regions {
                    true => vec![rows.to_vec()],
                    false => generations(rows, &infos),
                };
                let ends = |rows: &[TeamStretch]| match in_regions {
                    true => Vec::new(),
                    false => ends(rows, &infos),
                };
                let stretches = of_team
                    .chunk_by(|a, b| (a.rank, a.from, a.to) == (b.rank, b.from, b.to))
                    .flat_map(parts)
                    .map(|rows| stretch(&rows, &sums, &ends(&rows), scale.is_crowded()));
                let mut team = Team {
                    vertex,
                    calls: vec![vertex],
                    stretches: stretches.collect(),
                    joined: false,
                    inside: computes_inside(pag, scale, vertex),
                    around: vertex,
                    keys: Vec::new(),
                    felt: vec![1.0; scale.p as usize],
                    starts: scale.ways(vertex).to_vec(),
                    shared: FxHashSet::default(),
                };
                if pag.makes_threads(vertex) {
                    beside::keep_members(pag, scale, &mut team);
                }
                let is_own = |(rank, thread)| scale.view().threads.calls_mpi(rank, thread);
                team.joined = team.stretches.iter().flat_map(Stretch::threads).any(is_own);
                find_rank_time(pag, scale, &mut team);
                Some(team)
            })
            .collect();
        Self {
            pools: beside::pools(pag, scale, &teams),
            teams,
            contended,
        }
    }

    /// A team with the ranks' own threads, if they work beside it.
    pub fn pool(&self, team: &Team) -> Option<&Team> {
        let at = self.pools.binary_search_by_key(&team.vertex, |p| p.vertex);
        at.ok().and_then(|i| self.pools.get(i))
    }

    /// Whether `v` is a place in which the ranks' own threads compute beside others, which do the same.
    pub fn is_shared(&self, pag: &Pag, v: VertexIx) -> bool {
        let site = pag.top.site(v);
        let has = |team: &Team| site.is_some_and(|site| team.shared.contains(&site));
        self.whole().any(has)
    }

    /// The team of a vertex.
    pub fn team(&self, vertex: VertexIx) -> Option<&Team> {
        let at = self.teams.binary_search_by_key(&vertex, |t| t.vertex);
        at.ok().and_then(|i| self.teams.get(i))
    }

    /// Recorded seconds that threads waited at `place`, by rank.
    pub fn waited(&self, place: VertexIx, allocator: bool, ranks: u32) -> Vec<f64> {
        let mut out = vec![0.0; ranks as usize];
        let start = self.contended.partition_point(|c| c.place < place);
        let rest = self.contended.get(start..).unwrap_or(&[]).iter();
        let here = rest.take_while(|c| c.place == place);
        for c in here.filter(|c| c.allocator == allocator) {
            if let Some(slot) = out.get_mut(c.rank as usize) {
                *slot += c.recorded;
            }
        }
        out
    }

    /// The teams, with the ranks' own threads where those work beside them.
    pub fn whole(&self) -> impl Iterator<Item = &Team> {
        let teams = self.teams.iter();
        teams.map(|team| self.pool(team).unwrap_or(team))
    }

    /// Number of threads of the largest team of each rank; 1 if there is none.
    pub fn sizes(&self, ranks: u32) -> Vec<usize> {
        let mut out = vec![1; ranks as usize];
        for s in self.whole().flat_map(|t| &t.stretches) {
            if let Some(size) = out.get_mut(s.rank as usize) {
                *size = s.shares.len().max(*size);
            }
        }
        out
    }
}

/// Seconds of a stretch in which a thread was busy: without its waiting for other threads, asleep or, with spin locks,
/// on the core.
pub fn busy(t: &TeamStretch) -> f64 {
    computed(t) + idle(t)
}

/// The part of it on a core.
pub fn computed(t: &TeamStretch) -> f64 {
    let spinning = (t.locked - t.blocked - t.runq).max(0.0);
    (t.cpu - spinning).max(0.0)
}

/// A thread's waiting in a team, and the parts of it that are known.
#[derive(Clone, Copy, Default)]
struct InTeam {
    /// For other threads, as recorded.
    locked: f64,
    /// Asleep in addition.
    idle: f64,
    /// The parts that are set aside.
    waiting: Waiting,
}

/// Asleep, but not for other threads.
fn idle(t: &TeamStretch) -> f64 {
    (t.blocked - t.locked).max(0.0)
}

/// Sums of a team's rows by rank and thread.
fn in_team(
    of_team: &[TeamStretch],
    waiting: &FxHashMap<(VertexIx, u32, u16), Waiting>,
) -> FxHashMap<(u32, u16), InTeam> {
    let mut out: FxHashMap<(u32, u16), InTeam> = FxHashMap::default();
    for t in of_team {
        let sum = out.entry((t.rank, t.thread)).or_default();
        (sum.locked, sum.idle) = (sum.locked + t.locked, sum.idle + idle(t));
        let waiting = waiting.get(&(t.team, t.rank, t.thread));
        sum.waiting = waiting.copied().unwrap_or_default();
    }
    out
}

/// When a thread ended, if it was made for the stretch of this row.
fn end(t: &TeamStretch, infos: &FxHashMap<(u32, u16), &ThreadInfo>) -> Option<u64> {
    let is_whole = t.from == t.team && t.to == t.team && t.count == 1;
    let info = infos.get(&(t.rank, t.thread)).filter(|_| is_whole)?;
    Some(info.begin_ns.saturating_add(info.wall_ns))
}

/// How long each thread had ended before the last one, seconds; empty if that is not known of all.
fn ends(rows: &[TeamStretch], infos: &FxHashMap<(u32, u16), &ThreadInfo>) -> Vec<f64> {
    let ends: Option<Vec<u64>> = rows.iter().map(|t| end(t, infos)).collect();
    let ends = ends.unwrap_or_default();
    let last = ends.iter().max().copied().unwrap_or(0);
    let before = ends.iter().map(|end| (last - end) as f64 * 1e-9);
    before.collect()
}

fn stretch(
    rows: &[TeamStretch],
    sums: &FxHashMap<(u32, u16), InTeam>,
    ended: &[f64],
    crowded: bool,
) -> Stretch {
    let share = |(i, t): (usize, &TeamStretch)| {
        let sum = sums.get(&(t.rank, t.thread)).copied().unwrap_or_default();
        // Waits are known by thread; stretches say in which of them they were.
        let part = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
        let sleep = part(sum.waiting.asleep, sum.idle) * idle(t);
        Share {
            thread: t.thread,
            busy: (busy(t) - sleep).max(0.0),
            locked: part(sum.waiting.locked, sum.locked) * t.locked,
            allocator: part(sum.waiting.allocator, sum.locked) * t.locked + sleep,
            waited: part(sum.waiting.waited, sum.locked) * t.locked,
            at_end: t.wait,
            idle: ended.get(i).map(|ended| t.locked + t.wait + ended),
        }
    };
    let duration = rows.iter().map(|t| t.wall + t.wait).fold(0.0, f64::max);
    Stretch {
        rank: rows.first().map_or(0, |t| t.rank),
        shares: rows.iter().enumerate().map(share).collect(),
        repeats: rows.iter().map(|t| t.count).max().unwrap_or(0),
        duration: Some(duration).filter(|_| !crowded),
    }
}

/// Groups the threads of one stretch that existed at the same time. A call in a loop makes new threads each time: those
/// are one team after another, and one team cannot make up for lateness in another.
fn generations(
    rows: &[TeamStretch],
    infos: &FxHashMap<(u32, u16), &ThreadInfo>,
) -> Vec<Vec<TeamStretch>> {
    let whole = rows.iter().all(|t| t.from == t.team && t.to == t.team);
    let life = |t: &TeamStretch| {
        let info = infos.get(&(t.rank, t.thread))?;
        (t.count == 1).then(|| (info.begin_ns, info.begin_ns.saturating_add(info.wall_ns)))
    };
    let lives: Option<Vec<(u64, u64)>> = rows.iter().map(life).collect();
    let Some(lives) = lives.filter(|_| whole) else {
        return vec![rows.to_vec()];
    };
    let mut order: Vec<((u64, u64), &TeamStretch)> = lives.into_iter().zip(rows).collect();
    order.sort_by_key(|(life, t)| (*life, t.thread));
    let mut out: Vec<(u64, u64, Vec<TeamStretch>)> = Vec::new();
    for ((begin, end), t) in order {
        match out.last_mut() {
            Some(last) if begin < last.1 => {
                last.1 = last.1.max(end);
                last.2.push(*t);
            }
            _ => out.push((begin, end, vec![*t])),
        }
    }
    let together = |g: &(u64, u64, Vec<TeamStretch>)| {
        let longest = g.2.iter().map(|t| t.wall).fold(0.0, f64::max);
        longest >= TOGETHER * (g.1 - g.0) as f64 * 1e-9
    };
    let mut kept: Vec<Vec<TeamStretch>> = out.into_iter().filter(together).map(|g| g.2).collect();
    kept.iter_mut().for_each(|g| g.sort_by_key(|t| t.thread));
    kept
}

/// Whether ranks compute inside the calls that begin a team.
fn computes_inside(pag: &Pag, scale: &Scale, team: VertexIx) -> bool {
    let cpu = |key: u32| {
        let data = &scale.view().computation;
        let of = |column: &RankRows| column.row(key).map_or(0.0, RankRow::sum);
        of(&data.busy) - of(&data.blocked)
    };
    let mut ways = scale.ways(team).iter();
    ways.any(|w| scale.keys_inside(pag, *w).into_iter().any(|k| cpu(k) > 0.0))
}

/// Finds where the ranks' computation contains the team: inside the call that begins it if they work in it themselves,
/// otherwise where they sleep until it has finished, at the call or around it.
pub(super) fn find_rank_time(pag: &Pag, scale: &Scale, team: &mut Team) {
    let loss = |s: &Stretch| s.slowest(|t| t.busy + t.locked + t.allocator) - s.mean();
    let needed = team.losses(loss);
    let data = &scale.view().computation;
    let column = if team.joined {
        &data.busy
    } else {
        &data.blocked
    };
    let whole: f64 = needed.iter().sum();
    let around = pag.top.ancestors(team.vertex).chain([TopDown::ROOT]);
    for v in around {
        let keys = scale.keys_inside(pag, v);
        let there = sum_rows(column, &keys, scale.p);
        if v == TopDown::ROOT || there.iter().sum::<f64>() >= MOST * whole {
            let felt = |(needed, there): (&f64, &f64)| {
                if *needed > 0.0 {
                    (there / needed).min(1.0)
                } else {
                    1.0
                }
            };
            team.felt = needed.iter().zip(&there).map(felt).collect();
            (team.around, team.keys) = (v, keys);
            return;
        }
    }
}
