//! Debug information that lies elsewhere: split off, shared, found by name or by build id.

use crate::build::{around, function, library, run};
use crate::nesting::SOURCE;
use headwater_structure::{Options, analyse};
use std::path::Path;

const BINUTILS: &str = "binutils are there with the compiler";

/// The library that is split, or nothing where there is no compiler.
fn made(dir: &Path, id: &str) -> Option<std::path::PathBuf> {
    let id = format!("-Wl,--build-id={id}");
    library(dir, "gcc", &["-g", "-O2", &id], "c", SOURCE)
}

/// Splits the debug information off to a file at `to`.
fn split(dir: &Path, to: &str) {
    run(dir, "objcopy", &["--only-keep-debug", "module", to]).expect(BINUTILS);
    run(dir, "strip", &["module"]).expect(BINUTILS);
}

/// The same to a file beside it, which it links to.
fn linked(dir: &Path) {
    split(dir, "module.debug");
    let link = ["--add-gnu-debuglink=module.debug", "module"];
    run(dir, "objcopy", &link).expect(BINUTILS);
}

/// Whether the barrier is found with its lines, and functions that only the symbol table names.
fn check(file: &Path, options: &Options) {
    let s = analyse(file, options).expect("an ELF file");
    let calls = around(&s, "work");
    let barrier = calls.iter().find(|c| c.ends_with("mpi MPI_Barrier 23"));
    assert!(barrier.is_some(), "{calls:?}");
    assert!(s.strings.iter().any(|n| n == "inner"), "the inlined name");
    assert!(function(&s, "nest").vertices.len() > 2);
    assert_eq!(s.problems, Vec::<String>::new());
}

#[test]
fn by_the_link_beside_the_file_or_below_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = made(dir.path(), "none") else {
        return;
    };
    linked(dir.path());
    // Without a build id the sum in the link shows that it fits.
    check(&file, &Options::default());
    let below = dir.path().join(".debug");
    std::fs::create_dir(&below).expect("creates");
    let there = below.join("module.debug");
    std::fs::rename(dir.path().join("module.debug"), there).expect("moves");
    check(&file, &Options::default());
}

#[test]
fn by_build_id_in_the_folder_of_debug_files() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = made(dir.path(), "0xabcdef0123") else {
        return;
    };
    std::fs::create_dir_all(dir.path().join("root/.build-id/ab")).expect("creates");
    split(dir.path(), "root/.build-id/ab/cdef0123.debug");
    let options = Options {
        debug_roots: vec![dir.path().join("root")],
        ..Options::default()
    };
    check(&file, &options);
}

#[test]
fn a_debug_file_of_another_build_is_not_used() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = made(dir.path(), "0xabcdef0123") else {
        return;
    };
    linked(dir.path());
    let other = ["-g", "-O0", "-Wl,--build-id=0x99"];
    let inner = dir.path().join("other");
    std::fs::create_dir(&inner).expect("creates");
    let wrong = library(&inner, "gcc", &other, "c", SOURCE).expect("the compiler is there");
    std::fs::copy(wrong, dir.path().join("module.debug")).expect("copies");
    let s = analyse(&file, &Options::default()).expect("an ELF file");
    assert!(s.lines.is_empty(), "lines of another build");
    assert!(s.problems.iter().any(|p| p.contains("another build")));
    assert!(
        s.problems
            .iter()
            .any(|p| p.contains("no debug information"))
    );
}

#[test]
fn in_files_beside_objects_it_is_said_to_be_missing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let flags = ["-g", "-O2", "-gsplit-dwarf"];
    let Some(file) = library(dir.path(), "gcc", &flags, "c", SOURCE) else {
        return;
    };
    let s = analyse(&file, &Options::default()).expect("an ELF file");
    assert!(!s.lines.is_empty(), "lines are in the file itself");
    assert!(s.problems.iter().any(|p| p.contains("-gsplit-dwarf")));
}

#[test]
fn shared_by_several_files_with_dwz() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = made(dir.path(), "0xabcdef0123") else {
        return;
    };
    std::fs::copy(&file, dir.path().join("twin")).expect("copies");
    let shared = dir.path().join("shared.debug");
    let shared = shared.to_str().expect("a plain path");
    let args = ["-m", shared, "-M", shared, "module", "twin"];
    if run(dir.path(), "dwz", &args).is_some() {
        check(&file, &Options::default());
    }
}
