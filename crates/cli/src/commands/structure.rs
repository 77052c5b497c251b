//! `structure`: the program structure graph alone.

use super::Outcome;
use crate::args::StructureArgs;
use headwater_structure::{Options, analyse, render_tree};

/// `headwater structure`.
pub fn command(args: &StructureArgs) -> Outcome {
    let options = Options {
        max_loop_depth: args.max_loop_depth,
        ..Default::default()
    };
    let structure = analyse(&args.module, &options).map_err(|e| e.to_string())?;
    if args.json {
        let text = serde_json::to_string(&structure).map_err(|e| e.to_string())?;
        return super::print(&(text + "\n"));
    }
    let mut out = render_tree(&structure, args.function.as_deref());
    let c = structure.counts;
    out += &format!(
        "\n{} functions; vertices before contraction {}, after {}: loops {}, branches {}, computation {}, MPI calls {}\n",
        structure.functions.len(),
        c.before,
        c.after,
        c.loops,
        c.branches,
        c.comps,
        c.mpi
    );
    for problem in &structure.problems {
        out += &format!("note: {problem}\n");
    }
    super::print(&out)
}
