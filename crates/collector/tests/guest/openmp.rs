//! OpenMP programs under GNU's runtime and LLVM's: what threads of a team do and wait for is recorded for each of
//! them, and programs go on as they would.

use crate::case::{Case, alone, under};
use crate::library::target;
use headwater_model::run::{CtxId, Run, TeamWork, ThreadWait, WaitKind};
use std::path::PathBuf;
use std::process::Command;

/// Two fifths of the shortest time that a program sleeps: no sleep is shorter, and threads that come late because
/// the machine is busy come together.
const HELD_NS: u64 = 16_000_000;

/// The program under each runtime that there is a compiler for.
fn runtimes(source: &str) -> impl Iterator<Item = (&'static str, Case)> {
    let gnu = under("openmpi", source, &["-fopenmp"]);
    let there = Command::new("clang-14").arg("--version").output().is_ok();
    let mut all = vec![("GNU", gnu)];
    if there {
        let llvm = ["-cc=clang-14", "-fopenmp=libomp"];
        all.push(("LLVM", under("mpich", source, &llvm)));
    } else {
        eprintln!("{source} was not tested with LLVM's runtime: no clang-14");
    }
    match intel() {
        Some(lib) if there => {
            let (where_, then) = (format!("-L{lib}"), format!("-Wl,-rpath,{lib}"));
            let intel = ["-cc=clang-14", "-fopenmp=libiomp5", &where_, &then];
            all.push(("Intel", under("mpich", source, &intel)));
        }
        _ => eprintln!("{source} was not tested with Intel's runtime: it is not there"),
    }
    all.into_iter()
        .filter_map(|(name, case)| Some((name, case?)))
}

/// Where Intel's runtime is.
fn intel() -> Option<String> {
    let given = std::env::var_os("HEADWATER_IOMP").map(PathBuf::from);
    let mut places = given.into_iter().chain([target().join("iomp")]);
    let lib = places.find_map(|p| Some(p.join("lib")).filter(|l| l.join("libiomp5.so").exists()));
    lib.map(|l| l.display().to_string())
}

/// Rows of a rank's team whose stretches end at the team's end, or at a barrier of it.
fn stretches(run: &Run, rank: u32, at_end: bool) -> Vec<&TeamWork> {
    let rows = run.teams.iter().filter(|t| t.rank == rank);
    rows.filter(|t| (t.to == t.team) == at_end).collect()
}

/// Whether a context is `outer` or below it.
fn is_below(run: &Run, mut ctx: CtxId, outer: CtxId) -> bool {
    while ctx != outer {
        match ctx.index().and_then(|i| run.contexts.get(i)) {
            Some(c) => ctx = c.parent,
            None => return false,
        }
    }
    true
}

#[test]
fn who_comes_late_to_a_barrier_or_the_end_is_waited_for() {
    let _alone = alone();
    for (runtime, case) in runtimes("openmp.c") {
        case.unchanged("", &["barriers"]);
        let run = case.recorded();
        for rank in 0..2 {
            for (at_end, late) in [(false, 1), (true, 0)] {
                let rows = stretches(&run, rank, at_end);
                let wait = |late_one: bool| {
                    let rows = rows.iter().filter(|r| (r.thread == late) == late_one);
                    rows.map(|r| r.wait_ns).sum::<u64>()
                };
                let teams: Vec<_> = rows.iter().map(|r| (r.team, r.from, r.to)).collect();
                assert!(
                    teams.len() == 2 && teams[0] == teams[1],
                    "{runtime}: {rows:?}"
                );
                assert!(rows.iter().all(|r| r.count == 3), "{runtime}: {rows:?}");
                assert!(
                    wait(false) > 3 * HELD_NS && wait(true) < wait(false) / 2,
                    "{runtime}: {rows:?}"
                );
            }
        }
    }
}

/// Whether a library is a runtime of OpenMP: libgomp, LLVM's libomp or Intel's libiomp5.
fn is_runtime(name: &str) -> bool {
    ["libgomp", "libomp", "libiomp"]
        .iter()
        .any(|r| name.starts_with(r))
}

/// The names of the libraries from a context outward to a team, innermost first; none if it is not below the team.
fn way_to(run: &Run, ctx: CtxId, team: CtxId) -> Vec<&str> {
    let mut way = Vec::new();
    let mut at = ctx;
    while at != team {
        let Some(context) = at.index().and_then(|i| run.contexts.get(i)) else {
            return Vec::new();
        };
        let module = run.modules.get(context.module as usize);
        let path = module.map_or("", |m| m.path.as_str());
        way.push(path.rsplit('/').next().unwrap_or(path));
        at = context.parent;
    }
    way
}

#[test]
fn a_teams_computation_is_below_the_call_that_began_it() {
    let _alone = alone();
    for (runtime, case) in runtimes("openmp.c") {
        case.unchanged("", &["computes"]);
        let run = case.recorded();
        let teams: Vec<CtxId> = stretches(&run, 0, true).iter().map(|t| t.team).collect();
        assert!(
            teams.len() == 2 && teams[0] == teams[1],
            "{runtime}: {teams:?}"
        );
        for thread in 0..2 {
            let samples = run
                .samples
                .iter()
                .filter(|s| (s.rank, s.thread) == (0, thread));
            let (all, below) = samples.fold((0, 0), |(all, below), s| {
                let cpu = s.cpu_ns;
                (
                    all + cpu,
                    below
                        + if is_below(&run, s.ctx, teams[0]) {
                            cpu
                        } else {
                            0
                        },
                )
            });
            assert!(
                below > 0 && below * 10 >= all * 9,
                "{runtime}, thread {thread}: {below} of {all}"
            );
        }
        let program = case.program.file_name().and_then(|name| name.to_str());
        let mut is_seen = false;
        for sample in run.samples.iter().filter(|s| s.rank == 0) {
            let way = way_to(&run, sample.ctx, teams[0]);
            // The innermost frames may be the runtime's, or of what it calls; those that called the program's code are left
            // out.
            let mut outward = (way.iter()).skip_while(|name| Some(**name) != program);
            is_seen |= outward.next().is_some();
            assert!(outward.all(|name| !is_runtime(name)), "{runtime}: {way:?}");
        }
        assert!(is_seen, "{runtime}: no sample is in the program");
    }
}

#[test]
fn who_waits_for_a_lock_knows_who_held_it_and_where() {
    let _alone = alone();
    for (runtime, case) in runtimes("openmp.c") {
        case.unchanged("", &["locks"]);
        let run = case.recorded();
        let of = |kind| {
            run.waits
                .iter()
                .filter(move |w| w.kind == kind && w.rank == 0)
        };
        let long: Vec<_> = of(WaitKind::Critical)
            .filter(|w| w.max_ns > HELD_NS)
            .collect();
        assert_eq!(long.len(), 4, "{runtime}: {long:?}");
        for wait in long {
            assert_eq!(wait.holder, 1 - wait.thread, "{runtime}: {wait:?}");
            assert_ne!(wait.holder_ctx, CtxId::NONE, "{runtime}: {wait:?}");
        }
        let ordered: Vec<_> = of(WaitKind::Ordered).collect();
        assert!(
            ordered.iter().any(|w| w.max_ns > HELD_NS),
            "{runtime}: {ordered:?}"
        );
    }
}

#[test]
fn locks_have_other_names_in_fortran() {
    let _alone = alone();
    let Some(case) = under("openmpi", "openmp.f90", &["-fopenmp"]) else {
        return;
    };
    case.unchanged("", &[]);
    let run = case.recorded();
    let long = |w: &&ThreadWait| w.kind == WaitKind::Critical && w.max_ns > HELD_NS;
    let long: Vec<_> = run.waits.iter().filter(long).collect();
    assert_eq!(long.len(), 6, "{long:?}");
    assert!(long.iter().all(|w| w.holder == 1 - w.thread), "{long:?}");
}

#[test]
fn tasks_in_a_barrier_are_work() {
    let _alone = alone();
    for (runtime, case) in runtimes("openmp.c") {
        case.unchanged("", &["tasks"]);
        let run = case.recorded();
        for rank in 0..2 {
            let of = |thread| {
                let rows = run
                    .teams
                    .iter()
                    .filter(move |t| (t.rank, t.thread) == (rank, thread));
                rows.fold((0, 0, 0), |(wall, locked, wait), t| {
                    (wall + t.wall_ns, locked + t.locked_ns, wait + t.wait_ns)
                })
            };
            let (one, other) = (of(0), of(1));
            // The time in tasks is work of the thread that did them, and nobody's wait.
            let worked = one.0 - one.1 + other.0 - other.1;
            assert!(worked > 16 * 10_000_000, "{runtime}: {one:?} {other:?}");
            // The other one may have come later than the one that began.
            let (all, others) = (one.0 + one.2, other.0 + other.2);
            assert!(others < all + HELD_NS, "{runtime}: {one:?} {other:?}");
        }
    }
}

#[test]
fn regions_of_all_kinds_are_as_they_are_unseen() {
    let _alone = alone();
    for (runtime, case) in runtimes("openmp.c") {
        // LLVM's runtime and Intel's hang now and then where a region is cancelled, also without us; and threads that
        // spin for each other where there are too few cores take too long in them.
        let settings = if runtime == "GNU" {
            ["OMP_WAIT_POLICY=active", "OMP_CANCELLATION=true"]
        } else {
            ["OMP_WAIT_POLICY=passive", "OMP_SCHEDULE=dynamic"]
        };
        for what in ["nested", "others", "early", "old"] {
            for setting in settings {
                let out = case.unchanged(&format!("export {setting};"), &[what]);
                assert!(out.status.success(), "{runtime}: {what} {setting}");
            }
        }
    }
}

/// As modules of interpreters do: nobody else sees the runtime.
#[test]
fn a_part_of_a_program_may_open_the_runtime_for_itself() {
    let _alone = alone();
    let Some(case) = under("openmpi", "loads.c", &[]) else {
        return;
    };
    for part in ["one.so", "other.so"] {
        case.with_library_by("openmp.c", part, &["-fopenmp"]);
    }
    case.unchanged("", &["barriers"]);
    let run = case.recorded();
    let rows = run.teams.iter().filter(|t| (t.rank, t.to) == (0, t.team));
    let threads = rows.map(|t| (t.thread, t.count));
    let seen = threads.fold([0; 2], |mut seen, (thread, count)| {
        seen[usize::from(thread != 0)] += count;
        seen
    });
    assert_eq!(seen, [6, 6], "{:?}", run.teams);
}
