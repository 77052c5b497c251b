//! Reports calls to code that the user cannot change as the loop or function around them.
//!
//! A library without source lines is such code. But a program may only start a library that is the parallel program
//! (GROMACS, LAMMPS): if neither has source lines, the function that calls the library says nothing, and causes stay
//! inside.

use crate::find::candidate::Candidate;
use crate::measure::scale::Scale;
use headwater_graph::{Pag, TopDown, VertexIx, is_runtime_library};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// A program only starts a library if it computes at most this part of all itself.
const STARTS: f64 = 0.1;

/// What is known of the modules of a program.
struct Modules {
    /// Those that call MPI; in a program without MPI, those that make threads. Runtime libraries are none of them.
    parallel: FxHashSet<u32>,
    /// What each computes itself, seconds, all ranks together.
    computes: FxHashMap<u32, f64>,
}

impl Modules {
    fn of(pag: &Pag, scale: &Scale) -> Self {
        let with = |kind: VertexKind| -> FxHashSet<u32> {
            let calls = pag.top.vertices.iter().filter(|v| v.kind == kind);
            calls.map(|v| v.module).collect()
        };
        let mut parallel = with(VertexKind::MpiCall);
        if parallel.is_empty() {
            parallel = with(VertexKind::ThreadCall);
        }
        parallel.retain(|module| {
            let known = pag.structures.get(*module);
            known.is_some_and(|(module, _)| !is_runtime_library(&module.path))
        });
        let mut computes: FxHashMap<u32, f64> = FxHashMap::default();
        let data = &scale.view().computation;
        for (number, key) in (0..).zip(&data.keys) {
            let seconds = data.busy.row(number).map_or(0.0, |row| row.sum());
            *computes.entry(pag.top.get(key.vertex).module).or_default() += seconds;
        }
        Self { parallel, computes }
    }

    /// Whether the library that is called is the parallel program, and the modules of the callers only start it. It may be
    /// among these: what starts it may be called by it.
    fn start(&self, callers: &FxHashSet<u32>, library: u32) -> bool {
        let computes = |module: &u32| self.computes.get(module).copied().unwrap_or(0.0);
        let all: f64 = self.computes.values().sum();
        let others = callers.iter().filter(|module| **module != library);
        self.parallel.contains(&library) && others.map(computes).sum::<f64>() <= STARTS * all
    }
}

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

/// The loop or function around the call by which `v` leaves the program's code, and the name of what is called: the innermost
/// one that has source lines, if any has. A function with source lines that such code calls back is the program's again,
/// and so is a library that is the parallel program.
fn home(pag: &Pag, modules: &Modules, v: VertexIx) -> Option<(VertexIx, String)> {
    let call = pag.top.ancestors(v).find(|v| leads_out(pag, *v))?;
    let has_lines = |v: VertexIx| pag.place(v).file.is_some();
    let module = |v: VertexIx| pag.top.get(v).module;
    let is_back = |v: VertexIx| {
        let is_function = pag.top.get(v).kind == VertexKind::Function;
        is_function && module(v) == module(call) && has_lines(v)
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
    let around = |call: VertexIx| {
        let around = pag.top.ancestors(call).skip(1).find(named)?;
        Some((around, pag.place(call).name))
    };
    if pag.top.ancestors(call).any(has_lines) {
        let out = pag.top.ancestors(call).filter(|v| leads_out(pag, *v));
        let with_lines = out.filter_map(around).find(|(v, _)| has_lines(*v));
        return with_lines.or_else(|| around(call));
    }
    let callers: FxHashSet<u32> = pag.top.ancestors(call).map(module).collect();
    let mut libraries = pag.children[call as usize].iter().map(|c| module(*c));
    match libraries.any(|library| library != module(call) && modules.start(&callers, library)) {
        true => None,
        false => around(call),
    }
}

/// If a cause is computation in such a call, its place becomes the loop or function around it. `scale` is the largest
/// one.
pub fn bring_home(pag: &Pag, scale: &Scale, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    let modules = Modules::of(pag, scale);
    for mut c in found {
        // Sleep belongs to the call that sleeps.
        let computes = c.class.is_computation() && c.class != CauseClass::SystemCallOrIo;
        if let Some((around, name)) = home(pag, &modules, c.vertex).filter(|_| computes) {
            c.vertex = around;
            c.evidence.push(format!("mostly in {name}"));
            let homes = c.twins.iter().filter_map(|v| home(pag, &modules, *v));
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
