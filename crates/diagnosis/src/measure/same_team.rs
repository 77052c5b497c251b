//! Finds calls that begin the same team: a compiler may make several calls from one in the source, for example when it
//! unrolls a loop.

use headwater_graph::{Pag, TeamStretch, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;

/// A call in the source: the function around it, file, line and name.
type Call = (Option<VertexIx>, String, u32, String);

/// For each call that begins a team: the first of the calls that begin the same team.
pub fn find(pag: &Pag, rows: &[TeamStretch]) -> FxHashMap<VertexIx, VertexIx> {
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
    first
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
