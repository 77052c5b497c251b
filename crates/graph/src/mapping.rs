//! Maps the calling contexts of one run to vertices of the top-down view.

use crate::scaffold::Scaffold;
use crate::structures::{Structures, is_runtime_library};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Context, CtxId, Module, Run};
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
    enter_mpi_calls(run, structures, &mut vertices, top);
    mark_mpi_calls(run, &vertices, top);
    vertices
}

/// For each vertex or context, the MPI function with the longest calls, and of equal ones the first in the run.
fn longest<K: Ord + Copy>(run: &Run, key: impl Fn(CtxId) -> Option<K>) -> Vec<(K, &String)> {
    let mut called: BTreeMap<K, Vec<(u16, u64)>> = BTreeMap::new();
    for calls in &run.calls {
        let Some(key) = key(calls.ctx) else {
            continue;
        };
        let functions = called.entry(key).or_default();
        match functions.iter_mut().find(|f| f.0 == calls.func) {
            Some((_, wall)) => *wall = wall.saturating_add(calls.wall_ns),
            None => functions.push((calls.func, calls.wall_ns)),
        }
    }
    let names = called.into_iter().filter_map(|(key, functions)| {
        let longest = functions.iter().rev().max_by_key(|f| f.1)?;
        Some((key, run.functions.get(longest.0 as usize)?))
    });
    names.collect()
}

/// Gives calls of MPI from lines of Python vertices of their own, in the lines. In machine code each call has one.
fn enter_mpi_calls(
    run: &Run,
    structures: &Structures,
    vertices: &mut [VertexIx],
    top: &mut TopDown,
) {
    let is_python: Vec<bool> = run.modules.iter().map(Module::is_python).collect();
    if !is_python.contains(&true) {
        return;
    }
    let of_ctx = |ctx: CtxId| {
        let index = ctx.index()?;
        // Code of the line itself is at the line.
        let module = run.contexts.get(index)?.module as usize;
        (is_python.get(module) == Some(&false)).then_some(index)
    };
    for (index, name) in longest(run, of_ctx) {
        let Some(vertex) = vertices.get_mut(index) else {
            continue;
        };
        let line = top.get(*vertex);
        let module = structures.get(line.module);
        let is_line = line.function != u32::MAX && line.kind != VertexKind::Function;
        if is_line && module.is_some_and(|(module, _)| module.is_python()) {
            *vertex = top.mpi_call(*vertex, name);
        }
    }
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
    let of_vertex = |ctx: CtxId| {
        let vertex = ctx.index().and_then(|i| vertices.get(i)).copied();
        vertex.filter(|v| *v > TopDown::WINDDOWN)
    };
    for (v, name) in longest(run, of_vertex) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::ModuleStructure;
    use headwater_model::run::{MpiCalls, Part, Symbol, python};

    #[test]
    fn calls_of_mpi_on_a_line_of_python_are_beside_what_else_it_calls() {
        let (main, work) = (python::function(1, "main"), python::function(9, "work"));
        let symbol = |offset, name: &str, part| Symbol {
            offset,
            function: !name.is_empty(),
            name: name.into(),
            first_line: python::place(offset).1,
            file: "/home/u/solver.py".into(),
            part,
            ..Default::default()
        };
        let symbols = [
            symbol(main, "main", Part::Comp),
            symbol(python::line(main, 3), "", Part::Call),
            symbol(work, "work", Part::Comp),
            symbol(python::line(work, 10), "", Part::Comp),
        ];
        let script = Module::of_python("/home/u/solver.py");
        let library = Module {
            path: "/env/mpi4py/MPI.so".into(),
            ..Default::default()
        };
        let context = |parent, module, offset| Context {
            parent: CtxId(parent),
            module,
            offset,
            exact: false,
        };
        // Line 3 calls two functions of MPI, and a function that computes on line 10.
        let contexts = vec![
            context(u32::MAX, 0, python::line(main, 3) + 1),
            context(0, 1, 0x100),
            context(0, 1, 0x200),
            context(0, 0, python::line(work, 10) + 1),
        ];
        let call = |ctx, func, wall_ns| MpiCalls {
            ctx: CtxId(ctx),
            func,
            wall_ns,
            ..Default::default()
        };
        let run = Run {
            modules: vec![script.clone(), library],
            contexts,
            functions: vec!["MPI_Bcast".into(), "MPI_Barrier".into()],
            calls: vec![call(1, 0, 5), call(2, 1, 7), call(1, 1, 4)],
            ..Default::default()
        };
        let structure = ModuleStructure::of_symbols(symbols.iter());
        let mut structures = Structures::new([(script, structure)]);
        let mut top = TopDown::default();
        let vertices = map_contexts(&run, &mut structures, &mut top);
        let places: Vec<(String, u32, VertexKind)> = (vertices.iter())
            .map(|v| top.place(&structures, *v))
            .map(|p| (p.name, p.first_line, p.kind))
            .collect();
        let is = |name: &str, line, kind| (name.to_string(), line, kind);
        assert_eq!(
            places,
            [
                is("main", 3, VertexKind::Call),
                is("MPI_Bcast", 3, VertexKind::MpiCall),
                is("MPI_Barrier", 3, VertexKind::MpiCall),
                is("work", 10, VertexKind::Comp),
            ]
        );
        let line = vertices[0];
        for call in [vertices[1], vertices[2]] {
            assert_eq!(top.get(call).parent, Some(line));
            assert!(!top.is_same_place(line, call));
            assert_eq!(top.around_call(call), top.get(line).parent.unwrap());
        }
        // Another run has the same vertices.
        assert_eq!(map_contexts(&run, &mut structures, &mut top), vertices);
    }
}
