//! How long threads hold a lock, from the samples between the calls that take it and release it.

use crate::measure::scale::Scale;
use headwater_graph::{Pag, VertexIx};
use headwater_model::psg::{Vertex, VertexKind};
use rustc_hash::FxHashMap;

/// Parts of the names of functions that release locks.
const RELEASES: [&str; 4] = [
    "unlock",
    "critical_end",
    "critical_name_end",
    "end_critical",
];

/// A place in the source, on any call path: module, function and vertex within it.
pub type Site = (u32, u32, u32);

/// Seconds by rank and thread.
pub type ByThread = FxHashMap<(u32, u16), f64>;

/// The site of a vertex; `None` where its function is not known.
pub fn site(pag: &Pag, v: VertexIx) -> Option<Site> {
    let vertex = pag.top.get(v);
    let known = vertex.function != u32::MAX;
    known.then_some((vertex.module, vertex.function, vertex.psg))
}

/// The function that contains a vertex.
pub fn function_of(pag: &Pag, v: VertexIx) -> Option<VertexIx> {
    let mut around = pag.top.ancestors(v);
    around.find(|v| pag.top.get(*v).kind == VertexKind::Function)
}

/// The addresses between a call that takes a lock and the last call in its function that releases a lock before the
/// next one is taken. A compiler may make several calls from one that releases the lock, and place a branch between
/// them behind the first of them. `None` where no call releases a lock.
pub fn section(pag: &Pag, (module, function, psg): Site) -> Option<std::ops::Range<u64>> {
    let (_, structure) = pag.structures.get(module)?;
    let function = structure.functions.get(function as usize)?;
    let taken = function.vertices.get(psg as usize)?.address;
    let releases = |v: &Vertex| {
        let name = v.name.map_or("", |n| structure.string(n));
        v.kind.is_call()
            && (RELEASES.iter().any(|part| name.contains(part)) || name.starts_with("omp_unset_"))
    };
    let behind = || function.vertices.iter().filter(|v| v.address > taken);
    let first = behind().filter(|v| releases(v)).map(|v| v.address).min()?;
    let takes = |v: &&Vertex| v.kind == VertexKind::LockCall && !releases(v);
    let next = behind().filter(takes).map(|v| v.address);
    let next = next.filter(|at| *at > first).min().unwrap_or(u64::MAX);
    let ends = behind().filter(|v| releases(v) && v.address < next);
    let end = ends.map(|v| v.address).max()?;
    Some(taken + 1..end)
}

/// Adds the CPU seconds of all threads in a section of a function, by rank and thread; the function was entered at
/// `function`.
pub fn add(
    pag: &Pag,
    scale: &Scale,
    function: VertexIx,
    section: &std::ops::Range<u64>,
    by_thread: &mut ByThread,
) {
    let own = pag.top.get(function);
    let is_in = |v: VertexIx| {
        let vertex = pag.top.get(v);
        (vertex.module, vertex.function) == (own.module, own.function)
            && section.contains(&vertex.address)
    };
    let mut open = vec![(function, false)];
    while let Some((v, around)) = open.pop() {
        let inside = around || is_in(v);
        if inside {
            for t in scale.view().threads.times_in(v) {
                *by_thread.entry((t.rank, t.thread)).or_default() += t.cpu;
            }
        }
        let children = pag.children.get(v as usize).into_iter().flatten();
        open.extend(children.map(|c| (*c, inside)));
    }
}

/// The vertices of a function, by module and function.
pub fn functions(pag: &Pag) -> FxHashMap<(u32, u32), Vec<VertexIx>> {
    let mut out: FxHashMap<(u32, u32), Vec<VertexIx>> = FxHashMap::default();
    for (v, vertex) in (0..).zip(&pag.top.vertices) {
        if vertex.kind == VertexKind::Function && vertex.function != u32::MAX {
            let key = (vertex.module, vertex.function);
            out.entry(key).or_default().push(v);
        }
    }
    out
}
