//! Recording paused by the program: nothing of the pause is counted, and what comes after it is known as well as
//! what came before.

use crate::case::{PLAIN, RECORDED, alone, cases, everywhere};
use crate::counts::{calls_of, joined, said};
use headwater_model::RankSet;
use headwater_model::run::Run;

/// CPU time that the program uses in its pause, nanoseconds.
const MEANWHILE: u64 = 300_000_000;

/// Seconds paused, at the least, by groups of ranks.
fn paused(run: &Run) -> Vec<(String, u64)> {
    let all = run.header.paused.iter();
    all.inspect(|p| assert!(p.shortest_seconds * 1e9 >= MEANWHILE as f64, "{p:?}"))
        .map(|p| (p.ranks.to_string(), p.times))
        .collect()
}

/// CPU time that samples of a rank represent, nanoseconds.
fn sampled(run: &Run, rank: u32) -> u64 {
    let mine = run.samples.iter().filter(|s| s.rank == rank);
    mine.map(|s| s.cpu_ns).sum()
}

#[test]
fn nothing_of_a_pause_is_counted() {
    let _alone = alone();
    for case in everywhere("pauses.c", &[]) {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        let what = case.library;
        assert_eq!(paused(&run), [("0-1".to_string(), 1)], "{what}");
        assert!(run.header.paused_alike());
        assert_eq!(said(&run, "Recording was paused"), 1, "{what}");
        for (name, count) in [
            ("MPI_Send", 5 + 5 + 2),
            ("MPI_Barrier", 2),
            ("MPI_Irecv", 2),
            ("MPI_Wait", 2),
            ("MPI_Allreduce", 2),
            // Where it pauses; where it goes on is the start of what follows.
            ("MPI_Pcontrol", 2),
        ] {
            assert_eq!(calls_of(&run, name), count, "{what} {name}");
        }
        // Five of each side, and the two that are received behind the pause.
        assert_eq!(joined(&run), 12, "{what}: {:?}", run.messages);
        let sizes: Vec<u64> = run.messages.iter().map(|m| m.bytes / m.sampled).collect();
        assert!(!sizes.contains(&16), "{what}: {:?}", run.messages);
        for info in &run.ranks {
            assert!(info.complete, "{what}");
            assert!(sampled(&run, info.rank) < MEANWHILE / 2, "{what}");
            assert!(info.mpi_wall_ns <= info.wall_ns, "{what}: {info:?}");
            let counted = run.segments.iter().filter(|s| s.rank == info.rank);
            let counted: u64 = counted.map(|s| s.wall_ns).sum();
            let all = counted + info.mpi_wall_ns;
            assert!(all <= info.wall_ns + 1_000_000, "{what}: {all} {info:?}");
        }
    }
}

#[test]
fn ranks_may_pause_alone_and_for_good() {
    let _alone = alone();
    for case in cases("pauses.c") {
        let out = case.record(&["one"]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(paused(&run), [("0".to_string(), 1)], "{}", case.library);
        assert!(!run.header.paused_alike());
        // The numbers of messages of both ends are the same behind the pause of one. Of the two requests
        // that cross it, the one behind counts at both ends for both, the other where rank 1 is.
        let of = |bytes: u64| {
            let all = run.messages.iter().filter(|m| m.bytes == bytes * m.sampled);
            all.map(|m| m.sampled).sum::<u64>()
        };
        assert_eq!((of(16), of(24)), (0, 5), "{:?}", run.messages);
        let _ = std::fs::remove_dir_all(case.spool());
        let out = case.record(&["stop"]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        let all: RankSet = RankSet::all(2);
        assert_eq!(paused(&run), [(all.to_string(), 1)], "{}", case.library);
        assert_eq!(calls_of(&run, "MPI_Send"), 5);
        assert!(run.header.incomplete.is_empty());
    }
}

#[test]
fn all_threads_pause() {
    let _alone = alone();
    for case in cases("pauses_threads.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(paused(&run), [("0-1".to_string(), 1)], "{}", case.library);
        for rank in [0, 1] {
            // The worker's 0.1 s behind the pause, and little else.
            let cpu = sampled(&run, rank);
            let right = (20_000_000..250_000_000).contains(&cpu);
            assert!(right, "{}: {cpu}", case.library);
            let known = run.threads.iter().filter(|t| t.rank == rank);
            let worker = known.max_by_key(|t| t.thread).expect("the worker is known");
            let right = (20_000_000..250_000_000).contains(&worker.cpu_ns);
            assert!(right, "{}: {worker:?}", case.library);
            let whole = run.ranks.iter().find(|r| r.rank == rank).map(|r| r.wall_ns);
            let inside = worker.begin_ns + worker.wall_ns;
            // Its last sign of life may come a little after the rank's end was looked at.
            let room = whole.expect("its rank is known") + 10_000_000;
            assert!(inside <= room, "{}: {worker:?}, {room}", case.library);
        }
    }
}

#[test]
fn other_levels_of_pcontrol_reach_the_tool_behind() {
    let _alone = alone();
    for case in cases("pauses.c") {
        case.with_library("pcontrol_tool.c", "tool.so");
        let tool = |before: &str| format!(r#"export LD_PRELOAD="{before}$PWD/tool.so"; {PLAIN}"#);
        let bare = case.run(&tool(""), &[]);
        let recorded = case.run(&format!("{RECORDED} {}", tool("$COLLECTOR:")), &[]);
        let said = String::from_utf8_lossy(&bare.stdout).into_owned();
        assert!(said.contains("tool: -3 more 1.5 234567 2.5 8"), "{said}");
        assert_eq!(String::from_utf8_lossy(&recorded.stdout), said);
        assert_eq!(paused(&case.recorded()), [("0-1".to_string(), 1)]);
    }
}

#[test]
fn fortran_pauses_too() {
    let _alone = alone();
    for case in cases("pauses.f90") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(calls_of(&run, "MPI_Barrier"), 4, "{}", case.library);
        assert_eq!(calls_of(&run, "MPI_Pcontrol"), 4, "{}", case.library);
        let times: Vec<u64> = run.header.paused.iter().map(|p| p.times).collect();
        assert_eq!(times, [2], "{}", case.library);
    }
}
