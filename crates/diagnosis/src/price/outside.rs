//! Reports calls to code that the user cannot change as the loop or function around them.
//!
//! A library without source lines is such code, unless the code around the call has none either and the library calls MPI
//! or makes threads. Then the parallel program is in the library, and what calls it is a command that starts it (GROMACS,
//! LAMMPS): the function that calls the library would say nothing.

use crate::find::candidate::Candidate;
use headwater_graph::{Pag, TopDown, VertexIx, is_runtime_library};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashSet;

/// Whether `v` is a call to code without source lines, outside the module that calls.
fn leads_out(pag: &Pag, v: VertexIx) -> bool {
    let vertex = pag.top.get(v);
    // Code in no known function of the module is a stub on the way out.
    let inside = |c: &VertexIx| {
        let own = pag.top.get(*c);
        pag.place(*c).file.is_some() || own.module == vertex.module && own.function != u32::MAX
    };
    vertex.kind == VertexKind::ExternalCall && !pag.children[v as usize].iter().any(inside)
}

/// Modules that call MPI or make threads, apart from runtime libraries.
fn parallel(pag: &Pag) -> FxHashSet<u32> {
    let all = (0..pag.children.len() as VertexIx).map(|v| pag.top.get(v));
    let calls = all.filter(|v| matches!(v.kind, VertexKind::MpiCall | VertexKind::ThreadCall));
    let mut modules: FxHashSet<u32> = calls.map(|vertex| vertex.module).collect();
    modules.retain(|module| {
        let known = pag.structures.get(*module);
        known.is_some_and(|(module, _)| !is_runtime_library(&module.path))
    });
    modules
}

/// The loop or function around the call by which `v` leaves the program's code, and the name of what is called. A function
/// with source lines that such code calls back is the program's again. `parallel` are the modules with the
/// parallel program.
fn home(pag: &Pag, v: VertexIx, parallel: &FxHashSet<u32>) -> Option<(VertexIx, String)> {
    let call = pag.top.ancestors(v).find(|v| leads_out(pag, *v))?;
    let is_back = |v: VertexIx| {
        let vertex = pag.top.get(v);
        vertex.kind == VertexKind::Function
            && vertex.module == pag.top.get(call).module
            && pag.place(v).file.is_some()
    };
    let mut called = pag.top.ancestors(v).take_while(|v| *v != call);
    if called.any(is_back) {
        return None;
    }
    let named = |v: &VertexIx| {
        let kind = pag.top.get(*v).kind;
        *v > TopDown::WINDDOWN
            && (kind.is_loop() || matches!(kind, VertexKind::Function | VertexKind::Inlined))
    };
    let around = pag.top.ancestors(call).skip(1).find(named)?;
    let is_parallel = |c: &VertexIx| {
        let module = pag.top.get(*c).module;
        module != pag.top.get(call).module && parallel.contains(&module)
    };
    let is_program = pag.children[call as usize].iter().any(is_parallel);
    if is_program && pag.place(around).file.is_none() {
        return None;
    }
    Some((around, pag.place(call).name))
}

/// If a cause is computation in such a call, its place becomes the loop or function around it.
pub fn bring_home(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    let parallel = parallel(pag);
    for mut c in found {
        // Sleep belongs to the call that sleeps.
        let computes = c.class.is_computation() && c.class != CauseClass::SystemCallOrIo;
        if let Some((around, name)) = home(pag, c.vertex, &parallel).filter(|_| computes) {
            c.vertex = around;
            c.evidence.push(format!("mostly in {name}"));
            let homes = c.twins.iter().filter_map(|v| home(pag, *v, &parallel));
            c.twins = homes.map(|h| h.0).filter(|v| *v != around).collect();
            c.twins.sort_unstable();
            c.twins.dedup();
        }
        let same = |kept: &&mut Candidate| {
            (kept.class, kept.vertex) == (c.class, c.vertex) && kept.ranks == c.ranks
        };
        match out.iter_mut().find(same) {
            Some(kept) => {
                kept.cost += c.cost;
                kept.gain += c.gain;
                kept.after.append(&mut c.after);
                kept.evidence.append(&mut c.evidence);
            }
            None => out.push(c),
        }
    }
    out
}
