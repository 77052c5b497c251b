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
    let pools = pools(pag, run, view);
    for same in first.values_mut() {
        while let Some(pool) = pools.get(same) {
            *same = *pool;
        }
    }
    first
}

/// What threads of one pool have in common: rank, file, line and name of the call that made them, and the functions that
/// they run.
type Pool = (u32, String, u32, String, Vec<(u32, u32)>);

/// Calls that made threads of one pool on several call paths, as where a vector of threads grows now and then: one call
/// in the source made them, they run the same function, and they exist at the same time. For each, an earlier such call.
fn pools(pag: &Pag, run: &Run, view: &RunView) -> FxHashMap<VertexIx, VertexIx> {
    let infos: FxHashMap<(u32, u16), &ThreadInfo> =
        (run.threads.iter().map(|t| ((t.rank, t.thread), t))).collect();
    let mut lives: BTreeMap<Pool, Vec<(u64, u64, VertexIx)>> = BTreeMap::new();
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
    let mut earlier: FxHashMap<VertexIx, VertexIx> = FxHashMap::default();
    for mut lives in lives.into_values() {
        lives.sort_unstable();
        let mut last: Option<(u64, VertexIx)> = None;
        for (begin, end, team) in lives {
            let Some((until, other)) = last.filter(|l| begin < l.0) else {
                last = Some((end, team));
                continue;
            };
            let [a, b] = [other, team].map(|mut v| {
                while let Some(before) = earlier.get(&v) {
                    v = *before;
                }
                v
            });
            if a != b {
                earlier.insert(a.max(b), a.min(b));
            }
            last = Some((until.max(end), team));
        }
    }
    earlier
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
            let vertex = pag.top.get(v);
            if v == t.team {
                team
            } else if vertex.function == u32::MAX {
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
