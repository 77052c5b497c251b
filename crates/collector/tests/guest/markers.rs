//! Programs that mark regions for Caliper or Score-P: the regions are recorded, and the tool still gets every call.

use crate::case::alone;
use crate::counts::said;
use crate::regions::{around, of};
use crate::without_mpi::Program;
use std::path::Path;
use std::process::Command;

/// Compiles into this folder.
fn compiled(dir: &Path, out: &str, options: &[&str]) {
    let built = Command::new("c++")
        .args(["-g", "-O1", "-fPIC", "-Wl,-rpath,.", "-o", out])
        .args(options)
        .current_dir(dir)
        .output()
        .expect("a compiler");
    assert!(built.status.success(), "{built:?}");
}

#[test]
fn regions_of_other_tools_are_regions_and_their_tools_are_told() {
    let _alone = alone();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let [library, source] = ["others_markers.cpp", "marked.cpp"].map(|name| {
        let path = sources.join(name);
        path.display().to_string()
    });
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    compiled(at, "libmarkers.so", &["-shared", &library]);
    compiled(at, "marked", &[&source, "-L.", "-lmarkers"]);
    compiled(at, "part.so", &["-shared", &source, "-L.", "-lmarkers"]);
    compiled(at, "opens", &["-DOPENS", &source, "-ldl"]);
    for (name, unmeasured) in [("marked", false), ("marked", true), ("opens", false)] {
        let mut program = Program::in_folder(at, name);
        if unmeasured {
            program.variable = Some(("UNMEASURED", "1"));
        }
        let run = program.recorded("");
        let count = |name| -> Vec<(u64, u64, u64)> {
            let rows = of(&run, 0, name);
            rows.iter().map(|r| (r.begun, r.ended, r.count)).collect()
        };
        assert_eq!(count("c loop"), [(1, 1, 30)]);
        assert_eq!(count("loop"), [(1, 1, 40)]);
        assert_eq!(count("assemble"), [(40, 40, 40)]);
        for half in ["odd", "even", "outer", "inner", "by name"] {
            assert_eq!(count(half), [(20, 20, 20)], "{half}");
        }
        // Where nothing is measured, all handles are alike, and their names are not known.
        match unmeasured {
            true => assert_eq!(count("unnamed"), [(40, 40, 40)]),
            false => ["entered", "beside"]
                .iter()
                .for_each(|name| assert_eq!(count(name), [(20, 20, 20)], "{name}")),
        }
        assert_eq!(count("no region"), []);
        let odd = of(&run, 0, "odd")[0];
        assert_eq!(around(&run, odd.ctx), ["loop", "assemble", "odd"]);
        let inner = of(&run, 0, "inner")[0];
        assert_eq!(around(&run, inner.ctx), ["outer", "inner"]);
        assert_eq!(said(&run, "did not nest"), 0, "{:?}", run.header.missing);
    }
}
