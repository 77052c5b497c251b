//! The collector in other people's programs: each runs bare and with it, and must say and return the
//! same; what it recorded is read back. Libraries that are not installed are left out, which is said.

use headwater_format::spool::read_spool;
use headwater_model::run::{CtxId, Run, peer, tag};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

/// Jobs run one after the other: more ranks than cores are slow, not more telling.
static MACHINE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector as it is now, made on demand.
fn collector() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "-p", "headwater-collector"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.is_ok_and(|s| s.success()), "the collector builds");
    let test = std::env::current_exe().expect("this program has a path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests lie in the target folder");
    target.join("release/libheadwater_collector.so")
}

/// Compiles a program of `programs/`; `None` where the compiler is not installed.
fn compiled(dir: &Path, source: &str, library: &str) -> Option<PathBuf> {
    let compiler = match source.rsplit('.').next() {
        Some("c") => "mpicc",
        Some("cpp") => "mpicxx",
        _ => "mpif90",
    };
    let program = dir.join(source.split('.').next().unwrap_or(source));
    let status = Command::new(format!("{compiler}.{library}"))
        .args(["-g", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/programs")
                .join(source),
        )
        .current_dir(dir)
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "{source} compiles for {library}");
            Some(program)
        }
        Err(_) => {
            eprintln!("{compiler}.{library} is not installed: {source} was not tested with it");
            None
        }
    }
}

/// What runs in place of the program, by a shell: `"$@"` is the program with its arguments.
const PLAIN: &str = r#"exec "$@""#;

/// Said before it to have it recorded.
const RECORDED: &str = r#"export HEADWATER_SPOOL="${SPOOL_HERE-$SPOOL}" LD_PRELOAD="$COLLECTOR";"#;

/// A program under one library.
struct Case {
    dir: TempDir,
    library: &'static str,
    program: PathBuf,
}

/// The program under every library that is there.
fn cases(source: &str) -> impl Iterator<Item = Case> + '_ {
    LIBRARIES.into_iter().filter_map(move |library| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = compiled(dir.path(), source, library)?;
        Some(Case {
            dir,
            library,
            program,
        })
    })
}

impl Case {
    fn spool(&self) -> PathBuf {
        self.dir.path().join("spool")
    }

    /// Two ranks, each by a shell that sees `SPOOL` and `COLLECTOR`; 124 where they never end.
    fn run(&self, shell: &str, arguments: &[&str]) -> Output {
        self.run_inside(&["timeout", "-k", "5", "60"], shell, arguments)
    }

    /// The same, with words before the launcher.
    fn run_inside(&self, before: &[&str], shell: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .arg(format!("mpirun.{}", self.library));
        if self.library == "openmpi" {
            command.args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
        }
        command
            .args(["-n", "2", "sh", "-c", shell, "sh"])
            .arg(&self.program)
            .args(arguments)
            .env("SPOOL", self.spool())
            .env("COLLECTOR", collector())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .current_dir(self.dir.path())
            .output()
            .expect("the launcher runs")
    }

    fn record(&self, arguments: &[&str]) -> Output {
        self.run(&format!("{RECORDED} {PLAIN}"), arguments)
    }

    /// Runs bare and recorded, by `around` both times; output and code must be the same.
    fn unchanged(&self, around: &str, arguments: &[&str]) -> Output {
        let bare = self.run(&format!("{around} {PLAIN}"), arguments);
        let recorded = self.run(&format!("{around} {RECORDED} {PLAIN}"), arguments);
        let what = format!("{} under {}", self.program.display(), self.library);
        assert_eq!(
            (bare.status.code(), String::from_utf8_lossy(&bare.stdout)),
            (
                recorded.status.code(),
                String::from_utf8_lossy(&recorded.stdout)
            ),
            "{what}: {}",
            String::from_utf8_lossy(&recorded.stderr)
        );
        recorded
    }

    fn recorded(&self) -> Run {
        read_spool(&self.spool()).unwrap_or_else(|e| panic!("{}: {e}", self.library))
    }
}

fn calls_of(run: &Run, name: &str) -> u64 {
    let is = |func: u16| run.functions.get(func as usize).is_some_and(|f| f == name);
    run.calls
        .iter()
        .filter(|c| is(c.func))
        .map(|c| c.count)
        .sum()
}

#[test]
fn mpi_may_be_used_and_ended_while_the_program_exits() {
    let _alone = alone();
    for case in cases("late_finalize.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        assert_eq!(calls_of(&case.recorded(), "MPI_Allreduce"), 2);
    }
}

#[test]
fn no_room_for_the_file_leaves_the_program_alone() {
    let _alone = alone();
    const SMALL: &str = r#"mount -t tmpfs -o size=64k none "$SPOOL" && exec timeout 60 "$@""#;
    let inside = ["unshare", "-rm", "sh", "-c", SMALL, "sh"];
    for case in cases("steps.c") {
        std::fs::create_dir(case.spool()).expect("a new directory");
        let bare = case.run_inside(&inside, PLAIN, &["20"]);
        if !bare.status.success() {
            eprintln!("a small file system cannot be mounted here: a full disk was not tested");
            continue;
        }
        let full = case.run_inside(&inside, &format!("{RECORDED} {PLAIN}"), &["20"]);
        assert_eq!(
            (full.status.code(), full.stdout),
            (Some(0), bare.stdout),
            "{}",
            case.library
        );
    }
}

#[test]
fn a_rank_that_cannot_record_holds_nobody_up() {
    let _alone = alone();
    let one_without =
        r#"case "$OMPI_COMM_WORLD_RANK$PMI_RANK" in 1) SPOOL_HERE=/dev/null/none;; esac;"#;
    for case in cases("steps.c") {
        let out = case.unchanged(one_without, &["20"]);
        assert!(out.status.success());
        let run = case.recorded();
        assert_eq!(run.header.incomplete, [1], "{}", case.library);
        assert!(
            run.header
                .missing
                .iter()
                .any(|m| m.contains("could not record"))
        );
    }
}

#[test]
fn blocked_signals_do_not_pile_up() {
    let _alone = alone();
    for case in cases("blocked_signals.c") {
        let out = case.unchanged("prlimit --pid $$ --sigpending=16;", &["0.6"]);
        assert!(out.status.success());
    }
}

#[test]
fn without_performance_events_a_timer_samples_and_the_run_says_so() {
    let _alone = alone();
    for case in cases("no_events.c") {
        let out = case.record(&[]);
        if out.status.code() == Some(77) {
            eprintln!("system calls cannot be forbidden here: not tested");
            continue;
        }
        assert!(out.status.success());
        let run = case.recorded();
        let said = |words: &str| run.header.missing.iter().any(|m| m.contains(words));
        assert!(
            said("not permitted") && said("Hardware counters"),
            "{:?}",
            run.header.missing
        );
        assert!(run.samples.iter().map(|s| s.count).sum::<u32>() > 5);
    }
}

#[test]
fn stacks_of_the_programs_own_are_read_to_their_end_at_most() {
    let _alone = alone();
    for case in cases("fiber.c") {
        case.unchanged("", &[]);
        assert_eq!(calls_of(&case.recorded(), "MPI_Barrier"), 40);
    }
}

#[test]
fn a_rank_that_is_killed_leaves_its_data() {
    let _alone = alone();
    for case in cases("steps.c") {
        for end in ["kill", "abort", "_exit"] {
            let _ = std::fs::remove_dir_all(case.spool());
            let out = case.record(&["60", end]);
            assert!(!out.status.success(), "{end}");
            let run = case.recorded();
            assert_eq!(run.header.incomplete, [0, 1], "{} {end}", case.library);
            assert!(
                run.ranks.iter().all(|r| r.cpu_ns.is_none()),
                "{:?}",
                run.ranks
            );
            let rows = run.calls.iter().filter(|c| c.rank == 1);
            assert!(
                rows.map(|c| c.count).sum::<u64>() >= 4 * 30,
                "{} {end}",
                case.library
            );
        }
    }
}

/// Two nodes on one: the second rank has a host name and a clock of its own.
#[test]
fn clocks_of_nodes_are_compared() {
    let _alone = alone();
    let apart = |program: &str| {
        format!(
            r#"case "$OMPI_COMM_WORLD_RANK$PMI_RANK" in
            1) exec unshare -uTf --monotonic 5000 sh -c 'hostname elsewhere; exec "$@"' sh {program};; esac; exec {program}"#
        )
    };
    for case in cases("steps.c") {
        let bare = case.run(&apart(r#""$@""#), &["20"]);
        if !bare.status.success() {
            eprintln!("no second node can be made up here: not tested");
            continue;
        }
        let out = case.run(&format!("{RECORDED} {}", apart(r#""$@""#)), &["20"]);
        assert_eq!(
            (out.status.code(), out.stdout),
            (Some(0), bare.stdout),
            "{}",
            case.library
        );
        let run = case.recorded();
        assert_eq!(run.header.nodes.len(), 2, "{}", case.library);
        let error = run.header.clock_error_seconds;
        assert!(error > 0.0 && error < 0.01, "{error}");
        let waits = run
            .messages
            .iter()
            .map(|m| m.late_sender_ns + m.late_receiver_ns);
        assert!(waits.sum::<u64>() < 60_000_000_000, "{:?}", run.messages);
        let span = run.events.iter().map(|e| e.enter_ns).max();
        assert!(
            span.is_some_and(|s| s < 60_000_000_000),
            "events lie on one clock"
        );
    }
}

#[test]
fn handlers_that_the_program_sets_for_every_signal_are_its_own() {
    let _alone = alone();
    for case in cases("all_signals.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let samples = case.recorded().samples;
        assert!(samples.iter().map(|s| s.count).sum::<u32>() > 5);
    }
}

/// The program's own clock is compared with what was recorded of its first computation.
#[test]
fn computation_before_the_first_call_keeps_its_time() {
    let _alone = alone();
    for case in cases("first.c") {
        let out = case.record(&[]);
        let said = String::from_utf8_lossy(&out.stdout);
        let own: f64 = said.trim().parse().unwrap_or(0.0);
        let run = case.recorded();
        let first = run
            .segments
            .iter()
            .filter(|s| s.rank == 0 && s.from == CtxId::NONE);
        let seconds = first.map(|s| s.cpu_ns).sum::<u64>() as f64 * 1e-9;
        assert!(
            seconds > 0.8 * own && seconds < 1.2 * own,
            "{seconds} of {own}"
        );
    }
}

#[test]
fn an_exception_may_leave_a_call() {
    let _alone = alone();
    for case in cases("thrown.cpp") {
        case.unchanged("", &[]);
        assert_eq!(
            calls_of(&case.recorded(), "MPI_Barrier"),
            40,
            "{}",
            case.library
        );
    }
}

#[test]
fn libraries_may_come_and_go() {
    let _alone = alone();
    for case in cases("plugins.c") {
        for library in ["before.so", "after.so"] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/plugin.c");
            let built = Command::new(format!("mpicc.{}", case.library))
                .args(["-g", "-O1", "-shared", "-fPIC", "-o"])
                .arg(case.dir.path().join(library))
                .arg(source)
                .status();
            assert!(built.is_ok_and(|s| s.success()), "{library}");
        }
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        let after = |m: u32| {
            run.modules
                .get(m as usize)
                .is_some_and(|m| m.path.ends_with("after.so"))
        };
        let there = |c: CtxId| {
            c.index()
                .and_then(|i| run.contexts.get(i))
                .is_some_and(|c| after(c.module))
        };
        let inside = run
            .samples
            .iter()
            .filter(|s| there(s.ctx))
            .map(|s| s.cpu_ns);
        let all = run.samples.iter().map(|s| s.cpu_ns).sum::<u64>();
        assert!(
            inside.sum::<u64>() > all / 2,
            "{}: {:?}",
            case.library,
            run.modules
        );
    }
}

#[test]
fn matched_probes_keep_both_ends_in_step() {
    let _alone = alone();
    for case in cases("matched_probe.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let joined: u64 = run.messages.iter().map(|m| m.sampled).sum();
        assert_eq!(joined, 20, "{}: {:?}", case.library, run.messages);
    }
}

#[test]
fn a_datatype_made_anew_has_a_new_size() {
    let _alone = alone();
    for case in cases("reused_type.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let sent: u64 = run.messages.iter().map(|m| m.bytes).sum();
        assert_eq!(sent, 4 * 127, "{}", case.library);
    }
}

#[test]
fn idle_polls_are_all_counted_and_timed() {
    let _alone = alone();
    for case in cases("polls.c") {
        let out = case.record(&[]);
        let run = case.recorded();
        let text = String::from_utf8_lossy(&out.stdout);
        let counted = ["MPI_Test", "MPI_Iprobe"].map(|name| calls_of(&run, name).to_string());
        assert_eq!(text.trim(), counted.join(" "), "{}", case.library);
        let sampled: u64 = run.messages.iter().map(|m| m.sampled).sum();
        assert_eq!(sampled, 10, "{}", case.library);
        // All of rank 0's time is in a call or between two.
        let calls = run.calls.iter().filter(|c| c.rank == 0).map(|c| c.wall_ns);
        let between = run
            .segments
            .iter()
            .filter(|s| s.rank == 0)
            .map(|s| s.wall_ns);
        let (sum, wall) = (
            calls.sum::<u64>() + between.sum::<u64>(),
            run.ranks[0].wall_ns,
        );
        assert!(sum > wall / 2 && sum < wall * 11 / 10, "{sum} of {wall}");
    }
}

#[test]
fn corners_of_the_standard_are_read_right() {
    let _alone = alone();
    for case in cases("corners.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(run.messages.iter().map(|m| m.sampled).sum::<u64>(), 7);
        for (name, bytes) in [
            ("MPI_Reduce_scatter_block", 2 * 2 * 4),
            ("MPI_Neighbor_alltoallv", 2 * 2 * 4),
            ("MPI_Neighbor_allgather", 2 * 4),
            ("MPI_Send_init", 0),
            ("MPI_Start", 4 * 8 * 4 + 2 * 4),
        ] {
            let is = |func: u16| run.functions.get(func as usize).is_some_and(|f| f == name);
            let sum: u64 = run
                .calls
                .iter()
                .filter(|c| is(c.func))
                .map(|c| c.bytes)
                .sum();
            assert_eq!(sum, bytes, "{name} under {}", case.library);
        }
    }
}

#[test]
fn fortran_may_leave_the_error_out() {
    let _alone = alone();
    for case in cases("no_error.f90") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let joined: u64 = run.messages.iter().map(|m| m.sampled).sum();
        assert_eq!(joined, 20, "{}", case.library);
        // Some layers call `PMPI_*`, some `MPI_*`: none lost, none twice.
        for (name, count) in [
            ("MPI_Wait", 10),
            ("MPI_Irecv", 10),
            ("MPI_Barrier", 6),
            ("MPI_Comm_split", 2),
        ] {
            assert_eq!(calls_of(&run, name), count, "{name} under {}", case.library);
        }
    }
}

/// A fifth of the time that the programs are late by: no sleep is shorter, however busy the machine.
const LATE_NS: u64 = 40_000_000;

#[test]
fn who_completes_late_work_of_others_has_waited() {
    let _alone = alone();
    for case in cases("nonblocking.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let barriers: Vec<_> = run
            .collectives
            .iter()
            .filter(|c| run.functions[c.func as usize] == "MPI_Ibarrier")
            .collect();
        let of = |rank| barriers.iter().find(|c| c.rank == rank);
        let (Some(first), Some(last)) = (of(0), of(1)) else {
            panic!("{}: {:?}", case.library, run.collectives)
        };
        assert_eq!(run.comms[first.comm as usize].size, 2, "{}", case.library);
        assert_eq!((first.last, last.last), (0, 1), "{}", case.library);
        assert!(
            first.wait_ns > LATE_NS && last.wait_ns < LATE_NS,
            "{first:?} {last:?}"
        );
        let held: u64 = run.messages.iter().map(|m| m.late_receiver_ns).sum();
        assert!(held > LATE_NS, "{}: {:?}", case.library, run.messages);
    }
}

#[test]
fn receives_that_are_called_off_take_no_number() {
    let _alone = alone();
    for case in cases("cancel.c") {
        let out = case.unchanged("", &[]);
        let text = String::from_utf8_lossy(&out.stdout);
        assert_eq!(text.trim(), "value 9 off 20", "{}", case.library);
        // Of the other stream it is not known which message is which.
        let joined: u64 = case.recorded().messages.iter().map(|m| m.sampled).sum();
        assert_eq!(joined, 10, "{}", case.library);
    }
}

#[test]
fn tags_that_do_not_come_again_lose_no_call() {
    let _alone = alone();
    for case in cases("many_tags.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        for name in ["MPI_Send", "MPI_Recv"] {
            assert_eq!(calls_of(&run, name), 70_000, "{name} {}", case.library);
        }
        assert!(run.calls.iter().any(|c| c.tag == tag::MANY && c.count > 1));
        let missing = &run.header.missing;
        let said = |words: &str| missing.iter().filter(|m| m.contains(words)).count();
        assert_eq!(said("partner and tag"), 1, "{}: {missing:?}", case.library);
        assert_eq!(said("were lost"), 0, "{}: {missing:?}", case.library);
    }
}

#[test]
fn communicators_may_come_and_go() {
    let _alone = alone();
    for case in cases("many_comms.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let joined: u64 = run.messages.iter().map(|m| m.sampled).sum();
        assert_eq!(joined, 2, "{}: {:?}", case.library, run.messages);
        let missing = &run.header.missing;
        let said = |words: &str| missing.iter().filter(|m| m.contains(words)).count();
        assert_eq!(said("communicators"), 1, "{}: {missing:?}", case.library);
        assert_eq!(said("were lost"), 0, "{}: {missing:?}", case.library);
        let sends = run
            .calls
            .iter()
            .filter(|c| run.functions[c.func as usize] == "MPI_Send");
        assert!(sends.clone().count() > 0);
        assert!(
            sends.clone().all(|c| c.comm != u16::MAX),
            "{}",
            case.library
        );
    }
}

#[test]
fn children_of_the_program_do_not_write_over_it() {
    let _alone = alone();
    for case in cases("spawn.c") {
        let bare = case.run(PLAIN, &[]);
        if !bare.status.success() {
            eprintln!("{} cannot start processes here: not tested", case.library);
            continue;
        }
        let out = case.unchanged("", &[]);
        assert!(String::from_utf8_lossy(&out.stdout).contains("child 4"));
        let run = case.recorded();
        assert_eq!(run.header.ranks, 2, "{}", case.library);
        assert!(run.header.incomplete.is_empty(), "{}", case.library);
        let missing = &run.header.missing;
        let said = missing.iter().filter(|m| m.contains("MPI_Comm_spawn"));
        assert_eq!(said.count(), 1, "{}: {missing:?}", case.library);
        // A process of another job has no rank in this one's world.
        let sends = run
            .calls
            .iter()
            .filter(|c| run.functions[c.func as usize] == "MPI_Send");
        let peers: Vec<i32> = sends.map(|c| c.peer).collect();
        assert_eq!(peers, [peer::UNKNOWN], "{}", case.library);
    }
}
