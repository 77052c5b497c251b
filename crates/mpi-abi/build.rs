//! Turns `functions.txt`, the one table of MPI functions, into static arrays.

#[path = "build/words.rs"]
mod words;

use std::fmt::Write;
use std::path::Path;
use words::{Argument, Row};

/// Words that are roles, as in `src/functions.rs`.
const ROLES: [&str; 36] = [
    "comm",
    "newcomm",
    "req",
    "reqs",
    "n",
    "status",
    "statuses",
    "flag",
    "index",
    "indices",
    "outcount",
    "message",
    "count",
    "counts",
    "rcount",
    "rcounts",
    "type",
    "types",
    "rtype",
    "dest",
    "source",
    "tag",
    "rtag",
    "root",
    "win",
    "newwin",
    "group",
    "assert",
    "lock",
    "newsession",
    "parts",
    "low",
    "high",
    "given",
    "file",
    "newfile",
];

fn camel(word: &str) -> String {
    let part = |p: &str| {
        let mut letters = p.chars();
        letters
            .next()
            .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
    };
    word.split('-').map(part).collect()
}

fn row(line: &str) -> Row<'_> {
    let mut words = line.split_whitespace();
    let mut next = || {
        words
            .next()
            .unwrap_or_else(|| panic!("bad row in functions.txt: {line}"))
    };
    let (name, class, mode) = (next(), next(), next());
    let arguments = words.map(|text| Argument::read(text, |word| ROLES.contains(&word)));
    Row {
        name,
        class,
        mode,
        arguments: arguments.collect(),
    }
}

fn main() {
    println!("cargo:rerun-if-changed=functions.txt");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/words.rs");
    let table =
        std::fs::read_to_string("functions.txt").expect("functions.txt stands beside build.rs");
    let lines = table.lines().filter(|l| !l.starts_with('#'));
    let rows: Vec<Row> = lines.map(row).collect();
    let mut functions = format!(
        "/// Every wrapped function, sorted by name.\npub static FUNCTIONS: [Function; {}] = [\n",
        rows.len()
    );
    let mut fields = format!("static FIELDS: [&[Field]; {}] = [\n", rows.len());
    for row in &rows {
        let of = |a: &Argument| format!("Role::{}", camel(a.role));
        let roles: Vec<String> = row.arguments.iter().map(of).collect();
        writeln!(
            functions,
            "Function {{ name: \"{}\", class: Class::{}, mode: Mode::{}, roles: &[{}] }},",
            row.name,
            camel(row.class),
            camel(row.mode),
            roles.join(", ")
        )
        .expect("writing to a string succeeds");
        writeln!(fields, "&[{}],", row.fields()).expect("writing to a string succeeds");
    }
    functions.push_str("];\n");
    fields.push_str("];\n");
    let dir = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, text) in [("functions.rs", functions), ("fields.rs", fields)] {
        std::fs::write(Path::new(&dir).join(name), text).expect("OUT_DIR can be written");
    }
}
