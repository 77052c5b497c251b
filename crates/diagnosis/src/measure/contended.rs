//! Waits of threads for locks: the place to change, and how long threads would wait if each had a core.
//!
//! The edges between threads lead from the waiting thread to where the holder took the lock, and that is the place.
//! Where threads outnumber cores, a thread also waits for the holder's core. Then at most a millisecond of each wait
//! counts, and of all waits only the share in which the thread itself had a core.

use crate::measure::scale::Scale;
use crate::measure::{allocation, program_place};
use headwater_graph::{Pag, ThreadEdge, VertexIx};
use headwater_model::run::WaitKind;
use rustc_hash::FxHashMap;

/// Seconds that a thread waited at one place for another thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Contended {
    /// The team in which it worked; `None` for a thread that calls MPI and worked in none.
    pub team: Option<VertexIx>,
    /// Rank.
    pub rank: u32,
    /// Thread that waited.
    pub thread: u16,
    /// Where it waited.
    pub at: VertexIx,
    /// Where the holder took the lock, or else `at`.
    pub taken: VertexIx,
    /// The place to change: where the holder took the lock, or where the program allocates.
    pub place: VertexIx,
    /// Whether it waited for the memory allocator.
    pub allocator: bool,
    /// What it waited for; `None` where only its sleep was seen.
    pub kind: Option<WaitKind>,
    /// Seconds that it would wait with a core for each thread.
    pub seconds: f64,
    /// Seconds as recorded.
    pub recorded: f64,
    /// Times that it waited; 0 where only its sleep was seen.
    pub count: u64,
    /// Which locks: a bit for each, by a hash; 0 where they are not known.
    pub locks: u64,
}

/// What is known of one thread from all its rows.
#[derive(Clone, Debug, Default)]
struct Known {
    cpu: f64,
    runq: f64,
    /// Waiting for locks by team.
    locked: Vec<(VertexIx, f64)>,
}

/// What is known of each thread.
pub struct Threads(FxHashMap<(u32, u16), Known>);

impl Threads {
    /// All threads of one scale.
    pub fn new(scale: &Scale) -> Self {
        let mut all: FxHashMap<(u32, u16), Known> = FxHashMap::default();
        for t in &scale.teams {
            let known = all.entry((t.rank, t.thread)).or_default();
            (known.cpu, known.runq) = (known.cpu + t.cpu, known.runq + t.runq);
            match known.locked.last_mut() {
                Some(last) if last.0 == t.team => last.1 += t.locked,
                _ => known.locked.push((t.team, t.locked)),
            }
        }
        for t in &scale.run().threads {
            let known = all.entry((t.rank, t.thread)).or_default();
            if known.cpu <= 0.0 {
                (known.cpu, known.runq) = (t.cpu_ns as f64, t.runq_ns as f64);
            }
        }
        Self(all)
    }

    /// The share of the time in which a thread was ready to run and had a core.
    pub fn on_core(&self, rank: u32, thread: u16) -> f64 {
        let known = self.0.get(&(rank, thread)).filter(|k| k.cpu > 0.0);
        known.map_or(1.0, |k| k.cpu / (k.cpu + k.runq))
    }

    /// The team in which a thread waited: the innermost one around the place. If there is none, the one in which it
    /// waited longest, because call paths of unknown origin do not begin at the team.
    fn team_of(&self, pag: &Pag, scale: &Scale, edge: &ThreadEdge) -> Option<VertexIx> {
        let locked = self.0.get(&(edge.rank, edge.thread));
        let locked = locked.map_or(&[][..], |k| &k.locked);
        let own = |team: &VertexIx| locked.binary_search_by_key(team, |l| l.0).is_ok();
        let around = scale.teams_around(pag, edge.at).filter(own).max();
        if around.is_some() || scale.view().threads.calls_mpi(edge.rank, edge.thread) {
            return around;
        }
        let longest = locked.iter().reduce(|a, b| {
            let longer = b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_gt();
            if longer { b } else { a }
        });
        longest.map(|l| l.0)
    }
}

/// Waits for locks, including those in the memory allocator.
pub fn of_locks(pag: &Pag, scale: &Scale, threads: &Threads) -> Vec<Contended> {
    let crowded = scale.is_crowded();
    let mut inside: FxHashMap<VertexIx, bool> = FxHashMap::default();
    let mut places: FxHashMap<(VertexIx, bool), VertexIx> = FxHashMap::default();
    let mut of_edge = |edge: &ThreadEdge| {
        let seconds = if crowded {
            edge.brief * threads.on_core(edge.rank, edge.thread)
        } else {
            edge.wait
        };
        let allocator = *inside
            .entry(edge.at)
            .or_insert_with(|| allocation::is_inside(pag, edge.at));
        // Who wakes a thread from a futex is only known where it releases the lock, which may be a call around.
        let is_around = |on: VertexIx| {
            let mut around = pag.top.ancestors(edge.at);
            around.any(|a| pag.top.is_same_place(on, a))
        };
        let holder = edge.on.filter(|on| !is_around(*on));
        let taken = holder.unwrap_or(edge.at);
        let of = if allocator { edge.at } else { taken };
        let place = places.entry((of, allocator)).or_insert_with(|| {
            if allocator {
                program_place::own_loop(pag, of)
            } else {
                program_place::own(pag, of)
            }
        });
        Contended {
            team: threads.team_of(pag, scale, edge),
            rank: edge.rank,
            thread: edge.thread,
            at: edge.at,
            taken,
            place: *place,
            allocator,
            kind: Some(edge.kind),
            seconds,
            recorded: edge.wait,
            count: edge.count,
            locks: edge.locks,
        }
    };
    let edges = scale.view().parallel.threads.iter();
    edges
        .filter(|e| e.kind.is_lock())
        .map(&mut of_edge)
        .collect()
}
