//! Files without symbols, debug information, or even unwind tables.

use crate::build::{around, barrier, libraries, module, run};
use crate::nesting::SOURCE;
use headwater_model::psg::ModuleStructure;
use headwater_structure::{Options, analyse};

#[test]
fn a_library_keeps_exported_names_and_loops() {
    for (how, s) in libraries(SOURCE, &["-O2 -s"]) {
        let calls = around(&s, "work");
        assert!(
            calls.iter().any(|c| c.contains("mpi MPI_Barrier")),
            "{how}: {calls:?}"
        );
        assert!(
            s.counts.loops >= 3 && s.counts.mpi == 1,
            "{how}: {:?}",
            s.counts
        );
        assert!(
            s.problems
                .iter()
                .any(|p| p.contains("no debug information"))
        );
    }
}

#[test]
fn functions_are_found_where_nothing_names_them() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (compiler, strip) in [
        ("gcc", "strip"),
        ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip"),
    ] {
        let Some(other) = barrier(dir.path(), compiler) else {
            continue;
        };
        let flags = [
            "-O1",
            "-fno-asynchronous-unwind-tables",
            "-fno-unwind-tables",
            other,
        ];
        let Some(file) = module(dir.path(), compiler, &flags, "c", SOURCE) else {
            continue;
        };
        let whole = analyse(&file, &Options::default()).expect("an ELF file");
        run(dir.path(), strip, &["module"]).expect("binutils are there with the compiler");
        let bare = analyse(&file, &Options::default()).expect("an ELF file");
        let starts = |s: &ModuleStructure| -> Vec<u64> {
            s.functions.iter().map(|f| f.ranges[0].0).collect()
        };
        let found = starts(&bare);
        for function in &whole.functions {
            let name = whole.string(function.name);
            if ["main", "work", "nest", "depth"].contains(&name) {
                let at = function.ranges[0].0;
                assert!(
                    found.contains(&at),
                    "{compiler}: {name} at {at:#x} of {found:x?}"
                );
            }
        }
        assert_eq!(bare.counts.loops, whole.counts.loops, "{compiler}");
        let main = bare.functions.iter().map(|f| bare.string(f.name));
        assert!(
            main.into_iter().any(|n| n.starts_with("func@0x")),
            "named by address"
        );
    }
}
