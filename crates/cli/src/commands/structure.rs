//! `structure`: the program structure graph alone.

use super::Outcome;
use crate::args::StructureArgs;
use crate::output::{SCHEMA, print};
use crate::progress::Progress;
use headwater_model::dependence::{Agreement, Comparison};
use headwater_model::psg::{Arithmetic, ModuleStructure};
use headwater_structure::{Options, analyse, compare, names, render_tree};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `headwater structure --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Structure {
    /// Version of this format.
    schema: u32,
    /// The module's structure.
    #[serde(flatten)]
    structure: ModuleStructure,
    /// With --compare: how the compiler's structure agrees with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// Keeps the functions that have `wanted` in a name, with what is known of their vertices.
fn keep_only(structure: &mut ModuleStructure, wanted: &str) {
    let all = std::mem::take(&mut structure.functions);
    let mut arithmetic = Vec::new();
    let mut kept = Vec::new();
    let mut numbers = BTreeMap::new();
    for (number, function) in (0u32..).zip(all) {
        if names(structure, &function, wanted) {
            let own = structure.arithmetic(number).iter();
            arithmetic.extend(own.map(|a| Arithmetic {
                function: kept.len() as u32,
                ..*a
            }));
            numbers.insert(number, kept.len() as u32);
            kept.push(function);
        }
    }
    (structure.functions, structure.arithmetic) = (kept, arithmetic);
    let known = &mut structure.dependences.vertices;
    known.retain_mut(|vertex| {
        let number = numbers.get(&vertex.function);
        vertex.function = number.copied().unwrap_or(vertex.function);
        number.is_some()
    });
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
    let comparison = match args.compare {
        true => Some(comparison(args, &options)?),
        false => None,
    };
    let all = structure.functions.len();
    if let Some(wanted) = &args.function {
        keep_only(&mut structure, wanted);
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
            comparison,
        });
    }
    if let Some(comparison) = comparison {
        return print(&compared(&comparison));
    }
    let mut out = render_tree(&structure);
    let c = structure.counts;
    out += &format!(
        "\n{} functions; vertices before contraction {}, after {}: loops {}, branches {}, computation {}, MPI calls {}\n",
        all, c.before, c.after, c.loops, c.branches, c.comps, c.mpi
    );
    let makers = structure.dependences.makers.join(", ");
    if !makers.is_empty() {
        out += &format!(
            "{} vertices are also those of the compiler ({makers}): [compiler: what decides how often they run]; the others are of the machine code alone\n",
            structure.dependences.vertices.len()
        );
    }
    for problem in &structure.problems {
        out += &format!("note: {problem}\n");
    }
    print(&out)
}

fn comparison(args: &StructureArgs, options: &Options) -> Result<Comparison, String> {
    let found = compare(&args.module, options).map_err(|e| e.to_string())?;
    found.ok_or_else(|| {
        format!(
            "{} has no structure from a compiler: compile and link it with headwater cc, cxx or fc",
            args.module.display()
        )
    })
}

/// A comparison as text.
fn compared(c: &Comparison) -> String {
    let mut out = format!(
        "{} functions are in both; in machine code only {}, in the compiler's structure only {}\ncompiler's vertices before contraction {}, after {}\n",
        c.functions, c.functions_of_binary, c.functions_of_compiler, c.before, c.after
    );
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", 100.0 * share),
        None => "none".to_string(),
    };
    let mut part = |what: &str, a: &Agreement| {
        let (all, common) = (a.both + a.others.len(), a.both + a.unclear);
        out += &format!(
            "{what}: {} agree by line ({} of {all}); of those that are or may be in both, {} ({} of {common})",
            percent(a.share()),
            a.both,
            percent(a.share_of_common()),
            a.both + a.merged
        );
        if a.merged > 0 {
            out += &format!(
                "; {} of these were merged into calls without a line",
                a.merged
            );
        }
        if a.by_range > 0 {
            let (loops, are) = if a.by_range == 1 {
                ("loop", "is")
            } else {
                ("loops", "are")
            };
            out += &format!(
                "; {} {loops} of these {are} at different lines of the same range",
                a.by_range
            );
        }
        out.push('\n');
        for other in &a.others {
            out += &format!("  {other}\n");
        }
    };
    part("loops", &c.loops);
    part("MPI calls", &c.mpi);
    for problem in &c.problems {
        out += &format!("note: {problem}\n");
    }
    out
}
