//! From the calling contexts of one run to vertices of the top-down view.

use crate::structures::{Structures, is_runtime_library};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::Run;

/// For every context of `run` its vertex. Frames inside runtime libraries take the vertex of the
/// call that led there.
pub(crate) fn map_contexts(
    run: &Run,
    structures: &mut Structures,
    top: &mut TopDown,
) -> Vec<VertexIx> {
    let modules: Vec<(u32, bool)> = run
        .modules
        .iter()
        .map(|m| (structures.index_or_empty(m), is_runtime_library(&m.path)))
        .collect();
    let mut vertices = Vec::with_capacity(run.contexts.len());
    // Frames of the runtime before the user's first frame (`_start`, `__libc_start_main`) are not
    // "inside" a library: only frames below a user frame are closed off.
    let mut closed: Vec<bool> = Vec::with_capacity(run.contexts.len());
    for context in &run.contexts {
        let parent = context.parent.index().filter(|p| *p < vertices.len());
        let (caller, inside) = parent.map_or((TopDown::ROOT, false), |p| (vertices[p], closed[p]));
        let module = modules.get(context.module as usize);
        let (vertex, now_inside) = match module {
            _ if inside => (caller, true),
            Some((_, true)) | None => (caller, caller != TopDown::ROOT),
            Some(&(module, false)) => (
                top.enter(structures, caller, module, context.lookup()),
                false,
            ),
        };
        vertices.push(vertex);
        closed.push(now_inside);
    }
    mark_mpi_calls(run, &vertices, top);
    vertices
}

/// What was recorded as an MPI call is one, whatever the structure took the call for.
fn mark_mpi_calls(run: &Run, vertices: &[VertexIx], top: &mut TopDown) {
    for calls in &run.calls {
        let Some(&v) = calls.ctx.index().and_then(|i| vertices.get(i)) else {
            continue;
        };
        let Some(name) = run.functions.get(calls.func as usize) else {
            continue;
        };
        let vertex = &mut top.vertices[v as usize];
        if v != TopDown::ROOT
            && vertex.mpi.is_none()
            && (vertex.kind.is_call() || vertex.kind == VertexKind::Comp)
        {
            vertex.kind = VertexKind::MpiCall;
            vertex.mpi = Some(name.clone());
        }
    }
}
