//! The order of the crates, and what they must not do: the invariants of ARCHITECTURE.md that no
//! single crate can hold by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates in the order of the data; each may use only those before it.
const ORDER: [&str; 24] = [
    "model",
    "mpi-abi",
    "mpi-call",
    "trace",
    "files",
    "format",
    "structure",
    "cpython",
    "call-path",
    "collector",
    "launch",
    "import",
    "graph",
    "load",
    "simulate",
    "virtual-run",
    "dataflow",
    "diagnosis",
    "report",
    "export",
    "viewer",
    "replay",
    "python",
    "cli",
];

/// Pairs that the order would allow and that must not be: the collector and its call paths are
/// guests in another's process and carry no more than they need.
const NEVER: [(&str, &str); 3] = [
    ("collector", "structure"),
    ("call-path", "structure"),
    ("call-path", "mpi-abi"),
];

/// Crates that open no file and no connection.
const PURE: [&str; 11] = [
    "model",
    "cpython",
    "mpi-call",
    "trace",
    "graph",
    "simulate",
    "virtual-run",
    "dataflow",
    "diagnosis",
    "report",
    "export",
];

/// Crates whose folders have an order, from left to right: code in a folder uses only its own folder and those to its
/// left. Other files beside the folders use what they need, and no folder uses them.
const FOLDERS: [(&str, &[&str]); 3] = [
    (
        "collector",
        &[
            "guest",
            "storage",
            "libraries",
            "trace",
            "sampling",
            "threads",
            "openmp",
            "end",
            "entry",
        ],
    ),
    (
        "dataflow",
        &["numbers", "run", "set", "algorithm", "flow", "pass"],
    ),
    (
        "diagnosis",
        &["measure", "find", "price", "explain", "pass", "paradigm"],
    ),
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
    let index = |short: &str| ORDER.iter().position(|c| *c == short);
    let place = |name: &str| index(name.strip_prefix("headwater-").unwrap_or("cli"));
    let mut seen = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().unwrap_or("");
        if !name.starts_with("headwater") {
            continue;
        }
        seen += 1;
        let own = place(name).unwrap_or_else(|| panic!("crate {name} is not in the order"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().unwrap_or("");
            if on.starts_with("headwater") {
                let earlier = place(on).is_some_and(|p| p < own);
                let never = NEVER
                    .iter()
                    .any(|(a, b)| place(name) == index(a) && place(on) == index(b));
                assert!(earlier && !never, "{name} depends on {on}");
            }
        }
    }
    assert_eq!(seen, ORDER.len(), "every crate of the order is there");
}

/// The lines of a file that are code of the crate itself: no comments, nothing from the tests on,
/// which are at the end of a file.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|l| !l.starts_with("#[cfg(test)]"))
        .filter(|l| !l.trim_start().starts_with("//"))
}

#[test]
fn the_core_does_no_io_and_only_the_command_prints() {
    let prints = [
        "println!",
        "print!(",
        "eprint",
        "dbg!(",
        "io::stdout",
        "io::stderr",
    ];
    let io = ["std::fs", "std::net", " fs::", "File::", "OpenOptions"];
    let (cli, libraries) = ORDER.split_last().expect("an order");
    assert_eq!(*cli, "cli");
    for name in libraries {
        for (path, text) in sources(name) {
            let holds = |list: &[&str]| code(&text).any(|l| list.iter().any(|f| l.contains(f)));
            assert!(!holds(&prints), "{} prints", path.display());
            let pure = PURE.contains(name);
            assert!(!pure || !holds(&io), "{} does I/O", path.display());
            if *name == "viewer" {
                // It opens no file, and its server has the only sockets.
                let server = path.ends_with("src/server.rs");
                let allowed = |f: &&str| server && *f == "std::net";
                let not: Vec<&str> = io.iter().copied().filter(|f| !allowed(f)).collect();
                assert!(!holds(&not), "{} does I/O", path.display());
            }
        }
    }
}

/// The first name of each path in a `use` tree that follows `crate::`: one, or those of a list in braces.
fn first_names(tree: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let text = text.trim_start();
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let Some(list) = tree.strip_prefix('{') else {
        return vec![name(tree)];
    };
    let (mut depth, mut out, mut from) = (0usize, Vec::new(), 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                out.push(name(&list[from..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                out.push(name(&list[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    // A comma may come after the last path.
    out.retain(|name| !name.is_empty());
    out
}

/// The lines of a text that are no comments.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|l| !l.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a file uses of its crate that is neither in its own folder nor in one to the left of it. `below` is the number
/// of modules between the root of the crate and the file's own.
fn uses_to_the_right(text: &str, below: usize, left: &[&str]) -> Vec<String> {
    let all = without_comments(text);
    let starts_word = |at: usize| {
        let before = all[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    };
    let named = all
        .match_indices("crate::")
        .filter(|(at, _)| starts_word(*at))
        .flat_map(|(at, word)| first_names(&all[at + word.len()..]));
    let mut out: Vec<String> = named
        .filter(|name| !left.contains(&name.as_str()))
        .collect();
    // A way to the root that does not name the crate.
    let to_root = "super::".repeat(below + 1);
    out.extend(code(text).any(|l| l.contains(&to_root)).then_some(to_root));
    out
}

#[test]
fn folders_use_only_those_before_them() {
    for (name, order) in FOLDERS {
        let src = crates().join(name).join("src");
        let mut there: Vec<String> = std::fs::read_dir(&src)
            .expect("a folder of sources")
            .flatten()
            .filter(|e| e.path().is_dir())
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        let mut known = order.to_vec();
        there.sort();
        known.sort_unstable();
        assert_eq!(there, known, "every folder of {name} has its place");
        for (path, text) in sources(name) {
            let inside = path.strip_prefix(&src).expect("a source of the crate");
            let parts: Vec<_> = inside.iter().map(|p| p.to_string_lossy()).collect();
            // A file beside a folder of its own name is its head.
            let folder = parts[0].trim_end_matches(".rs");
            let Some(own) = order.iter().position(|f| *f == folder) else {
                continue;
            };
            let below = parts.len() - 1 - usize::from(inside.ends_with("mod.rs"));
            let wrong = uses_to_the_right(&text, below, &order[..=own]);
            assert!(
                wrong.is_empty(),
                "{name}: {} uses {wrong:?}; it may use {:?} and nothing else of its crate",
                inside.display(),
                &order[..=own]
            );
        }
    }
}

/// What the folders of a crate, and the files directly in `src`, use of one another. Each use is known by the first name
/// after `crate::`; a folder counts as one.
fn uses_between_folders(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = crates().join(name).join("src");
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources(name) {
        let inside = path.strip_prefix(&src).expect("a source of the crate");
        let first = inside.iter().next().expect("a name").to_string_lossy();
        let own = first.trim_end_matches(".rs").to_string();
        if ["lib", "main"].contains(&own.as_str()) {
            continue;
        }
        // Tests may use what they like.
        if path.ends_with("tests.rs") {
            continue;
        }
        let (code, _) = text
            .split_once("#[cfg(test)]\nmod tests {")
            .unwrap_or((&text, ""));
        let code = without_comments(code);
        let used = code.split("crate::").skip(1).flat_map(first_names);
        let used = used.filter(|u| *u != own);
        all.entry(own.clone()).or_default().extend(used);
    }
    let known: BTreeSet<String> = all.keys().cloned().collect();
    all.values_mut()
        .for_each(|used| used.retain(|u| known.contains(u)));
    all
}

/// The names that can be reached from one.
fn reached(from: &str, uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let (mut open, mut out) = (vec![from.to_string()], BTreeSet::new());
    while let Some(at) = open.pop() {
        let next = uses.get(&at).into_iter().flatten();
        open.extend(next.filter(|n| out.insert((*n).clone())).cloned());
    }
    out
}

#[test]
fn no_folder_is_in_a_circle_of_imports() {
    for name in ORDER {
        let src = crates().join(name).join("src");
        let uses = uses_between_folders(name);
        for folder in uses.keys().filter(|f| src.join(f).is_dir()) {
            let circle = reached(folder, &uses).contains(folder);
            assert!(!circle, "{name}: {folder} uses itself through others");
        }
    }
}

#[test]
fn a_use_of_a_folder_to_the_right_is_found() {
    let wrong = |text: &str| uses_to_the_right(text, 1, &["a", "b"]);
    assert_eq!(wrong("use crate::a::{c, d};\nuse super::c;"), [""; 0]);
    assert_eq!(wrong("use crate::{a, b::{c, d}, e::f,};"), ["e"]);
    assert_eq!(wrong("fn f() { crate::c::g() }"), ["c"]);
    assert_eq!(wrong("//! See [`crate::c`].\nuse other_crate::c;"), [""; 0]);
    assert_eq!(wrong("use super::super::c::d;"), ["super::super::"]);
}

/// An invariant without a test is a hope.
#[test]
fn every_invariant_names_a_test_that_is_there() {
    let root = crates().join("..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page");
    let (_, list) = page
        .split_once("## Invariants")
        .expect("a list of invariants");
    let items: Vec<&str> = list.split("\n* ").skip(1).collect();
    assert!(!items.is_empty());
    for item in items {
        let named = item.split('`').skip(1).step_by(2).filter_map(|code| {
            let (file, test) = code.split_once("::")?;
            file.ends_with(".rs").then_some((file, test))
        });
        let named: Vec<(&str, &str)> = named.collect();
        assert!(!named.is_empty(), "no `file.rs::test` in: {item}");
        for (file, test) in named {
            let text = std::fs::read_to_string(crates().join(file));
            let text = text.unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(
                text.contains(&format!("fn {test}(")),
                "{file} has no {test}"
            );
        }
    }
}

/// A recipe is of no use if it names a file that was moved.
#[test]
fn contributing_names_files_that_are_there() {
    let root = crates().join("..");
    let page = std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("the page");
    let folders = ["crates/", "docs/", "xtask/", "testbed/"];
    let is_path = |code: &&str| folders.iter().any(|f| code.starts_with(f));
    let named = page.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = named.filter(is_path).collect();
    assert!(!paths.is_empty(), "no paths in backticks");
    for path in paths {
        assert!(root.join(path).exists(), "{path} is not there");
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
