//! `structure`: the program structure graph alone.

use super::Outcome;
use crate::args::StructureArgs;
use crate::output::{SCHEMA, print};
use crate::progress::Progress;
use headwater_model::psg::ModuleStructure;
use headwater_structure::{Options, analyse, names, render_tree};
use schemars::JsonSchema;
use serde::Serialize;

/// What `headwater structure --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Structure {
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
    let mut structure = analyse(&args.module, &options).map_err(|e| e.to_string())?;
    drop(stage);
    let all = structure.functions.len();
    if let Some(wanted) = &args.function {
        let mut kept = std::mem::take(&mut structure.functions);
        kept.retain(|f| names(&structure, f, wanted));
        structure.functions = kept;
        if structure.functions.is_empty() {
            return Err(format!(
                "none of the {all} functions of {}, nor one inlined into them, has {wanted} in its name; without --function all are shown",
                args.module.display()
            )
            .into());
        }
    }
    if args.json.wanted() {
        return args.json.give_value(&Structure {
            schema: SCHEMA,
            structure,
        });
    }
    let mut out = render_tree(&structure);
    let c = structure.counts;
    out += &format!(
        "\n{} functions; vertices before contraction {}, after {}: loops {}, branches {}, computation {}, MPI calls {}\n",
        all, c.before, c.after, c.loops, c.branches, c.comps, c.mpi
    );
    for problem in &structure.problems {
        out += &format!("note: {problem}\n");
    }
    print(&out)
}
