//! Finds calls that begin the same team: a compiler may make several calls from one in the source, for example when it
//! unrolls a loop, and a program may make threads of one pool on several call paths.

use headwater_graph::{Pag, RunView, TeamStretch, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Run, ThreadInfo};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A call in the source: the function around it, file, line and name.
type Call = (Option<VertexIx>, String, u32, String);

/// For each call that begins a team: the first of the calls that begin the same team.
pub fn find(pag: &Pag, run: &Run, view: &RunView) -> FxHashMap<VertexIx, VertexIx> {
    let rows = &view.parallel.teams;
    let mut known: FxHashMap<Call, VertexIx> = FxHashMap::default();
    let mut first: FxHashMap<VertexIx, VertexIx> = FxHashMap::default();
    let calls = rows.chunk_by(|a, b| a.team == b.team);
    for own in calls.filter_map(|c| Some(c.first()?.team)) {
        let place = pag.place(own);
        let mut around = pag.top.ancestors(own);
        let function = around.find(|v| pag.top.get(*v).kind == VertexKind::Function);
        let same = place.file.map_or(own, |file| {
            let call = (function, file, place.first_line, place.name);
            *known.entry(call).or_insert(own)
        });
        first.insert(own, same);
    }
    join_pools(&mut first, pools(pag, run, view));
    first
}

/// What threads of one pool have in common: rank, file, line and name of the call that made them, and the functions that
/// they run.
type Pool = (u32, String, u32, String, Vec<(u32, u32)>);

/// When a thread began and ended, nanoseconds, and the call that made it.
type Life = (u64, u64, VertexIx);

/// The threads that one call in the source made, on whatever call paths, by what they have in common.
fn pools(pag: &Pag, run: &Run, view: &RunView) -> BTreeMap<Pool, Vec<Life>> {
    let infos: FxHashMap<(u32, u16), &ThreadInfo> =
        (run.threads.iter().map(|t| ((t.rank, t.thread), t))).collect();
    let mut lives: BTreeMap<Pool, Vec<Life>> = BTreeMap::new();
    for rows in view.parallel.teams.chunk_by(|a, b| a.team == b.team) {
        let life = |t: &TeamStretch| {
            // Threads of an OpenMP runtime work in many regions, and a region's own thread was made elsewhere.
            let info = infos.get(&(t.rank, t.thread))?;
            let made = view.vertex(info.made_by) == Some(t.team);
            made.then(|| (info.begin_ns, info.begin_ns.saturating_add(info.wall_ns)))
        };
        let own: Option<Vec<(u64, u64)>> = rows.iter().map(life).collect();
        let (Some(own), Some(team)) = (own, rows.first().map(|t| t.team)) else {
            continue;
        };
        let place = pag.place(team);
        let functions = functions_in(pag, team);
        let Some(file) = place.file.filter(|_| !functions.is_empty()) else {
            continue;
        };
        for ((begin, end), t) in own.into_iter().zip(rows) {
            let (file, name) = (file.clone(), place.name.clone());
            let pool = (t.rank, file, place.first_line, name, functions.clone());
            lives.entry(pool).or_default().push((begin, end, team));
        }
    }
    lives
}

/// Joins calls that made threads of one pool on several call paths, as where a vector of threads grows now and then: these
/// threads exist at the same time. `first` has, for each call, the first one of its team.
fn join_pools(first: &mut FxHashMap<VertexIx, VertexIx>, pools: BTreeMap<Pool, Vec<Life>>) {
    let mut earlier: FxHashMap<VertexIx, VertexIx> = FxHashMap::default();
    for mut lives in pools.into_values() {
        lives.sort_unstable();
        let mut last: Option<(u64, VertexIx)> = None;
        for (begin, end, call) in lives {
            let team = first.get(&call).copied().unwrap_or(call);
            let Some((until, other)) = last.filter(|l| begin < l.0) else {
                last = Some((end, team));
                continue;
            };
            let [a, b] = [other, team].map(|team| earliest(&earlier, team));
            if a != b {
                earlier.insert(a.max(b), a.min(b));
            }
            last = Some((until.max(end), team));
        }
    }
    for team in first.values_mut() {
        *team = earliest(&earlier, *team);
    }
}

/// The first of the teams that are joined with one; `earlier` has an earlier one for all others.
fn earliest(earlier: &FxHashMap<VertexIx, VertexIx>, mut team: VertexIx) -> VertexIx {
    while let Some(before) = earlier.get(&team) {
        team = *before;
    }
    team
}

/// The outermost functions of what was recorded inside a call, ascending.
fn functions_in(pag: &Pag, call: VertexIx) -> Vec<(u32, u32)> {
    let inside = pag.children.get(call as usize).into_iter().flatten();
    let vertices = inside.map(|v| pag.top.get(*v));
    let functions = vertices.filter(|v| v.kind == VertexKind::Function);
    let mut out: Vec<(u32, u32)> = functions.map(|v| (v.module, v.function)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The rows of teams, in which the first call of each team replaces all calls that begin it.
pub fn joined(
    pag: &Pag,
    rows: &[TeamStretch],
    same: &FxHashMap<VertexIx, VertexIx>,
) -> Vec<TeamStretch> {
    // A barrier has a vertex below each of those calls.
    let mut barriers: FxHashMap<(VertexIx, u32, u32, u32), VertexIx> = FxHashMap::default();
    let mut of_row = |t: &TeamStretch| {
        let team = same.get(&t.team).copied().unwrap_or(t.team);
        let mut end = |v: VertexIx| {
            if v == t.team {
                return team;
            }
            let v = pag.barrier(t.team, v);
            let vertex = pag.top.get(v);
            if vertex.function == u32::MAX {
                v
            } else {
                let site = (team, vertex.module, vertex.function, vertex.psg);
                *barriers.entry(site).or_insert(v)
            }
        };
        TeamStretch {
            team,
            from: end(t.from),
            to: end(t.to),
            ..*t
        }
    };
    let mut out: Vec<TeamStretch> = rows.iter().map(&mut of_row).collect();
    let key = |t: &TeamStretch| (t.team, t.rank, t.from, t.to, t.thread);
    out.sort_by_key(key);
    out.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.count += next.count;
            kept.wall += next.wall;
            kept.cpu += next.cpu;
            kept.runq += next.runq;
            kept.blocked += next.blocked;
            kept.locked += next.locked;
            kept.wait += next.wait;
        }
        same
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_call_brings_its_team_into_the_pool() {
        let pool: Pool = (0, "a.cpp".into(), 7, "pthread_create".into(), vec![(0, 1)]);
        for (copy, other) in [(2, 3), (3, 2)] {
            let mut first = FxHashMap::from_iter([(1, 1), (copy, 1), (other, other)]);
            // Only the threads of the copy exist together with those of the other call.
            let lives = vec![(0, 10, 1), (20, 40, copy), (30, 50, other)];
            join_pools(&mut first, BTreeMap::from([(pool.clone(), lives)]));
            let teams = FxHashMap::from_iter([(1, 1), (copy, 1), (other, 1)]);
            assert_eq!(first, teams);
        }
    }
}
