//! Global state of the collector: all of it is in the table of DESIGN.md, and nearly all of it is private to its file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Statics that begin a line, by file, with the public ones marked. Those inside functions belong to these alone, and
/// `START` is only the address of a function.
fn in_sources() -> BTreeSet<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open: Vec<PathBuf> = vec![src.clone()];
    let mut found = BTreeSet::new();
    while let Some(at) = open.pop() {
        if at.is_dir() {
            open.extend(
                std::fs::read_dir(at)
                    .expect("sources")
                    .flatten()
                    .map(|e| e.path()),
            );
            continue;
        }
        let file = at
            .strip_prefix(&src)
            .expect("below it")
            .display()
            .to_string();
        for line in std::fs::read_to_string(&at).expect("text").lines() {
            let public = line.strip_prefix("pub ");
            let name = public.unwrap_or(line).strip_prefix("static ");
            let name = name.and_then(|rest| rest.split(':').next());
            if let Some(name) = name.filter(|name| *name != "START") {
                let mark = if public.is_some() { " (public)" } else { "" };
                found.insert(format!("{file} {name}{mark}"));
            }
        }
    }
    found
}

/// The rows of the table.
fn in_design() -> BTreeSet<String> {
    let design = Path::new(env!("CARGO_MANIFEST_DIR")).join("DESIGN.md");
    let text = std::fs::read_to_string(design).expect("text");
    let section = text
        .split("### State of the process")
        .nth(1)
        .expect("a section");
    let section = section.split("\n## ").next().expect("its end");
    let mut found = BTreeSet::new();
    for row in section.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in cells[2].split(", ") {
            let file = cells[1].trim_matches('`');
            found.insert(format!("{file} {}", name.replace('`', "")));
        }
    }
    found
}

#[test]
fn all_global_state_is_in_the_table_of_the_design() {
    assert_eq!(in_sources(), in_design());
}
