//! Detects a program whose places have no names: it was rebuilt after it was recorded, or its file is gone.
//!
//! Then only the MPI calls distinguish parts of the computation. The report says so before anything else: if the
//! program could not be analysed, "no cause" proves nothing.

use headwater_graph::Structures;
use headwater_model::run::{Module, Run};

/// The program's own module, among those in which calls and samples were recorded.
fn module(run: &Run) -> Option<&Module> {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let program = base(&run.header.program);
    run.modules.iter().find(|m| base(&m.path) == program)
}

/// The sentence if the main module of the runs has no structure.
pub fn main(runs: &[&Run], structures: &Structures) -> Option<String> {
    let module = runs.iter().find_map(|run| module(run))?;
    let structure = structures.find(module);
    if structure.is_some_and(|s| !s.functions.is_empty()) {
        return None;
    }
    let why = structure.and_then(|s| s.problems.first()).map_or_else(
        || "its file could not be analysed".to_string(),
        Clone::clone,
    );
    Some(format!(
        "The functions and loops of {} cannot be named ({}), so the report locates computation by MPI calls and addresses only. Put the recorded program back and diagnose again. Next time, diagnose before rebuilding: this keeps the structure in the cache.",
        module.path,
        why.trim_end_matches('.')
    ))
}
