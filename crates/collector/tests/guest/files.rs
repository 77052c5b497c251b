//! MPI-IO: collectives on a file are collectives, and what one rank does there is nobody's message.

use crate::LATE_NS;
use crate::case::{alone, cases, everywhere};
use crate::counts::{calls, calls_of, joined};

#[test]
fn ranks_wait_for_one_another_in_collectives_on_files() {
    let _alone = alone();
    for case in everywhere("files.c", &[]) {
        let library = case.library;
        let file = case.dir.path().join("file");
        let out = case.unchanged("", &[&file.display().to_string()]);
        assert!(out.status.success(), "{library}");
        let run = case.recorded();
        assert_eq!(joined(&run), 5, "{library}: {:?}", run.messages);
        for function in [
            "MPI_File_open",
            "MPI_File_set_view",
            "MPI_File_write_at_all",
            "MPI_File_sync",
            "MPI_File_write_ordered_begin",
            "MPI_File_write_ordered_end",
            "MPI_File_close",
        ] {
            let all = run.collectives.iter();
            let of: Vec<_> = all.filter(|c| run.function(c.func) == function).collect();
            assert_eq!(of.len(), 2, "{library}: {function} {:?}", run.collectives);
            let comm = |c: u16| run.comms.get(c as usize).map_or(0, |c| c.size);
            assert!(
                of.iter().all(|c| comm(c.comm) == 2),
                "{library}: {function}"
            );
        }
        // What the system counts of each process, and the kind of the file system.
        let peaks = run.usage.iter().filter_map(|u| u.peak_memory_bytes);
        assert_eq!(peaks.filter(|bytes| *bytes > 1 << 20).count(), 2);
        for rank in 0..2 {
            let all = run.file_systems.iter().filter(|f| f.rank == rank);
            let opened: Vec<_> = all.filter(|f| f.mpi_opened > 0).collect();
            let [one] = &opened[..] else {
                panic!("{library}: {:?}", run.file_systems)
            };
            assert_ne!(one.name, "unknown", "{library}");
        }
        // Libraries may let a rank pass many of them, which is no wait then; but not all.
        let waited = [0, 1].map(|rank| {
            let all = run.collectives.iter();
            let of = all.filter(|c| c.rank == rank && run.function(c.func).contains("File"));
            of.map(|c| c.wait_ns).sum::<u64>()
        });
        let is_told = waited[0] > 2 * LATE_NS && waited[1] < LATE_NS;
        assert!(is_told, "{library}: {waited:?} {:?}", run.collectives);
        for (function, count, bytes) in [
            ("MPI_File_write_at_all", 2, 32),
            ("MPI_File_read_at", 5, 20),
            ("MPI_File_iwrite_at", 5, 20),
            ("MPI_File_iread_at", 5, 20),
        ] {
            assert_eq!(calls_of(&run, function), count, "{library}: {function}");
            let moved: u64 = calls(&run, function).map(|c| c.bytes).sum();
            assert_eq!(moved, bytes, "{library}: {function}");
        }
    }
}

/// However many there are, the room for communicators is the communicators'.
#[test]
fn files_and_windows_share_a_row() {
    let _alone = alone();
    for case in cases("many_files.c") {
        let file = case.dir.path().join("file");
        let out = case.unchanged("", &[&file.display().to_string()]);
        assert!(out.status.success(), "{}", case.library);
        let run = case.recorded();
        assert_eq!(run.comms.len(), 3, "{}: {:?}", case.library, run.comms);
        for (function, count) in [("MPI_File_write_at_all", 60), ("MPI_Win_fence", 120)] {
            assert_eq!(calls_of(&run, function), count, "{}", case.library);
            // Each is a collective of its own.
            let all = run.collectives.iter();
            let of = all.filter(|c| run.function(c.func) == function);
            let known = of.map(|c| c.sampled).sum::<u64>();
            assert_eq!(known, count, "{}: {function}", case.library);
        }
    }
}
