//! Regions that programs name, in C, Fortran and Python: they are frames of call paths, with their iterations, and wrong
//! ones do no harm.

use crate::case::{RECORDED, alone, everywhere, under};
use crate::counts::{calls, said};
use headwater_model::run::{CtxId, Region, RegionPart, RegionTime, Run};
use std::process::{Command, Output};

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// As much as is recorded of a name of 199 letters.
const LONG: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

/// The regions of a context, outermost first.
pub fn around(run: &Run, ctx: CtxId) -> Vec<&str> {
    let at = |ctx: CtxId| ctx.index().and_then(|i| run.contexts.get(i));
    let path = std::iter::successors(at(ctx), |c| at(c.parent));
    let modules = path.filter_map(|c| run.modules.get(c.module as usize));
    let mut names: Vec<&str> = modules.filter_map(|m| m.region()).collect();
    names.reverse();
    names
}

/// The rows of a region on a rank.
pub fn of<'r>(run: &'r Run, rank: u32, name: &'r str) -> Vec<&'r Region> {
    let all = run.regions.iter();
    all.filter(|r| r.rank == rank && run.region_name(r) == Some(name))
        .collect()
}

fn times(run: &Run, region: &Region, part: RegionPart) -> Vec<RegionTime> {
    let row = run.regions.iter().position(|r| r == region);
    let all = run.region_times.iter();
    all.filter(|t| Some(t.region as usize) == row && t.part == part)
        .cloned()
        .collect()
}

#[test]
fn regions_are_frames_of_call_paths_with_their_iterations() {
    let _alone = alone();
    let fixed = ["-I", INCLUDE, "-no-pie", "-fno-pie"];
    let ways = [("openmpi", &fixed[..2]), ("mpich", &fixed[..])];
    for case in (ways.iter()).filter_map(|(name, options)| under(name, "regions.c", options)) {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        for rank in 0..2 {
            let count = |name| -> Vec<(u64, u64, u64)> {
                let rows = of(&run, rank, name);
                rows.iter().map(|r| (r.begun, r.ended, r.count)).collect()
            };
            for name in ["step", "assemble", "solve"] {
                assert_eq!(count(name), [(2000, 2000, 2000)], "{name}");
            }
            assert_eq!(count("marked"), [(1, 1, 100)]);
            assert_eq!(count("early"), []);
            assert_eq!(
                (count("odd"), count("even")),
                (vec![(500, 500, 500)], vec![(500, 500, 500)])
            );
            for (name, times) in [("reused", 2), ("within", 2), ("inmost", 1)] {
                assert_eq!(count(name), [(times, times, times)], "{name}");
            }
            assert_eq!(count(LONG), [(1, 1, 1)]);
            assert_eq!(count("\\u001b[31mred \u{fffd}"), [(1, 1, 1)]);
            assert_eq!(count("unnamed"), [(1, 1, 1)]);

            let solve = of(&run, rank, "solve")[0];
            assert_eq!(around(&run, solve.ctx), ["step", "solve"]);
            let slowest = times(&run, solve, RegionPart::Slowest);
            let longest = slowest.iter().map(|t| t.wall_ns).max();
            assert_eq!(longest, Some(solve.max_ns));
            // A crowded machine may make others slow, too, but the sleep is never shorter than the program asks.
            let late = slowest.iter().find(|t| t.index == 700);
            assert!(
                late.is_some_and(|t| t.wall_ns >= 300_000_000),
                "{slowest:?}"
            );
            for part in [RegionPart::Class, RegionPart::Stretch] {
                let counts = times(&run, solve, part)
                    .iter()
                    .map(|t| t.count)
                    .sum::<u64>();
                assert_eq!(counts, 2000, "{part:?}");
            }
            let stretches = times(&run, solve, RegionPart::Stretch);
            let sum = stretches.iter().map(|t| t.wall_ns).sum::<u64>();
            assert_eq!(sum, solve.wall_ns);
        }
        let paths = calls(&run, "MPI_Barrier").map(|c| (around(&run, c.ctx), c.count));
        let paths: Vec<(Vec<&str>, u64)> = paths.filter(|(path, _)| path.len() == 2).collect();
        let expected = vec!["step", "solve"];
        assert!(!paths.is_empty() && paths.iter().all(|p| p.0 == expected));
        assert_eq!(paths.iter().map(|p| p.1).sum::<u64>(), 4000);
        let outside = calls(&run, "MPI_Allreduce").map(|c| around(&run, c.ctx));
        assert!(outside.into_iter().all(|path| path.is_empty()));
        assert_eq!(
            said(
                &run,
                "did not nest: inner (4 times), within (4 times), inmost (2 times), nobody (2 times)"
            ),
            1
        );
        assert_eq!(said(&run, "never ended: never (8 times)"), 1);
        assert_eq!(said(&run, "Regions can be recorded 64 deep"), 1);
        assert_eq!(said(&run, "a thread can have 1024 regions"), 1);
        assert_eq!(said(&run, "Records of rank"), 0);
    }
}

#[test]
fn regions_are_those_of_their_thread_and_process() {
    let _alone = alone();
    let options = ["-I", INCLUDE, "-fopenmp", "-pthread"];
    let Some(case) = under("openmpi", "regions_threads.c", &options) else {
        return;
    };
    let out = case.unchanged("", &[]);
    assert!(out.status.success(), "{out:?}");
    let run = case.recorded();
    for rank in 0..2 {
        let counts = |name| -> Vec<(u64, u64, u64)> {
            let rows = of(&run, rank, name);
            rows.iter().map(|r| (r.begun, r.ended, r.count)).collect()
        };
        // Each thread of the team has a row of its own.
        assert_eq!(counts("member"), [(100, 100, 100); 2]);
        let members = of(&run, rank, "member");
        assert_ne!(members[0].thread, members[1].thread);
        for name in ["member", "made"] {
            let expected = if name == "made" { "maker" } else { "team" };
            for region in of(&run, rank, name) {
                assert_eq!(around(&run, region.ctx), [expected, name]);
            }
        }
        assert_eq!(counts("made"), [(100, 100, 100)]);
        for name in ["team", "maker", "around"] {
            assert_eq!(counts(name), [(1, 1, 1)], "{name}");
        }
        // Of the child and of what begins after the end, nothing is recorded.
        assert_eq!(counts("child"), []);
        assert_eq!(counts("afterwards"), []);
        assert_eq!(counts("past the end"), [(1, 0, 0)]);
    }
    let paths = calls(&run, "MPI_Barrier").map(|c| around(&run, c.ctx));
    assert!(paths.into_iter().all(|path| path == ["around"]));
    assert_eq!(said(&run, "did not nest"), 0);
    assert_eq!(said(&run, "never ended"), 0);
}

#[test]
fn fortran_names_regions() {
    let _alone = alone();
    let module = format!("{INCLUDE}/headwater_regions.f90");
    for case in everywhere("regions.f90", &[&module]).take(1) {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        let run = case.recorded();
        let step = of(&run, 1, "step");
        assert_eq!(step.iter().map(|r| r.count).sum::<u64>(), 50);
        let paths = calls(&run, "MPI_Barrier").map(|c| around(&run, c.ctx));
        assert!(paths.into_iter().all(|path| path == ["step"]));
    }
}

#[test]
fn python_names_regions() {
    let _alone = alone();
    let Some(case) = under("openmpi", "steps.c", &[]) else {
        return;
    };
    // `python3` may be a script that looks for the interpreter. Not every machine has it.
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let Some(found) = asked.ok().filter(|out| out.status.success()) else {
        return;
    };
    let interpreter = String::from_utf8_lossy(&found.stdout).trim().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/regions.py");
    let shell = |before: &str| {
        format!(
            "export PYTHONPATH={INCLUDE} PYTHONDONTWRITEBYTECODE=1; {before} exec {interpreter} {script}"
        )
    };
    let bare = case.run(&shell(""), &[]);
    let recorded = case.run(&shell(RECORDED), &[]);
    assert!(recorded.status.success(), "{recorded:?}");
    // The launcher may mix the two ranks' lines: what is written counts, in any order.
    let written = |out: &Output| {
        let mut letters = out.stdout.clone();
        letters.sort_unstable();
        letters
    };
    assert_eq!(written(&bare), written(&recorded));
    let run = case.recorded();
    let [solve] = of(&run, 1, "solve")[..] else {
        panic!("{:?}", run.regions);
    };
    assert_eq!((solve.begun, solve.ended, solve.count), (2, 2, 6));
    assert_eq!(around(&run, solve.ctx), ["step", "solve"]);
}

#[test]
fn the_header_is_for_every_standard_of_c_and_cpp() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = dir.path().join("uses.c");
    let uses = "#include <headwater.h>\nint uses(void);\nint uses(void) {\n    HEADWATER_REGION(\"a\");\n    HEADWATER_BEGIN(\"b\");\n    HEADWATER_ITERATION();\n    HEADWATER_END(\"b\");\n    return 0;\n}\n";
    std::fs::write(&source, uses).expect("writes");
    let standards = ["c89", "c99", "gnu17", "c++98", "c++17"];
    for (standard, position) in standards
        .iter()
        .flat_map(|s| [(s, "-fPIE"), (s, "-fno-pie")])
    {
        let (compiler, language) = match standard.contains('+') {
            true => ("g++", "c++"),
            false => ("gcc", "c"),
        };
        let options = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        let out = Command::new(compiler)
            .args(options)
            .args([
                &format!("-std={standard}"),
                position,
                "-I",
                INCLUDE,
                "-x",
                language,
            ])
            .arg(&source)
            .output()
            .expect("a compiler is there");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{standard} {position}: {said}");
    }
}
