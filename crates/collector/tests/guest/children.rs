//! Processes that a recorded program makes or meets.

use crate::case::{PLAIN, alone, cases};
use crate::counts::{calls, calls_of, joined, said};
use headwater_model::run::peer;

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
        let sentences = said(&run, "MPI_Comm_spawn");
        assert_eq!(sentences, 1, "{}: {missing:?}", case.library);
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
