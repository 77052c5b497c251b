//! Messages, requests and what completes them: both ends are identified and timed.

use crate::LATE_NS;
use crate::case::{alone, cases};
use crate::counts::{calls_of, joined, said};
use headwater_model::run::{Event, EventKind, MessageEdge, tag};

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
        // A window keeps both what posts and what completes.
        let part = |e: &&Event| e.link != 0 && e.kind == EventKind::CollectivePost;
        let posts: Vec<_> = run.events.iter().filter(part).collect();
        let completes = |p: &Event| {
            let of_post = |e: &Event| (e.rank, e.link) == (p.rank, p.link);
            let kind = EventKind::Collective;
            run.events.iter().any(|e| of_post(e) && e.kind == kind)
        };
        assert!(!posts.is_empty(), "{}: {:?}", case.library, run.events);
        assert!(posts.iter().all(|p| completes(p)), "{:?}", run.events);
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
        assert!(said(&run, "from any source") > 0, "{}", case.library);
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
