//! Programs that use MPI by sessions, with and without a world.

use crate::LATE_NS;
use crate::case::{alone, everywhere};
use crate::counts::{calls_of, joined, said};

/// Whether the library can do this without us. Open a session after the last was closed: only MPICH 5; call
/// `MPI_Init` while one is open: not Intel's, for which a session is a world.
fn can(library: &str, what: &str) -> bool {
    match what {
        "again" => library.starts_with("MPICH 5"),
        "world" => !library.starts_with("Intel"),
        _ => true,
    }
}

#[test]
fn a_program_of_sessions_alone_is_recorded() {
    let _alone = alone();
    for case in everywhere("sessions.c", &[]) {
        if case.run(crate::PLAIN, &[]).status.code() == Some(77) {
            eprintln!("{} has no sessions: not tested", case.library);
            continue;
        }
        // The world by `MPI_Init` comes beside the session's communicator.
        for (what, times, merged) in [
            ("", 1, false),
            ("again", 2, false),
            ("world", 2, true),
            ("inside", 2, true),
        ] {
            let name = format!("{} {what}", case.library);
            if !can(case.library, what) {
                eprintln!("{name}: not tested");
                continue;
            }
            let _ = std::fs::remove_dir_all(case.spool());
            let out = case.unchanged("", &[what]);
            assert!(out.status.success(), "{name}");
            let is_merged = case.spool().join("merged.spool").exists();
            assert_eq!(is_merged, merged, "{name}");
            let run = case.recorded();
            assert_eq!(run.header.ranks, 2, "{name}");
            assert!(run.header.incomplete.is_empty(), "{name}");
            assert_eq!(said(&run, "could not record"), 0, "{name}");
            for (function, count) in [
                ("MPI_Sendrecv", 20),
                ("MPI_Comm_split", 2),
                ("MPI_Barrier", 2),
            ] {
                let wanted = count * times;
                assert_eq!(calls_of(&run, function), wanted, "{function} {name}");
            }
            assert_eq!(joined(&run), 21 * times, "{name}: {:?}", run.messages);
            // Over the reversed communicator rank 1 sends, as its rank 0.
            let of = |src| run.messages.iter().filter(move |m| m.src == src);
            let [one, other] = [0, 1].map(|r| of(r).map(|m| m.sampled).sum::<u64>());
            assert_eq!((one, other), (11 * times, 10 * times), "{name}");
            let late: u64 = of(1).map(|m| m.late_sender_ns).sum();
            assert!(late > times * LATE_NS, "{name}: {:?}", run.messages);
        }
    }
}
