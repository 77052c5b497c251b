//! Which time threads spend in the memory allocator, and in which of it they wait for one another.
//!
//! Allocators that lock by the system's mutexes are seen as other locks are. The C library waits inside its own
//! allocator. There a thread is asleep in its team, no system call that sleeps explains it, and its samples show that
//! it allocates.

use crate::measure::contended::{Contended, Threads};
use crate::measure::program_place;
use crate::measure::scale::Scale;
use headwater_graph::{Pag, VertexIx};
use rustc_hash::FxHashMap;

/// Functions that allocate or free memory.
const FUNCTIONS: [&str; 14] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
    "__rust_alloc",
];

/// Least share of a thread's CPU time in its team that must be in the allocator for its sleep to be blamed on it.
const ALLOCATES: f64 = 0.1;

/// Least share of a thread's time in its team that such sleep must take: page faults and the scheduler cause some sleep
/// everywhere.
const ASLEEP: f64 = 0.05;

/// Whether `v` is a call of the allocator or inside one.
pub fn is_inside(pag: &Pag, v: VertexIx) -> bool {
    let calls = |v: &VertexIx| pag.top.get(*v).kind.is_call();
    let mut around = pag.top.ancestors(v).filter(calls);
    around.any(|c| {
        let name = pag.place(c).name;
        let name = name.split(['(', '@']).next().unwrap_or("");
        FUNCTIONS.contains(&name) || mangled(name)
    })
}

/// Mangled names of `operator new` and `operator delete`.
fn mangled(name: &str) -> bool {
    ["_Znw", "_Zna", "_Zdl", "_Zda"]
        .iter()
        .any(|p| name.starts_with(p))
}

/// Sleep of allocating threads that nothing else explains, by place.
pub fn asleep(pag: &Pag, scale: &Scale, threads: &Threads) -> Vec<Contended> {
    let mut idle: FxHashMap<(VertexIx, u32, u16), (f64, f64)> = FxHashMap::default();
    for t in &scale.teams {
        let sum = idle.entry((t.team, t.rank, t.thread)).or_default();
        *sum = (
            sum.0 + (t.blocked - t.locked).max(0.0),
            sum.1 + t.wall - t.runq,
        );
    }
    idle.retain(|_, (idle, wall)| *idle > ASLEEP * *wall);
    let mut teams: Vec<VertexIx> = idle.keys().map(|k| k.0).collect();
    teams.sort_unstable();
    teams.dedup();
    let crowded = scale.is_crowded();
    let mut out = Vec::new();
    let mut allocates: FxHashMap<VertexIx, bool> = FxHashMap::default();
    for team in teams {
        // CPU time, sleep in calls that sleep, and CPU time in the allocator by place.
        #[derive(Default)]
        struct Sum {
            cpu: f64,
            slept: f64,
            places: Vec<(VertexIx, f64)>,
        }
        let mut sums: FxHashMap<(u32, u16), Sum> = FxHashMap::default();
        // Sleep where the team comes together is in no stretch.
        let ends = scale.meets(team);
        let ways = scale.ways(team).iter();
        let inside = ways.flat_map(|w| pag.inside(*w));
        for t in inside.flat_map(|v| scale.view().threads.times_in(v)) {
            let sum = sums.entry((t.rank, t.thread)).or_default();
            sum.cpu += t.cpu;
            if !ends.contains(&t.vertex) {
                sum.slept += t.blocked;
            }
            if *allocates
                .entry(t.vertex)
                .or_insert_with(|| is_inside(pag, t.vertex))
            {
                sum.places.push((t.vertex, t.cpu));
            }
        }
        let mut rows: Vec<((u32, u16), Sum)> = sums.into_iter().collect();
        rows.sort_by_key(|r| r.0);
        for ((rank, thread), sum) in rows {
            let Some((idle, wall)) = idle.get(&(team, rank, thread)) else {
                continue;
            };
            let (unknown, in_allocator) = (
                idle - sum.slept,
                sum.places.iter().map(|p| p.1).sum::<f64>(),
            );
            let seldom = in_allocator <= 0.0 || in_allocator < ALLOCATES * sum.cpu;
            if unknown <= ASLEEP * wall || seldom {
                continue;
            }
            let core = if crowded {
                threads.on_core(rank, thread)
            } else {
                1.0
            };
            for (at, cpu) in sum.places {
                let part = unknown * cpu / in_allocator;
                out.push(Contended {
                    team: Some(team),
                    rank,
                    thread,
                    at,
                    taken: at,
                    place: program_place::own_loop(pag, at),
                    allocator: true,
                    kind: None,
                    seconds: part * core,
                    recorded: part,
                    count: 0,
                    locks: 0,
                });
            }
        }
    }
    out
}
