//! The table of functions against the headers of every library installed: a function that one declares
//! and nobody lists would be lost silently, and one with other arguments be called with the wrong ones.

use headwater_mpi_abi::{Class, by_name};
use std::path::{Path, PathBuf};

/// What no wrapper can do, by how names begin, and why.
const LEFT_OUT: [(&str, &str); 9] = [
    ("MPI_DUP_FN", "a callback, given as a constant"),
    ("MPI_T_", "the tool interface is not communication"),
    ("MPI_Wtime", "a clock: returns a floating-point number"),
    ("MPI_Wtick", "the same"),
    ("MPI_Aint_add", "arithmetic on addresses"),
    ("MPI_Aint_diff", "the same"),
    (
        "MPI_Get_version",
        "programs look for it to see whether there is MPI",
    ),
    ("MPI_Get_library_version", "the same"),
    ("MPI_Abi_", "the same, and about the binary interface"),
];

/// Endings of the conversions of handles and statuses, which may be macros and give handles.
const CONVERSIONS: [&str; 8] = [
    "_f2c", "_c2f", "_f082c", "_c2f08", "_f2f08", "_f082f", "_fromint", "_toint",
];

/// Headers of Debian's libraries.
const DEBIAN: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
    "/usr/include/x86_64-linux-gnu/mpich/mpi_proto.h",
    "/usr/include/x86_64-linux-gnu/mpich/mpi.h",
];

/// Those of the Python index, as `cargo xtask setup` installs them: variable that says where, directory
/// below cargo's, headers.
const WHEELS: [(&str, &str, &[&str]); 3] = [
    ("HEADWATER_OPENMPI5", "openmpi5", &["mpi.h"]),
    (
        "HEADWATER_MPICH5",
        "mpich5",
        &["mpi.h", "mpi_proto.h", "mpi_abi.h"],
    ),
    ("HEADWATER_IMPI", "impi", &["mpi.h", "mpi_abi.h"]),
];

fn headers() -> Vec<PathBuf> {
    let test = std::env::current_exe().expect("this program has a path");
    let target = test.ancestors().nth(3).expect("the target folder");
    let mut all: Vec<PathBuf> = DEBIAN.iter().map(PathBuf::from).collect();
    for (variable, dir, names) in WHEELS {
        let given = std::env::var_os(variable).map(PathBuf::from);
        let places = given.into_iter().chain([target.join(dir)]);
        let mut places = places.map(|p| p.join("include"));
        let place = places.find(|p| names.iter().all(|n| p.join(n).exists()));
        let place = place.unwrap_or_else(|| target.join(dir));
        all.extend(names.iter().map(|n| place.join(n)));
    }
    all
}

/// A header without comments and directives.
fn code(text: &str) -> String {
    let mut rest = text;
    let mut bare = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        bare += before;
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    bare += rest;
    let whole = bare.replace("\\\n", " ");
    let lines = whole.lines().map(|l| l.split("//").next().unwrap_or(""));
    let lines: Vec<&str> = lines.filter(|l| !l.trim_start().starts_with('#')).collect();
    lines.join("\n")
}

/// Arguments of the list that `text` begins with, behind its parenthesis; `None` for a variadic one.
fn arguments(text: &str) -> Option<usize> {
    let (mut depth, mut commas) = (1, 0);
    let end = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 1 => commas += 1,
            _ => {}
        }
        depth == 0
    })?;
    let list = text.get(..end)?.trim();
    match list {
        "" | "void" => Some(0),
        _ if list.ends_with("...") => None,
        _ => Some(commas + 1),
    }
}

/// Functions declared in a header, and their numbers of arguments. A declared name is between its
/// type and its arguments; elsewhere something else is before it.
fn declared(header: &str) -> Vec<(String, Option<usize>)> {
    let text = code(header);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let found = text.match_indices("MPI_").filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let kind = before.trim_end();
        let typed = kind.len() < before.len()
            && kind.ends_with(|c| word(c) || c == '*')
            && !kind.ends_with("typedef");
        let rest = text.get(at..)?;
        let end = rest.find(|c| !word(c))?;
        let (name, rest) = rest.split_at(end);
        let list = rest.trim_start().strip_prefix('(')?;
        typed.then(|| (name.to_string(), arguments(list)))
    });
    found.collect()
}

fn cannot_be_wrapped(name: &str) -> bool {
    LEFT_OUT.iter().any(|(begins, _)| name.starts_with(begins))
        || CONVERSIONS.iter().any(|c| name.ends_with(c))
}

fn missing(header: &Path, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, count) in declared(text) {
        match by_name(&name) {
            None if cannot_be_wrapped(&name) => {}
            None => wrong.push(format!(
                "{name} of {} is not in functions.txt",
                header.display()
            )),
            Some(f) if count.is_none() && f.class == Class::Control => {}
            Some(f) if Some(f.roles.len()) != count => wrong.push(format!(
                "{name} has {} arguments in functions.txt, {count:?} in {}",
                f.roles.len(),
                header.display()
            )),
            Some(_) => {}
        }
    }
    wrong
}

#[test]
fn every_function_of_an_installed_header_is_wrapped() {
    for header in headers() {
        let Ok(text) = std::fs::read_to_string(&header) else {
            eprintln!("{} is not installed: not compared", header.display());
            continue;
        };
        let count = declared(&text).len();
        let split = header.with_file_name("mpi_proto.h").exists();
        assert!(count > 300 || split, "{}: {count}", header.display());
        let wrong = missing(&header, &text);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn a_function_that_nobody_wraps_is_reported() {
    let header = "
        /* int MPI_Commented(int a); */
        #define MPI_Macro(a) MPI_Send(a)
        typedef int (MPI_Copy_function)(MPI_Comm, int);
        typedef MPI_Aint (Add_function)(MPI_Aint, MPI_Aint);
        int MPI_Nothing(int a, void (*b)(int, int));
        MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
        int MPI_Pcontrol(const int level, ...);
        int MPI_Send(const void *buf, ...);
        int MPI_Barrier(MPI_Comm comm, int more) MPICH_API_PUBLIC;";
    let reported = missing(Path::new("mpi.h"), header);
    assert_eq!(
        reported,
        [
            "MPI_Nothing of mpi.h is not in functions.txt",
            "MPI_Send has 6 arguments in functions.txt, None in mpi.h",
            "MPI_Barrier has 1 arguments in functions.txt, Some(2) in mpi.h"
        ]
    );
}
