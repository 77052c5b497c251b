//! The critical path through the threads of a rank.
//!
//! While a rank works in a team, or sleeps until one has finished, the run takes as long as the slowest thread of the
//! team, stretch by stretch. So these seconds of the path are that thread's. What it computes is divided over its places
//! as its samples are; what it waits for locks is at the place where others hold them.

use crate::measure::scale::Scale;
use crate::measure::stretch::{Share, Stretch};
use crate::measure::teams::{Team, Teams};
use headwater_graph::{Pag, RankRows, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Seconds on the path, by key of computation and rank.
pub type OfRanks = FxHashMap<(u32, u32), f64>;

/// Seconds of a rank's thread on the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnThread {
    /// Where.
    pub vertex: VertexIx,
    /// Rank.
    pub rank: u32,
    /// The thread; `None` for the rank's own, and for those that hold a lock for which the path waits.
    pub thread: Option<u16>,
    /// How long.
    pub seconds: f64,
}

/// What a thread of a team takes for a stretch, seconds.
fn takes(share: &Share) -> f64 {
    share.busy + share.locked + share.allocator
}

/// Takes the seconds in which ranks work in teams or wait for them out of their path, as far as other threads than the
/// ranks' own are the slowest, and returns where those spent them, by vertex, rank and thread.
pub fn through_teams(pag: &Pag, scale: &Scale, teams: &Teams, path: &mut OfRanks) -> Vec<OnThread> {
    let mut out = Vec::new();
    let whole = path.clone();
    let places = Places::new(pag, teams);
    for rank in 0..scale.p {
        let needs = |team: &Team| -> f64 {
            let all = team.of_rank(rank).iter();
            all.filter_map(slowest).map(takes).sum()
        };
        let mut own: Vec<(f64, &Team)> = teams.teams.iter().map(|t| (needs(t), t)).collect();
        own.retain(|(need, _)| *need > 0.0);
        // Of teams that work at the same time the rank waits for the one that takes longest.
        own.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.vertex.cmp(&b.1.vertex)));
        for (need, team) in own {
            let keys = keys_of(pag, scale, team, rank);
            if let Some(each) = taken_from(scale, (team, rank, need), &keys, &whole, path) {
                slowest_threads(scale, &places, (team, rank, each), &mut out);
            }
        }
    }
    out.sort_by_key(|t| (t.vertex, t.rank, t.thread));
    out
}

/// Where the threads of teams compute, and where they wait.
struct Places {
    /// By team: vertices inside it, ascending, but those in which threads spin.
    computing: FxHashMap<VertexIx, Vec<VertexIx>>,
    /// By team, rank and thread: what holds the lock or allocates, and seconds.
    waiting: FxHashMap<(VertexIx, u32, u16), Vec<(VertexIx, f64)>>,
}

impl Places {
    fn new(pag: &Pag, teams: &Teams) -> Self {
        let kind = |v: VertexIx| pag.top.get(v).kind;
        // Where it spins for a lock or for its team, a thread computes nothing.
        let computes = |v: &VertexIx| {
            let mut around = pag.top.ancestors(*v);
            kind(*v) != VertexKind::ThreadCall && !around.any(|v| kind(v) == VertexKind::LockCall)
        };
        let inside = |team: &Team| {
            let mut all: Vec<VertexIx> = pag.inside(team.vertex).filter(computes).collect();
            all.sort_unstable();
            (team.vertex, all)
        };
        let mut waiting: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for c in &teams.contended {
            if let Some(team) = c.team {
                let of_thread = waiting.entry((team, c.rank, c.thread)).or_default();
                of_thread.push((c.place, c.seconds));
            }
        }
        Self {
            computing: teams.teams.iter().map(inside).collect(),
            waiting,
        }
    }
}

/// Keys of the computation in which a rank works in a team or waits for it. Where the rank joins the threads that it made,
/// this is known, whether they lose time or not.
fn keys_of(pag: &Pag, scale: &Scale, team: &Team, rank: u32) -> Vec<u32> {
    let threads = team.of_rank(rank).iter().flat_map(|s| &s.shares);
    let threads: FxHashSet<u16> = threads.map(|s| s.thread).collect();
    let own = |thread| scale.view().threads.calls_mpi(rank, thread);
    let edges = scale.view().parallel.threads.iter();
    let joins = edges.filter(|e| {
        let is_own = e.rank == rank && own(e.thread) && !e.kind.is_lock();
        is_own && e.holder.is_some_and(|holder| threads.contains(&holder))
    });
    let mut places: Vec<VertexIx> = joins.map(|e| e.at).collect();
    places.sort_unstable();
    places.dedup();
    if team.joined || places.is_empty() {
        return team.keys.clone();
    }
    let keys = places.into_iter().flat_map(|v| scale.keys_inside(pag, v));
    let mut keys: Vec<u32> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Takes the path's seconds in a team from a rank; returns how many they are for each second that the team takes, and
/// `None` if the rank neither works in it nor waits for it.
fn taken_from(
    scale: &Scale,
    (team, rank, need): (&Team, u32, f64),
    keys: &[u32],
    whole: &OfRanks,
    path: &mut OfRanks,
) -> Option<f64> {
    let data = &scale.view().computation;
    let at =
        |column: &RankRows, key: u32| -> f64 { column.row(key).map_or(0.0, |row| row.at(rank)) };
    let here = |key: u32| match team.joined {
        true => at(&data.busy, key),
        false => at(&data.blocked, key).min(at(&data.busy, key)),
    };
    let there: f64 = keys.iter().map(|k| here(*k)).sum();
    // Of the path there, and what other teams have left of it: only these seconds can be of teams.
    let at_key = |path: &OfRanks, key: u32| path.get(&(key, rank)).copied().unwrap_or(0.0);
    let of_teams = |key: u32| {
        let all = at_key(whole, key);
        let waits = all * here(key) / at(&data.busy, key).max(f64::MIN_POSITIVE);
        let left = waits - (all - at_key(path, key));
        (waits, left.max(0.0))
    };
    let parts: Vec<(u32, (f64, f64))> = keys.iter().map(|k| (*k, of_teams(*k))).collect();
    let all: f64 = parts.iter().map(|p| p.1.0).sum();
    let left: f64 = parts.iter().map(|p| p.1.1).sum();
    if there <= 0.0 || left <= 0.0 {
        return None;
    }
    let seconds = (all * (need / there).min(1.0)).min(left);
    // What the rank's own thread computes as the slowest one stays where it is.
    let kept: f64 = (team.of_rank(rank).iter().filter_map(slowest))
        .filter(|s| scale.view().threads.calls_mpi(rank, s.thread))
        .map(|s| s.busy)
        .sum();
    let removed = seconds / left * (1.0 - kept / need);
    for (key, (_, left)) in parts {
        if let Some(s) = path.get_mut(&(key, rank)) {
            *s -= left * removed;
        }
    }
    Some(seconds / need)
}

/// The thread that takes longest for a stretch; the first one if several do.
fn slowest(stretch: &Stretch) -> Option<&Share> {
    let longer = |a, b| if takes(b) > takes(a) { b } else { a };
    stretch.shares.iter().reduce(longer)
}

/// Where the slowest threads of a team on one rank spend their time, with so many seconds of path `each` second.
fn slowest_threads(
    scale: &Scale,
    places: &Places,
    (team, rank, each): (&Team, u32, f64),
    out: &mut Vec<OnThread>,
) {
    // By thread: computation, and waiting for locks and for the allocator.
    let mut sums: BTreeMap<u16, (f64, f64)> = BTreeMap::new();
    for share in team.of_rank(rank).iter().filter_map(slowest) {
        let sum = sums.entry(share.thread).or_default();
        if !scale.view().threads.calls_mpi(rank, share.thread) {
            sum.0 += share.busy * each;
        }
        sum.1 += (share.locked + share.allocator) * each;
    }
    let inside = places
        .computing
        .get(&team.vertex)
        .map_or(&[][..], Vec::as_slice);
    let mut put = |thread: Option<u16>, seconds: f64, places: &[(VertexIx, f64)]| {
        divide(seconds, places, team.vertex, |vertex, seconds| {
            out.push(OnThread {
                vertex,
                rank,
                thread,
                seconds,
            });
        });
    };
    for (thread, (computed, waited)) in sums {
        let here = |v: &VertexIx| {
            let times = scale.view().threads.times_in(*v);
            let at = times.binary_search_by_key(&(rank, thread), |t| (t.rank, t.thread));
            let time = at.ok().and_then(|i| times.get(i))?;
            Some((*v, time.cpu + time.blocked))
        };
        let computing: Vec<(VertexIx, f64)> = inside.iter().filter_map(here).collect();
        put(Some(thread), computed, &computing);
        let waiting = places.waiting.get(&(team.vertex, rank, thread));
        put(None, waited, waiting.map_or(&[], Vec::as_slice));
    }
}

/// Divides seconds over places in proportion; all of them are at `otherwise` if there are none.
fn divide(
    seconds: f64,
    places: &[(VertexIx, f64)],
    otherwise: VertexIx,
    mut put: impl FnMut(VertexIx, f64),
) {
    let all: f64 = places.iter().map(|p| p.1).sum();
    if seconds > 0.0 && all <= 0.0 {
        put(otherwise, seconds);
    }
    for (vertex, here) in places {
        if seconds > 0.0 && *here > 0.0 && all > 0.0 {
            put(*vertex, seconds * here / all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_slowest_threads_is_the_slowest() {
        let share = |thread, busy, locked| Share {
            thread,
            busy,
            locked,
            ..Share::default()
        };
        let stretch = Stretch {
            shares: vec![share(1, 1.0, 0.0), share(2, 2.0, 1.0), share(3, 3.0, 0.0)],
            ..Stretch::default()
        };
        assert_eq!(slowest(&stretch).map(|s| s.thread), Some(2));
        assert_eq!(slowest(&Stretch::default()), None);
    }

    #[test]
    fn what_is_divided_is_neither_more_nor_less() {
        let mut all = Vec::new();
        divide(6.0, &[(3, 1.0), (4, 0.0), (5, 2.0)], 9, |v, s| {
            all.push((v, s))
        });
        divide(1.0, &[], 9, |v, s| all.push((v, s)));
        divide(0.0, &[], 9, |v, s| all.push((v, s)));
        assert_eq!(all, [(3, 2.0), (5, 4.0), (9, 1.0)]);
    }
}
