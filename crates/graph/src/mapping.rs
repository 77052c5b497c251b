//! Maps the calling contexts of one run to vertices of the top-down view.

use crate::scaffold::Scaffold;
use crate::structures::{Structures, is_runtime_library};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Context, CtxId, Run};
use std::collections::BTreeMap;

/// Returns the vertex of every context of `run`. Frames inside runtime libraries get the vertex of the call that led
/// there.
pub(crate) fn map_contexts(
    run: &Run,
    structures: &mut Structures,
    top: &mut TopDown,
) -> Vec<VertexIx> {
    let modules = modules(run, structures);
    let mut vertices = Vec::with_capacity(run.contexts.len());
    for context in &run.contexts {
        let parent = context.parent.index().filter(|p| *p < vertices.len());
        let caller = parent.map_or(TopDown::ROOT, |p| vertices[p]);
        vertices.push(enter(structures, top, &modules, caller, context));
    }
    mark_mpi_calls(run, &vertices, top);
    vertices
}

/// The vertex of one context, as if the process began at `base` instead of the root.
pub(crate) fn map_chain(
    run: &Run,
    structures: &mut Structures,
    top: &mut TopDown,
    base: VertexIx,
    ctx: CtxId,
) -> VertexIx {
    let modules = modules(run, structures);
    let at = |ctx: CtxId| ctx.index().and_then(|i| run.contexts.get(i));
    // A parent comes before its child, so every chain ends.
    let up = |ctx: &CtxId| at(*ctx).map(|c| c.parent).filter(|p| p < ctx);
    let mut chain: Vec<CtxId> = std::iter::successors(Some(ctx), up).collect();
    chain.reverse();
    chain
        .into_iter()
        .filter_map(at)
        .fold(base, |caller, context| {
            enter(structures, top, &modules, caller, context)
        })
}

/// For each module of `run`: its index, and whether it is a runtime library.
fn modules(run: &Run, structures: &mut Structures) -> Vec<(u32, bool)> {
    run.modules
        .iter()
        .map(|m| (structures.index_or_empty(m), is_runtime_library(&m.path)))
        .collect()
}

/// The vertex of `context`, called from `caller`.
fn enter(
    structures: &Structures,
    top: &mut TopDown,
    modules: &[(u32, bool)],
    caller: VertexIx,
    context: &Context,
) -> VertexIx {
    // Code that a runtime library calls back (`main`, a thread's function, a comparison) is
    // entered from the call that went into the library.
    match modules.get(context.module as usize) {
        Some(&(module, false)) => {
            let structure = structures.get(module).map(|(_, s)| s);
            match structure.and_then(|s| Scaffold::at(s, context.lookup())) {
                // A region is around all code, that before `main` too.
                Some(Scaffold::Start) => top.region(structures, caller),
                Some(Scaffold::Call) => caller,
                None => top.enter(structures, caller, module, context.lookup()),
            }
        }
        _ => caller,
    }
}

/// A call that was recorded as an MPI call is one, whatever the structure says about it. A line of Python may call
/// several functions: it has the name of the one that took longest, and of equal ones the first in the run.
fn mark_mpi_calls(run: &Run, vertices: &[VertexIx], top: &mut TopDown) {
    let mut called: BTreeMap<VertexIx, Vec<(u16, u64)>> = BTreeMap::new();
    for calls in &run.calls {
        let vertex = calls.ctx.index().and_then(|i| vertices.get(i)).copied();
        if let Some(v) = vertex.filter(|v| *v > TopDown::WINDDOWN) {
            let functions = called.entry(v).or_default();
            match functions.iter_mut().find(|f| f.0 == calls.func) {
                Some((_, wall)) => *wall = wall.saturating_add(calls.wall_ns),
                None => functions.push((calls.func, calls.wall_ns)),
            }
        }
    }
    for (v, functions) in called {
        let longest = functions.iter().rev().max_by_key(|f| f.1);
        let Some(name) = longest.and_then(|f| run.functions.get(f.0 as usize)) else {
            continue;
        };
        let vertex = &mut top.vertices[v as usize];
        // Where the module has no structure, only the recording shows that it is a call.
        let unknown = vertex.function == u32::MAX;
        if vertex.mpi.is_none()
            && (unknown || vertex.kind.is_call() || vertex.kind == VertexKind::Comp)
        {
            vertex.kind = VertexKind::MpiCall;
            vertex.mpi = Some(name.clone());
        }
    }
}
