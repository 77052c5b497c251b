//! `structure`: the program structure graph alone.

use super::Outcome;
use crate::args::StructureArgs;
use crate::output::{SCHEMA, print};
use crate::progress::Progress;
use headwater_model::psg::ModuleStructure;
use headwater_structure::{Options, analyse, render_tree};
use schemars::JsonSchema;
use serde::Serialize;

/// What `headwater structure --json` gives.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Structure")]
pub struct Told {
    /// Version of this format.
    schema: u32,
    /// The module's structure.
    #[serde(flatten)]
    structure: ModuleStructure,
}

/// `headwater structure`.
pub fn command(args: &StructureArgs, quiet: bool) -> Outcome {
    let options = Options {
        max_loop_depth: args.max_loop_depth,
        ..Default::default()
    };
    let progress = Progress::new(quiet, args.json.wanted());
    let stage = progress.stage("taking the program apart", 0);
    let structure = analyse(&args.module, &options).map_err(|e| e.to_string())?;
    drop(stage);
    if args.json.wanted() {
        return args.json.give_value(&Told {
            schema: SCHEMA,
            structure,
        });
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
    print(&out)
}
