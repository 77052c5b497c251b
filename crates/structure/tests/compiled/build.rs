//! Small programs, compiled here.

use headwater_model::psg::{Function, ModuleStructure, VertexKind};
use headwater_structure::{Options, analyse};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compilers of C that are tested with the same expectations.
pub const COMPILERS: [&str; 2] = ["gcc", "aarch64-linux-gnu-gcc"];

/// Runs a program in a directory; `None` where it is not there.
pub fn run(dir: &Path, program: &str, args: &[&str]) -> Option<()> {
    match Command::new(program).args(args).current_dir(dir).status() {
        Ok(status) => {
            assert!(status.success(), "{program} {args:?}");
            Some(())
        }
        Err(_) => {
            eprintln!("{program} is not installed: not tested");
            None
        }
    }
}

/// Compiles `text` to `module` in `dir`; `None` where the compiler is not there.
pub fn module(
    dir: &Path,
    compiler: &str,
    flags: &[&str],
    extension: &str,
    text: &str,
) -> Option<PathBuf> {
    let source = format!("source.{extension}");
    std::fs::write(dir.join(&source), text).expect("writes");
    let args = [flags, &["-o", "module", &source]].concat();
    run(dir, compiler, &args)?;
    Some(dir.join("module"))
}

/// Compiles a library that has `MPI_Barrier`, and returns the flag that links executables with it.
pub fn barrier(dir: &Path, compiler: &str) -> Option<&'static str> {
    let source = "int MPI_Barrier(void *c) { return c != 0; }";
    std::fs::write(dir.join("barrier.c"), source).expect("writes");
    let args = ["-shared", "-fPIC", "-o", "barrier.so", "barrier.c"];
    run(dir, compiler, &args).map(|()| "-Wl,--no-as-needed,./barrier.so")
}

/// Compiles `text` to a shared object without start files, whose code is not ours.
pub fn library(
    dir: &Path,
    compiler: &str,
    flags: &[&str],
    extension: &str,
    text: &str,
) -> Option<PathBuf> {
    let flags = [flags, &["-shared", "-fPIC", "-nostartfiles"]].concat();
    module(dir, compiler, &flags, extension, text)
}

/// A library of C by every compiler that is there, in each of the ways (flags with spaces between):
/// what made it, for messages, and its structure.
pub fn libraries(text: &str, ways: &[&str]) -> Vec<(String, ModuleStructure)> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut out = Vec::new();
    for (compiler, way) in COMPILERS
        .iter()
        .flat_map(|c| ways.iter().map(move |w| (c, w)))
    {
        let flags: Vec<&str> = way.split(' ').collect();
        if let Some(file) = library(dir.path(), compiler, &flags, "c", text) {
            let s = analyse(&file, &Options::default()).expect("an ELF file");
            out.push((format!("{compiler} {way}"), s));
        }
    }
    out
}

/// The function of a name.
pub fn function<'s>(s: &'s ModuleStructure, name: &str) -> &'s Function {
    let mut found = s.functions.iter().filter(|f| s.string(f.name) == name);
    found.next().unwrap_or_else(|| panic!("no function {name}"))
}

/// First and last lines of the vertices of one kind in a function.
pub fn lines(s: &ModuleStructure, name: &str, kind: VertexKind) -> Vec<(u32, u32)> {
    let vertices = function(s, name).vertices.iter();
    let of_kind = vertices.filter(|v| v.kind == kind);
    of_kind.map(|v| (v.first_line, v.last_line)).collect()
}

/// The calls of a function by line, each behind what is around it.
pub fn around(s: &ModuleStructure, name: &str) -> Vec<String> {
    let f = function(s, name);
    let label = |v: u32| {
        let v = &f.vertices[v as usize];
        let kind = match v.kind {
            VertexKind::Function => return None,
            VertexKind::Inlined => "inlined",
            VertexKind::Loop => "loop",
            VertexKind::IrreducibleLoop => "irreducible",
            VertexKind::Branch => "branch",
            VertexKind::MpiCall => "mpi",
            VertexKind::IndirectCall => "pointer",
            _ => "call",
        };
        let name = v
            .name
            .map_or(String::new(), |n| format!(" {}", s.string(n)));
        Some(match v.first_line {
            first if first == v.last_line => format!("{kind}{name} {first}"),
            first => format!("{kind}{name} {first}-{}", v.last_line),
        })
    };
    let mut out = Vec::new();
    for (i, call) in (0u32..).zip(&f.vertices).filter(|(_, v)| v.kind.is_call()) {
        let up = |v: &u32| f.vertices[*v as usize].parent;
        let mut way: Vec<String> = std::iter::successors(Some(i), up)
            .filter_map(label)
            .collect();
        way.reverse();
        out.push((call.first_line, way.join(" > ")));
    }
    out.sort();
    out.dedup();
    out.into_iter().map(|(_, way)| way).collect()
}
