//! The collector in other people's programs: each runs bare and with it, and must say and return the
//! same; what it recorded is read back. Libraries that are not installed are left out, which is said.

mod case;
mod counts;
mod every;
mod faults;
mod files;
mod library;
mod onesided;
mod openmp;
mod pauses;
mod requests;
mod sessions;
mod threads;

use case::{PLAIN, RECORDED, alone, cases};
use counts::{calls, calls_of, joined, said, samples};
use headwater_model::run::{CtxId, MessageEdge, peer, tag};

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
    // Or else MPICH's transport tells of the messages left, with the time.
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
fn matched_probes_keep_both_ends_in_step() {
    let _alone = alone();
    for case in cases("matched_probe.c") {
        case.unchanged("", &[]);
        let run = case.recorded();
        assert_eq!(joined(&run), 20, "{}: {:?}", case.library, run.messages);
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
        assert_eq!(joined(&run), 10, "{}", case.library);
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
            .filter(|c| run.function(c.func) == "MPI_Ibarrier")
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
fn one_request_may_send_and_receive() {
    let _alone = alone();
    for case in cases("both.c") {
        let out = case.unchanged("", &[]);
        if out.status.code() == Some(77) {
            eprintln!("{} has no MPI_Isendrecv: not tested", case.library);
            continue;
        }
        let run = case.recorded();
        assert_eq!(calls_of(&run, "MPI_Isendrecv"), 60, "{}", case.library);
        // Twenty around the ring, ten along the line and ten answers; whose the last ones are nobody says.
        assert_eq!(joined(&run), 40, "{}", case.library);
        assert!(said(&run, "whoever sent") > 0, "{}", case.library);
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
fn receives_that_are_called_off_take_no_number() {
    let _alone = alone();
    for case in cases("cancel.c") {
        let out = case.unchanged("", &[]);
        let text = String::from_utf8_lossy(&out.stdout);
        assert_eq!(text.trim(), "value 9 off 20", "{}", case.library);
        // Of the other stream it is not known which message is which.
        assert_eq!(joined(&case.recorded()), 10, "{}", case.library);
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
        for (words, times) in [("partner and tag", 1), ("were lost", 0)] {
            assert_eq!(said(&run, words), times, "{}: {missing:?}", case.library);
        }
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
        let told = said(&run, "MPI_Comm_spawn");
        assert_eq!(told, 1, "{}: {missing:?}", case.library);
        // A process of another job has no rank in this one's world.
        let peers: Vec<i32> = calls(&run, "MPI_Send").map(|c| c.peer).collect();
        assert_eq!(peers, [peer::UNKNOWN], "{}", case.library);
    }
}

/// What is in the file is the parent's alone, however a child came about.
#[test]
fn no_child_writes_into_its_parents_file() {
    let _alone = alone();
    for case in cases("forks.c") {
        let out = case.unchanged("", &[]);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "3 3 3 3 3\n");
        let run = case.recorded();
        assert_eq!(calls_of(&run, "MPI_Barrier"), 4, "{}", case.library);
        let modules = |name: &str| run.modules.iter().any(|m| m.path.contains(name));
        assert!(modules("/forks"), "{}", case.library);
        assert!(!modules("libanl"), "{}", case.library);
        let contexts = run.samples.iter().filter_map(|s| s.ctx.index());
        let mut places = contexts.filter_map(|i| run.contexts.get(i));
        let childs = |c| case.function_at(&run, c).as_deref() == Some("sleeps_in_child");
        assert!(!places.any(childs), "{}", case.library);
    }
}

#[test]
fn halves_of_a_job_may_meet_by_a_port() {
    let _alone = alone();
    for case in cases("ports.c") {
        let bare = case.run(PLAIN, &[]);
        if !bare.status.success() {
            eprintln!("{} has no ports here: not tested", case.library);
            continue;
        }
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert!(run.header.incomplete.is_empty(), "{}", case.library);
        assert_eq!(said(&run, "MPI_Comm_spawn"), 0, "{}", case.library);
        // The port's name, and what is sent in the merged communicators, whose ranks are known; between two
        // groups a rank is one of the others'.
        assert_eq!(joined(&run), 1 + 10, "{}: {:?}", case.library, run.messages);
        assert_eq!(calls_of(&run, "MPI_Send"), 1 + 20, "{}", case.library);
    }
}

#[test]
fn threads_may_wait_for_what_others_have_posted() {
    let _alone = alone();
    for case in cases("threads.c") {
        for arguments in [&[][..], &["in turn"]] {
            let out = case.unchanged("", arguments);
            assert!(out.status.success());
            if String::from_utf8_lossy(&out.stdout).contains("no threads") {
                eprintln!("{} has no threads that call MPI at once", case.library);
                continue;
            }
            let run = case.recorded();
            let what = format!("{} {arguments:?}", case.library);
            assert_eq!(calls_of(&run, "MPI_Send"), 3200, "{what}");
            assert_eq!(joined(&run), 3200, "{what}");
            // A message has as many numbers as its tag says, and each tag has places of its own.
            let sizes = run.messages.iter().map(|m| (m.bytes, m.sampled));
            let whole = |(bytes, count): (u64, u64)| (1..=4).any(|n| bytes == 8 * n * count);
            assert!({ sizes }.all(whole), "{what}: {:?}", run.messages);
            // Wherever a thread waits for what another one has posted, it is known where that was: the function
            // for as many numbers as the message has.
            let posted = |m: &MessageEdge| {
                let call = m.post_ctx.index().and_then(|i| run.contexts.get(i))?;
                case.function_at(&run, call)
            };
            for m in &run.messages {
                let wanted = format!("exchange{}", m.bytes / m.sampled / 8 - 1);
                assert_eq!(posted(m), Some(wanted), "{what}");
            }
            let in_mpi: Vec<u64> = run.ranks.iter().map(|r| r.mpi_wall_ns).collect();
            let calls = |rank| run.calls.iter().filter(move |c| c.rank == rank);
            let counted = [0, 1].map(|rank| calls(rank).map(|c| c.wall_ns).sum::<u64>());
            assert_eq!(in_mpi, counted, "{what}: no thread's time is lost");
        }
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
