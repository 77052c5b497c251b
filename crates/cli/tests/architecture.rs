//! The order of the crates, and what they must not do.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates in the order of the data; each may use only those before it.
const ORDER: [&str; 10] = [
    "model",
    "mpi-abi",
    "format",
    "structure",
    "collector",
    "launch",
    "graph",
    "passes",
    "report",
    "cli",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates/cli has a parent")
        .to_path_buf()
}

fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut open = vec![crates().join(name).join("src")];
    let mut out = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir)
            .expect("a folder of sources")
            .flatten()
        {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                out.push((path, text));
            }
        }
    }
    out
}

#[test]
fn dependencies_point_back_along_the_datas_way() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let out = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(crates())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&out.stdout).expect("cargo gives JSON");
    let place = |name: &str| {
        let short = name.strip_prefix("headwater-").unwrap_or("cli");
        ORDER.iter().position(|c| *c == short)
    };
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().unwrap_or("");
        if !name.starts_with("headwater") {
            continue;
        }
        let own = place(name).unwrap_or_else(|| panic!("crate {name} is not in the order"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().unwrap_or("");
            if on.starts_with("headwater") {
                assert!(place(on).is_some_and(|p| p < own), "{name} depends on {on}");
            }
        }
    }
}

#[test]
fn the_core_does_no_io_and_only_the_command_prints() {
    for name in &ORDER[..9] {
        for (path, text) in sources(name) {
            for forbidden in ["println!", "print!(", "eprintln!", "dbg!("] {
                let used = text
                    .lines()
                    .any(|l| !l.trim_start().starts_with("//") && l.contains(forbidden));
                assert!(
                    !used || text.contains("mod tests"),
                    "{} prints",
                    path.display()
                );
            }
            if ["model", "graph", "passes", "report"].contains(name) {
                assert!(
                    !text.contains("std::fs") && !text.contains("std::net"),
                    "{} does I/O",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for name in ORDER {
        for (path, text) in sources(name) {
            assert!(
                text.starts_with("//!"),
                "{} does not open with its job",
                path.display()
            );
        }
    }
}
