//! Where the collector is linked into a program, the functions of MPI that it calls itself must be linked in too.

use std::path::Path;

/// Names in the sources that are no functions called: parts of names, what is answered without a library, and
/// those of the program's own calls that are distinguished by their names.
const NOT_CALLED: [&str; 6] = [
    "MPI_Cart",
    "MPI_Comm_create_from_group",
    "MPI_Comm_create_group",
    "MPI_Dist_graph",
    "MPI_Finalized",
    "MPI_Graph",
];

/// The names in quotation marks that begin as those of MPI. Names for the loader have a `c` before them.
fn named(text: &str) -> Vec<String> {
    let words = text.split(['"', '\n']).collect::<Vec<_>>();
    let mine = words.windows(2).filter(|w| !w[0].ends_with('c'));
    let words = mine.map(|w| w[1]).filter(|w| w.starts_with("MPI_"));
    let plain = |w: &&str| w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    words.filter(plain).map(str::to_string).collect()
}

#[test]
fn functions_that_the_collector_calls_are_linked_in() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let meaning = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mpi-call/src");
    let mut open = vec![sources.clone(), meaning];
    let mut called = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("sources").flatten() {
            let path = entry.path();
            if path.ends_with("parameters") {
                // Of a program that the collector is linked into, no trace is tested.
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name != "tests.rs") {
                called.extend(named(&std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    let table = std::fs::read_to_string(sources.join("libraries/linked.rs")).expect("text");
    let known: Vec<&str> = table.split_whitespace().collect();
    let linked = |name: &String| {
        known
            .iter()
            .any(|w| w.trim_end_matches(';') == format!("P{name}"))
    };
    called.retain(|name| {
        name != "MPI_Abort" && !NOT_CALLED.contains(&name.as_str()) && !linked(name)
    });
    assert_eq!(called, Vec::<String>::new(), "add them to linked.rs");
}
