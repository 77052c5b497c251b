//! Compilers with the plugin that writes a program's structure, and what the plugin adds to their time.

use crate::setup;
use crate::shell::{Done, output};
use headwater_model::dependence::{Agreement, Comparison};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// A compiler, by the name that it is called by.
const COMPILER: &str = include_str!("../truth/compiler.sh");

/// The version of LLVM for C and C++, and that for Fortran: the distribution has no newer flang.
const LLVM: &str = "22";
const FLANG: &str = "19";

/// Sets the compilers of a command to those with the plugin. The files have no spaces in their names, as makefiles want it.
/// The times of one source in `each` are added to a file.
///
/// # Errors
/// A file cannot be written.
pub fn set(command: &mut Command, times: Option<(&Path, u32)>) -> Done {
    let place = setup::target().join("truth/compilers");
    std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    for (variable, name) in [("CC", "cc"), ("CXX", "cxx"), ("FC", "fc")] {
        let path = place.join(name);
        // Written only where it is not there: a running build may read it.
        if std::fs::read_to_string(&path).is_ok_and(|text| text == COMPILER) {
            command.env(variable, path);
            continue;
        }
        let permitted = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::write(&path, COMPILER)
            .and_then(|()| std::fs::set_permissions(&path, permitted))
            .map_err(|e| format!("{}: {e}", path.display()))?;
        command.env(variable, path);
    }
    command.env("HEADWATER", setup::headwater());
    command.env("HEADWATER_LLVM", LLVM);
    command.env("HW_FLANG", FLANG);
    if let Some((file, each)) = times {
        command.env("HW_TIMES", file);
        command.env("HW_EACH", each.to_string());
    }
    Ok(())
}

/// Sources, and seconds of CPU time of all without and with the plugin: of each source the shortest ones, as others disturb
/// only to longer times.
pub fn time(times: &str) -> Option<(usize, f64, f64)> {
    let (mut files, mut plain, mut with) = (0, 0.0, 0.0);
    for line in times.lines() {
        let numbers: Vec<f64> = line
            .split(' ')
            .skip(1)
            .filter_map(|w| w.parse().ok())
            .collect();
        let each: Vec<f64> = numbers
            .chunks_exact(2)
            .map(|pair| pair.iter().sum())
            .collect();
        let least = |skip: usize| each.iter().skip(skip).step_by(2).copied().reduce(f64::min);
        let (Some(a), Some(b)) = (least(0), least(1)) else {
            continue;
        };
        files += 1;
        plain += a;
        with += b;
    }
    (plain > 0.0).then_some((files, plain, with))
}

/// How the compiler's structure of a program agrees with that of its machine code.
///
/// # Errors
/// Nothing of what the compiler wrote is read, or not all of it.
pub fn compared(program: &Path) -> Result<Comparison, String> {
    #[derive(Deserialize)]
    struct Structure {
        comparison: Comparison,
    }
    let mut compare = Command::new(setup::headwater());
    compare.args(["structure", "--quiet", "--compare", "--json"]);
    let text = output(compare.arg(program))?;
    let read: Structure = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let found = read.comparison;
    match found.problems.first() {
        Some(problem) => Err(format!("{}: {problem}", program.display())),
        None => Ok(found),
    }
}

/// Head of the table of [`row`].
pub const HEAD: &str = "| program | vertices before contraction | after | loops that agree by line | MPI calls that agree | CPU seconds to compile | with the plugin |
| --- | --- | --- | --- | --- | --- | --- |
";

/// A program's vertices, agreement and compile time.
pub fn row(name: &str, found: &Comparison, times: &str) -> String {
    let share = |a: &Agreement| {
        let all = a.both + a.others.len();
        match a.share() {
            Some(share) => format!("{:.1} % ({} of {all})", 100.0 * share, a.both),
            None => "none".to_string(),
        }
    };
    let (plain, with) = match time(times) {
        Some((files, plain, with)) => (
            format!("{plain:.2} ({files} sources)"),
            format!("{with:.2} ({:+.1} %)", 100.0 * (with / plain - 1.0)),
        ),
        None => ("not measured".to_string(), "not measured".to_string()),
    };
    format!(
        "| {name} | {} | {} | {} | {} | {plain} | {with} |\n",
        found.before,
        found.after,
        share(&found.loops),
        share(&found.mpi),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_times_of_each_source_are_summed() {
        let times =
            "a.c 0.8 0.2 1.0 0.2 0.9 0.2 1.1 0.0 1.5 0.0 1.0 0.3\nb.c 1.5 0.5 1.9 0.1\nbroken\n";
        let (files, plain, with) = time(times).expect("times");
        assert_eq!(files, 2);
        assert!((plain - 3.0).abs() < 1e-9 && (with - 3.1).abs() < 1e-9);
        assert!(time("").is_none());
    }
}
