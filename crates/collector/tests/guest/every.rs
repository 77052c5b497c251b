//! Every MPI library by the same collector: what its own representation of handles, statuses and
//! constants could get wrong; and libraries that nobody knows.

use crate::LATE_NS;
use crate::case::{alone, collector, everywhere};
use crate::counts::{calls_of, joined};
use headwater_format::FormatError;
use headwater_format::spool::read_spool;
use headwater_mpi_abi::{Evidence, recognise};
use std::path::Path;
use std::process::Command;

/// Messages between two ranks of the world, and how late their senders were, in nanoseconds.
fn between(run: &headwater_model::run::Run, src: u32, dst: u32) -> (u64, u64) {
    let of = run.messages.iter().filter(|m| (m.src, m.dst) == (src, dst));
    of.fold((0, 0), |(n, late), m| {
        (n + m.sampled, late + m.late_sender_ns)
    })
}

#[test]
fn facts_about_a_library_agree_with_its_header() {
    for case in everywhere("constants.c", &[]) {
        let out = Command::new(&case.program).output();
        let out = out.expect("the program runs");
        let text = String::from_utf8_lossy(&out.stdout);
        let mut lines = text.lines();
        let version = lines.next().unwrap_or("");
        let abi = recognise(&Evidence {
            ompi_world: version.starts_with("Open MPI"),
            standard: case.library.ends_with("standard ABI").then_some(1),
            version,
            ..Evidence::default()
        });
        let abi = abi.unwrap_or_else(|| panic!("{}: {text}", case.library));
        let ours = [
            abi.handle_bytes as i64,
            abi.status_bytes as i64,
            abi.status_source as i64,
            abi.status_tag as i64,
            abi.any_source.into(),
            abi.any_tag.into(),
            abi.proc_null.into(),
            abi.status_ignore as i64,
            abi.statuses_ignore as i64,
            abi.in_place as i64,
            abi.err_other.into(),
            abi.thread_multiple.into(),
            abi.no_precede.into(),
            abi.lock_exclusive.into(),
            abi.comm_world.unwrap_or(0) as i64,
            abi.comm_null.unwrap_or(0) as i64,
            abi.byte.unwrap_or(0) as i64,
        ];
        let theirs = lines.next().unwrap_or("").split(' ');
        let theirs: Vec<i64> = theirs.filter_map(|w| w.parse().ok()).collect();
        assert_eq!(theirs, ours, "{}", case.library);
    }
}

#[test]
fn c_is_recorded_alike_under_every_library() {
    let _alone = alone();
    for case in everywhere("every.c", &[]) {
        let library = case.library;
        let out = case.unchanged("", &[]);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "sum 150\n");
        let run = case.recorded();
        assert!(run.header.incomplete.is_empty(), "{library}");
        for (name, count) in [
            ("MPI_Send", 10 + 1 + 1 + 1),
            ("MPI_Recv", 10 + 1 + 1),
            ("MPI_Isend", 10),
            ("MPI_Irecv", 10),
            ("MPI_Waitall", 2),
            ("MPI_Start", 10),
            ("MPI_Wait", 10),
            ("MPI_Mprobe", 1),
            ("MPI_Mrecv", 1),
            ("MPI_Sendrecv", 2),
            ("MPI_Comm_split", 2),
            ("MPI_Comm_dup", 2),
            ("MPI_Barrier", 2),
            ("MPI_Allreduce", 2),
        ] {
            assert_eq!(calls_of(&run, name), count, "{name} under {library}");
        }
        // By wildcards, requests, persistent requests, a probe, and the one that is late.
        let (forth, late) = between(&run, 0, 1);
        assert_eq!(forth, 10 + 10 + 5 + 1 + 1, "{library}: {:?}", run.messages);
        assert!(late > LATE_NS, "{library}: {:?}", run.messages);
        // Over the communicator with the ranks the other way round.
        assert_eq!(between(&run, 1, 0).0, 1, "{library}: {:?}", run.messages);
        assert_eq!(run.comms.len(), 3, "{library}: {:?}", run.comms);
    }
}

#[test]
fn fortran_is_recorded_alike_under_every_library_that_has_it() {
    let _alone = alone();
    for case in everywhere("every.f90", &[]) {
        let library = case.library;
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{library}");
        let run = case.recorded();
        for (name, count) in [
            ("MPI_Send", 11),
            ("MPI_Recv", 11),
            ("MPI_Isend", 10),
            ("MPI_Irecv", 10),
            ("MPI_Wait", 20),
            ("MPI_Comm_split", 2),
            ("MPI_Barrier", 2),
            ("MPI_Allreduce", 2),
        ] {
            assert_eq!(calls_of(&run, name), count, "{name} under {library}");
        }
        let (forth, late) = between(&run, 0, 1);
        assert_eq!((forth, joined(&run)), (21, 21), "{library}");
        assert!(late > LATE_NS, "{library}: {:?}", run.messages);
    }
}

#[test]
fn a_part_of_a_program_may_open_mpi_for_itself() {
    let _alone = alone();
    for case in everywhere("local.c", &["-Wl,--as-needed"]) {
        case.with_library("local_part.c", "local.so");
        let out = case.unchanged("", &[]);
        assert!(out.status.success(), "{}", case.library);
        assert_eq!(joined(&case.recorded()), 10, "{}", case.library);
    }
}

/// Compiles for a library of our own making.
fn cc(dir: &Path, words: &[&str]) {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let words = words.iter().map(|w| {
        let source = programs.join(w);
        if w.ends_with(".c") { source } else { w.into() }
    });
    let built = Command::new("cc").args(words).current_dir(dir).status();
    assert!(built.is_ok_and(|s| s.success()));
}

#[test]
fn a_library_that_nobody_knows_is_named_and_left_alone() {
    for define in ["-DHAS_PMPI", "-DLACKS_PMPI"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        let library = ["-shared", "-fPIC", define, "somebodys_mpi.c"];
        cc(dir, &[&library[..], &["-o", "libmpi.so.1"]].concat());
        cc(
            dir,
            &["somebodys.c", "-o", "app", "-Wl,-rpath,.", "./libmpi.so.1"],
        );
        let run = |collector: &Path| {
            let mut app = Command::new("./app");
            app.env("LD_PRELOAD", collector)
                .env("HEADWATER_SPOOL", dir.join("spool"));
            let out = app.current_dir(dir).output().expect("the program runs");
            (out.status.code(), out.stdout, out.stderr)
        };
        let bare = run(Path::new(""));
        assert_eq!(bare.0, Some(5));
        assert_eq!(run(&collector()), bare, "{define}");
        let error = read_spool(&dir.join("spool")).expect_err("nothing is recorded");
        assert!(matches!(error, FormatError::UnknownLibrary(_)), "{error}");
        let line = error.to_string();
        assert!(
            line.contains("Somebody's MPI 0.1 (libmpi.so.1)") && !line.contains('\n'),
            "{line}"
        );
    }
}
