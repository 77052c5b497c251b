//! Maps the calling contexts of one run to vertices of the top-down view.

use crate::scaffold::Scaffold;
use crate::structures::{Structures, is_runtime_library};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Context, CtxId, Run};

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

/// A call that was recorded as an MPI call is one, whatever the structure says about it.
fn mark_mpi_calls(run: &Run, vertices: &[VertexIx], top: &mut TopDown) {
    for calls in &run.calls {
        let Some(&v) = calls.ctx.index().and_then(|i| vertices.get(i)) else {
            continue;
        };
        let Some(name) = run.functions.get(calls.func as usize) else {
            continue;
        };
        let vertex = &mut top.vertices[v as usize];
        // Where the module has no structure, only the recording shows that it is a call.
        let unknown = vertex.function == u32::MAX;
        if v > TopDown::WINDDOWN
            && vertex.mpi.is_none()
            && (unknown || vertex.kind.is_call() || vertex.kind == VertexKind::Comp)
        {
            vertex.kind = VertexKind::MpiCall;
            vertex.mpi = Some(name.clone());
        }
    }
}
