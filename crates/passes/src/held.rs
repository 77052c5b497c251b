//! How long threads hold a lock, from the samples between where it is taken and given back.
//!
//! Threads that seldom run at the same time, as where they outnumber cores, seldom meet at a lock that they
//! would stand in line for with a core each. But a lock is held by one at a time: a team takes at least as long as all
//! its threads together hold it, and that is CPU time.

use crate::scale::Scale;
use headwater_graph::{Pag, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;

/// Parts of the names of functions that give locks back.
const GIVES_BACK: [&str; 4] = [
    "unlock",
    "critical_end",
    "critical_name_end",
    "end_critical",
];

/// Seconds of each rank's threads in the code between the call `lock` and the next one, by address, that gives
/// a lock back in the same function; empty where there is none.
pub fn held(pag: &Pag, scale: &Scale<'_>, lock: VertexIx) -> FxHashMap<(u32, u16), f64> {
    let mut out = FxHashMap::default();
    let taken = pag.top.get(lock);
    let mut around = pag.top.ancestors(lock);
    let Some(function) = around.find(|v| pag.top.get(*v).kind == VertexKind::Function) else {
        return out;
    };
    let own = |v: VertexIx| {
        let vertex = pag.top.get(v);
        (vertex.module, vertex.function) == (taken.module, taken.function)
    };
    let Some(end) = end(pag, lock) else {
        return out;
    };
    let mut within: FxHashMap<VertexIx, bool> = FxHashMap::default();
    for t in &scale.view.threads.times {
        let held = *within.entry(t.vertex).or_insert_with(|| {
            let mut around = pag.top.ancestors(t.vertex).take_while(|v| *v >= function);
            pag.top.contains(function, t.vertex)
                && around.any(|v| {
                    let address = pag.top.get(v).address;
                    own(v) && taken.address < address && address < end
                })
        });
        if held {
            *out.entry((t.rank, t.thread)).or_default() += t.cpu;
        }
    }
    out
}

/// Address of the next call in the structure of the function that gives a lock back.
fn end(pag: &Pag, lock: VertexIx) -> Option<u64> {
    let taken = pag.top.get(lock);
    let (_, structure) = pag.structures.get(taken.module)?;
    let function = structure.functions.get(taken.function as usize)?;
    let calls = function.vertices.iter().filter(|v| {
        let name = v.name.map_or("", |n| structure.string(n));
        v.address > taken.address
            && v.kind.is_call()
            && (GIVES_BACK.iter().any(|part| name.contains(part)) || name.starts_with("omp_unset_"))
    });
    calls.map(|v| v.address).min()
}
