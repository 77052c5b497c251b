//! One-sided communication: who waits for whom, with the target's help and without.

use crate::LATE_NS;
use crate::case::{alone, everywhere};
use crate::counts::calls_of;
use headwater_model::run::{CtxId, EventKind};

#[test]
fn waits_for_epochs_name_the_rank_that_was_waited_for() {
    let _alone = alone();
    for case in everywhere("onesided.c", &[]) {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        let name = |ctx: CtxId| {
            let call = run.calls.iter().find(|c| c.ctx == ctx);
            call.map_or("", |c| run.function(c.func))
        };
        let fences: Vec<_> = (run.collectives.iter())
            .filter(|c| run.function(c.func) == "MPI_Win_fence" && c.wait_ns > LATE_NS)
            .collect();
        assert_eq!(fences.len(), 1, "{}: {fences:?}", case.library);
        assert_eq!(fences[0].rank, 0, "{}", case.library);
        // From opening a window to both ends of the access, and from its end to who waits for that.
        let edge = |from: &str, to: &str, src: u32| {
            let all = run.messages.iter();
            let these = all.filter(|m| {
                (name(m.send_ctx), name(m.recv_ctx), m.src, m.dst) == (from, to, src, 1 - src)
            });
            these.fold((0, 0), |(n, late), m| {
                (n + m.sampled, late + m.late_sender_ns)
            })
        };
        let post = "MPI_Win_post";
        let (start, complete) = ("MPI_Win_start", "MPI_Win_complete");
        for (to, src, count) in [
            (start, 0, 2),
            (complete, 0, 2),
            (start, 1, 1),
            (complete, 1, 1),
        ] {
            let found = edge(post, to, src).0;
            assert_eq!(found, count, "{}: {to} {:?}", case.library, run.messages);
        }
        let (waited, asked) = (
            edge(complete, "MPI_Win_wait", 1),
            edge(complete, "MPI_Win_test", 1),
        );
        assert_eq!((waited.0, asked.0), (1, 1), "{}", case.library);
        assert!(waited.1 > LATE_NS, "{}: {:?}", case.library, run.messages);
        assert_eq!(edge(complete, "MPI_Win_wait", 0).0, 1, "{}", case.library);
    }
}

#[test]
fn waits_for_a_windows_lock_name_the_rank_that_released_it() {
    let _alone = alone();
    for case in everywhere("passive.c", &[]) {
        let library = case.library;
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{library}");
        let run = case.recorded();
        let name = |ctx: CtxId| {
            let call = run.calls.iter().find(|c| c.ctx == ctx);
            call.map_or("", |c| run.function(c.func))
        };
        let from_locks = run.messages.iter();
        let from_locks: Vec<_> = from_locks
            .filter(|m| name(m.send_ctx).starts_with("MPI_Win_unlock"))
            .collect();
        // Once for the target and once for all; where both share the lock, nobody waits for the other.
        let waits: u64 = from_locks.iter().map(|m| m.late_senders).sum();
        assert_eq!(waits, 2, "{library}: {from_locks:?}");
        for m in &from_locks {
            let to = name(m.recv_ctx);
            assert_eq!((m.src, m.dst), (0, 1), "{library}");
            assert!(to.starts_with("MPI_Win_"), "{library}: {to}");
            assert!(m.late_sender_ns > LATE_NS, "{library}: {from_locks:?}");
        }
        let linked = run.events.iter().filter(|e| {
            run.function(e.func).starts_with("MPI_Win_")
                && e.link != 0
                && [EventKind::Send, EventKind::Recv].contains(&e.kind)
        });
        assert_eq!(linked.count(), 4, "{library}");
        assert_eq!(calls_of(&run, "MPI_Win_lock"), 2 + 1 + 2, "{library}");
        let of_target = run.calls.iter();
        let mut of_target = of_target.filter(|c| run.function(c.func) == "MPI_Win_lock");
        assert!(of_target.all(|c| c.peer == -(c.rank as i32)), "{library}");
    }
}
