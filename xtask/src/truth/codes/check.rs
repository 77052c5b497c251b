//! Builds and runs all real codes, to see that their recipes hold on this machine: `cargo xtask codes`.

use super::{Code, Tree};
use crate::shell::{Done, output};
use std::path::Path;
use std::time::Instant;

/// Seconds that a run may take here: the machine may be busy with other work.
const LONGEST_CHECK: u32 = 300;

/// Builds and runs the codes of these names, or all; prints a line for each with what it takes. With `--coverage`
/// also builds and runs them with counters; with `--list` only prints the table of codes.
///
/// # Errors
/// Names the codes that do not build or run.
pub fn check(arguments: &[String]) -> Done {
    let (options, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|a| a.starts_with("--"));
    if let Some(wrong) = options
        .iter()
        .find(|o| !["--coverage", "--list"].contains(&o.as_str()))
    {
        return Err(format!("codes has no option {wrong}"));
    }
    let option = |name: &str| options.iter().any(|o| *o == name);
    let all = Code::all()?;
    if let Some(unknown) = names.iter().find(|n| !all.iter().any(|c| c.name == ***n)) {
        let known: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
        return Err(format!(
            "there is no code {unknown}; the codes are {}",
            known.join(", ")
        ));
    }
    let mut failed = Vec::new();
    for code in &all {
        if !names.is_empty() && !names.iter().any(|n| **n == code.name) {
            continue;
        }
        if option("--list") {
            println!("| {} |", code.describe().join(" | "));
        } else if let Err(e) = check_one(code, option("--coverage")) {
            println!("{}: {e}", code.name);
            failed.push(code.name.as_str());
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "these codes do not build or run: {}",
            failed.join(", ")
        ))
    }
}

fn check_one(code: &Code, coverage: bool) -> Done {
    let since = Instant::now();
    let tree = code.prepare()?;
    let built = since.elapsed().as_secs_f64();
    let files = tree.patchable();
    let Some(file) = files.first() else {
        return Err("no file matches patch".into());
    };
    let mut line = format!("{}: prepared in {built:.1} s", code.name);
    for &ranks in &code.scales {
        line += &format!("; {ranks} ranks {:.1} s", run(&tree, ranks)?);
    }
    let since = Instant::now();
    rebuild_with_comment(&tree, file)?;
    line += &format!(
        "; {} files to patch, rebuilt in {:.1} s",
        files.len(),
        since.elapsed().as_secs_f64() / 2.0
    );
    if coverage {
        let since = Instant::now();
        let tree = code.prepare_coverage()?;
        let built = since.elapsed().as_secs_f64();
        let ranks = code.scales.first().copied().unwrap_or(2);
        let ran = run(&tree, ranks)?;
        let counters = output(
            std::process::Command::new("find")
                .arg(tree.root())
                .args(["-name", "*.gcda"]),
        )?;
        let counters = counters.lines().count();
        line += &format!(
            "; coverage prepared in {built:.1} s, {ranks} ranks {ran:.1} s, {counters} counted files"
        );
    }
    println!("{line}");
    Ok(())
}

/// Seconds of a run.
fn run(tree: &Tree, ranks: u32) -> Result<f64, String> {
    let since = Instant::now();
    let mut command = tree.command_within(LONGEST_CHECK, ranks, &[], &[])?;
    output(&mut command).map_err(|e| format!("{ranks} ranks: {e}"))?;
    Ok(since.elapsed().as_secs_f64())
}

/// Patches a file with an empty line at its end, builds, restores and builds again.
fn rebuild_with_comment(tree: &Tree, file: &Path) -> Done {
    let path = tree.root().join(file);
    let mut text = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.push(b'\n');
    tree.patch(file, &text)?;
    let built = tree.rebuild();
    tree.restore()?;
    built.and_then(|()| tree.rebuild())
}
