//! The collector in other people's programs: each runs bare and with it, and must say and return the
//! same; what it recorded is read back. Libraries that are not installed are left out, which is said.

mod case;
mod children;
mod counts;
mod every;
mod faults;
mod files;
mod itt;
mod library;
mod markers;
mod messages;
mod onesided;
mod openmp;
mod pauses;
mod regions;
mod requests;
mod sessions;
mod threads;
mod traces;
mod windows;
mod without_mpi;

use case::{PLAIN, RECORDED, alone, cases, everywhere, under};
use counts::{calls, calls_of, joined, said, samples};
use headwater_model::run::CtxId;

/// A fifth of the time that the programs are late by: no sleep is shorter, however busy the machine.
const LATE_NS: u64 = 40_000_000;

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
fn the_world_is_the_programs_own() {
    let _alone = alone();
    // Otherwise MPICH's transport reports the messages left, with the time.
    let quiet = "export UCX_LOG_LEVEL=error;";
    for case in cases("world.c") {
        let out = case.unchanged(quiet, &[]);
        assert!(out.status.success());
        let run = case.recorded();
        assert_eq!(calls_of(&run, "MPI_Send"), 82, "{}", case.library);
        assert!(run.header.incomplete.is_empty());
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
        assert!(said(&run, "could not record") > 0, "{}", case.library);
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
        for words in ["not permitted", "Hardware counters"] {
            assert!(said(&run, words) > 0, "{:?}", run.header.missing);
        }
        assert!(samples(&run) > 5);
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

/// The handler has a stack of its own, as theirs has room for a few calls only.
#[test]
fn threads_with_split_stacks_are_sampled() {
    let _alone = alone();
    let options = ["-fsplit-stack", "-fuse-ld=gold", "-pthread"];
    for library in ["openmpi", "mpich"] {
        let case = under(library, "split.c", &options).expect("the library is there");
        case.unchanged("export HEADWATER_HZ=2000;", &[]);
        let run = case.recorded();
        assert!(samples(&run) > 100, "{library}: {}", samples(&run));
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
fn the_core_that_a_rank_computes_on_is_known() {
    let _alone = alone();
    for case in cases("all_signals.c") {
        case.unchanged("taskset -p -c 0 $$ >/dev/null;", &[]);
        let run = case.recorded();
        let cores: Vec<_> = run.ranks.iter().map(|r| r.core).collect();
        assert_eq!(cores, [Some(0), Some(0)], "{}", case.library);
    }
}

#[test]
fn handlers_that_the_program_sets_for_every_signal_are_its_own() {
    let _alone = alone();
    for case in cases("all_signals.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        assert!(samples(&case.recorded()) > 5);
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

/// A library that finds MPI before it finds the collector is named.
#[test]
fn a_library_whose_calls_go_past_us_is_named() {
    let _alone = alone();
    for case in everywhere("deepbind.c", &["-fPIC"]) {
        case.with_library("plugin.c", "plugin.so");
        case.unchanged("", &[]);
        let run = case.recorded();
        let missing = &run.header.missing;
        assert_eq!(said(&run, "plugin.so"), 1, "{}: {missing:?}", case.library);
        // The program's own, and none that nobody saw.
        assert_eq!(calls_of(&run, "MPI_Barrier"), 2, "{}", case.library);
    }
}

#[test]
fn libraries_may_come_and_go() {
    let _alone = alone();
    for case in cases("plugins.c") {
        for library in ["before.so", "after.so"] {
            case.with_library("plugin.c", library);
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

/// What another thread does with libraries loses no message, nor any time.
#[test]
fn calls_are_known_while_a_library_leaves() {
    let _alone = alone();
    for case in cases("closes.c") {
        case.with_library("closing.c", "closing.so");
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(joined(&run), 60, "{}: {:?}", case.library, run.messages);
        assert_eq!(calls_of(&run, "MPI_Sendrecv"), 60, "{}", case.library);
        assert_eq!(calls_of(&run, "MPI_Barrier"), 2, "{}", case.library);
        assert_eq!(said(&run, "no room"), 0, "{:?}", run.header.missing);
    }
}

#[test]
fn corners_of_the_standard_are_read_right() {
    let _alone = alone();
    for case in cases("corners.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(joined(&run), 7, "{}", case.library);
        for (name, bytes) in [
            ("MPI_Reduce_scatter_block", 2 * 2 * 4),
            ("MPI_Neighbor_alltoallv", 2 * 2 * 4),
            ("MPI_Neighbor_allgather", 2 * 4),
            ("MPI_Send_init", 0),
            ("MPI_Start", 4 * 8 * 4 + 2 * 4),
        ] {
            let sum: u64 = calls(&run, name).map(|c| c.bytes).sum();
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
        assert_eq!(joined(&run), 20, "{}", case.library);
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

#[test]
fn a_program_without_communicators_left_ends_as_before() {
    let _alone = alone();
    for case in cases("last_comm.c") {
        // Open MPI has so many that it takes too long to use them up.
        let all = if case.library == "mpich" {
            &["all"][..]
        } else {
            &[]
        };
        let out = case.unchanged("", all);
        assert!(out.status.success());
        assert!(
            calls_of(&case.recorded(), "MPI_Comm_dup") > 0,
            "{}",
            case.library
        );
    }
}

#[test]
fn communicators_may_come_and_go() {
    let _alone = alone();
    for case in cases("many_comms.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        assert_eq!(joined(&run), 2, "{}: {:?}", case.library, run.messages);
        let missing = &run.header.missing;
        for (words, times) in [("communicators", 1), ("were lost", 0)] {
            assert_eq!(said(&run, words), times, "{}: {missing:?}", case.library);
        }
        assert!(calls(&run, "MPI_Send").count() > 0);
        let known = calls(&run, "MPI_Send").all(|c| c.comm != u16::MAX);
        assert!(known, "{}", case.library);
    }
}

/// The tables of a rank have room for a hundred thousand call paths.
#[test]
fn a_hundred_thousand_call_paths_are_all_kept() {
    const PATHS: usize = 100_000;
    let _alone = alone();
    for case in cases("many_paths.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        let missing = &run.header.missing;
        assert_eq!(said(&run, "were lost"), 0, "{}: {missing:?}", case.library);
        let paths = calls(&run, "MPI_Send").filter(|c| c.rank == 0);
        assert_eq!(paths.count(), PATHS, "{}", case.library);
        assert_eq!(calls_of(&run, "MPI_Send"), 4 * PATHS as u64);
    }
}

/// What the library answers at once costs no row, but for a thread's first call, which ends its start.
#[test]
fn of_calls_that_only_ask_the_first_is_recorded() {
    let _alone = alone();
    for case in everywhere("asks.c", &[]) {
        case.unchanged("", &[]);
        let run = case.recorded();
        let counts = ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Get_count"];
        let counts = counts.map(|name| calls_of(&run, name));
        assert_eq!(counts, [2, 0, 0], "{}", case.library);
        assert_eq!(calls_of(&run, "MPI_Sendrecv"), 20, "{}", case.library);
        let begins = run.segments.iter().filter(|s| s.from == CtxId::NONE);
        assert_eq!(begins.map(|s| s.count).sum::<u64>(), 2, "{}", case.library);
    }
}

/// Both ends agree on a communicator, in whatever order it is made among others with the same members.
#[test]
fn communicators_may_be_made_in_any_order() {
    let _alone = alone();
    for case in cases("comms_threads.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(joined(&run), 2 + 60, "{}: {:?}", case.library, run.messages);
    }
}

#[test]
fn programs_see_which_functions_their_library_has() {
    let _alone = alone();
    for case in cases("weak.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        let has_mpi_4 = case.library == "mpich";
        let first = said.lines().next().unwrap_or_default();
        assert_eq!(first.starts_with("1 1 1"), has_mpi_4, "{said}");
        assert_eq!(calls_of(&case.recorded(), "MPI_Barrier"), 2);
    }
}
