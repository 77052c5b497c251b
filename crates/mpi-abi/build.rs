//! Turns `functions.txt`, the one table of MPI functions, into a static array.

use std::fmt::Write;
use std::path::Path;

fn camel(word: &str) -> String {
    let part = |p: &str| {
        let mut letters = p.chars();
        letters
            .next()
            .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
    };
    word.split('-').map(part).collect()
}

fn main() {
    println!("cargo:rerun-if-changed=functions.txt");
    let table =
        std::fs::read_to_string("functions.txt").expect("functions.txt stands beside build.rs");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split_whitespace().collect())
        .collect();
    let mut out = format!(
        "/// Every wrapped function, sorted by name.\npub static FUNCTIONS: [Function; {}] = [\n",
        rows.len()
    );
    for row in rows {
        let [name, class, mode, roles @ ..] = row.as_slice() else {
            panic!("bad row in functions.txt: {row:?}")
        };
        let roles: Vec<String> = roles
            .iter()
            .map(|r| format!("Role::{}", camel(r)))
            .collect();
        writeln!(
            out,
            "Function {{ name: \"{name}\", class: Class::{}, mode: Mode::{}, roles: &[{}] }},",
            camel(class),
            camel(mode),
            roles.join(", ")
        )
        .expect("writing to a string succeeds");
    }
    out.push_str("];\n");
    let dir = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&dir).join("functions.rs"), out).expect("OUT_DIR can be written");
}
