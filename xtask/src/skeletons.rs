//! Programs whose traces are measured: the communication of known benchmarks, and programs of many kinds of calls.
//!
//! One table and one loop: each program is one file in `testbed/skeletons`. What the programs are is in their heads.

use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{output, root};
use std::path::PathBuf;
use std::process::Command;

/// A program: its name, the arguments that it is run with, and on how many ranks.
#[derive(Debug)]
pub struct Skeleton {
    /// Name of its source file, without the ending.
    pub name: &'static str,
    /// Each of these is a run of its own.
    pub arguments: &'static [&'static str],
    /// Numbers of ranks.
    pub ranks: &'static [u32],
}

const USUAL: &[u32] = &[4, 16, 64];
const FEW: &[u32] = &[4, 16];

const fn skeleton(
    name: &'static str,
    arguments: &'static [&'static str],
    ranks: &'static [u32],
) -> Skeleton {
    Skeleton {
        name,
        arguments,
        ranks,
    }
}

/// All of them.
pub const ALL: &[Skeleton] = &[
    skeleton("cg", &["S"], USUAL),
    skeleton("lu", &["S"], USUAL),
    skeleton("mg", &["S"], USUAL),
    skeleton("sp", &["S"], USUAL),
    skeleton("bt", &["S"], USUAL),
    skeleton("is", &["S"], USUAL),
    skeleton(
        "inner",
        &["10", "1000", "10 branches", "1000 branches"],
        FEW,
    ),
    skeleton("mixed", &["2", "20"], FEW),
    skeleton("every", &["2", "20"], FEW),
    skeleton("mpmd", &["20", "1000"], USUAL),
    skeleton("random", &["1", "2", "3", "4 400"], FEW),
];

/// Builds those that are named, or all, and gives their executables.
pub fn build(request: &Request) -> Result<Vec<(&'static Skeleton, PathBuf)>, String> {
    if let Some(unknown) = (request.cases.iter()).find(|c| ALL.iter().all(|s| s.name != **c)) {
        let names: Vec<&str> = ALL.iter().map(|s| s.name).collect();
        return Err(format!(
            "there is no skeleton {unknown}; there are {}",
            names.join(", ")
        ));
    }
    let wanted =
        |s: &&Skeleton| request.cases.is_empty() || request.cases.iter().any(|c| c == s.name);
    ALL.iter()
        .filter(wanted)
        .map(|s| build_one(s.name, request.mpi).map(|program| (s, program)))
        .collect()
}

fn build_one(name: &str, mpi: Mpi) -> Result<PathBuf, String> {
    let out = setup::target().join("skeletons").join(mpi.compilers());
    std::fs::create_dir_all(&out).map_err(|e| e.to_string())?;
    let program = out.join(name);
    output(
        Command::new(format!("mpicc.{}", mpi.compilers()))
            .args(["-g", "-O1", "-o"])
            .arg(&program)
            .arg(root().join(format!("testbed/skeletons/{name}.c"))),
    )?;
    Ok(program)
}

/// Builds and prints what was built, and how it is run.
pub fn command(arguments: &[String]) -> crate::shell::Done {
    for (skeleton, program) in build(&Request::parse(arguments)?)? {
        println!(
            "{} {}  on {:?} ranks",
            program.display(),
            skeleton.arguments.join(" | "),
            skeleton.ranks
        );
    }
    Ok(())
}
