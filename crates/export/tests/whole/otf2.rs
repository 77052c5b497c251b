//! Archives as the library of their authors reads them, and as our import does.

use crate::traces::{RANKS, call, collectives, messages, program};
use headwater_export::whole::otf2::{ANCHOR, Code, DEFINITIONS, LOCATIONS, Otf2, no_definitions};
use headwater_import::import;
use headwater_model::run::Run;
use headwater_simulate::{Network, Options, simulate};
use headwater_trace::trace::{Frame, Trace};
use headwater_virtual_run::Recorded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All calls are in one function.
fn main_function(_: &Frame) -> Option<Code> {
    Some(Code {
        name: "main".into(),
        file: "app.c".into(),
        lines: (3, 70),
        is_mpi: false,
    })
}

/// Writes an archive, in times of the ideal network or in recorded ones.
fn write(trace: &Trace, simulated: bool, dir: &Path) -> PathBuf {
    let recorded = Recorded::of(trace).expect("a trace");
    let program = Some("/home/user/app".into());
    let mut all = Otf2::new(trace, &recorded, program, &main_function, || ()).expect("all ranks");
    std::fs::create_dir(dir.join(LOCATIONS)).expect("a directory");
    let append = |name: String, bytes: &[u8]| {
        let mut file = File::options();
        let path = dir.join(name);
        file.append(true).create(true).open(path)?.write_all(bytes)
    };
    let mut sink = |n: u32, bytes: &[u8]| append(format!("{LOCATIONS}/{n}.evt"), bytes);
    match simulated {
        true => all.simulated(&Network::Ideal, &mut sink),
        false => (0..all.locations()).try_for_each(|n| all.recorded(n, &mut sink)),
    }
    .expect("it is written");
    for n in 0..all.locations() {
        append(format!("{LOCATIONS}/{n}.def"), &no_definitions()).expect("it is written");
    }
    let anchor = all.definitions(&mut |bytes| append(DEFINITIONS.into(), bytes));
    append(ANCHOR.into(), &anchor.expect("it is written")).expect("it is written");
    dir.join(ANCHOR)
}

/// How often the ranks call each function.
fn calls(trace: &Trace) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for rank in 0..RANKS {
        let mut events = trace.events(rank, 0);
        while let Some(event) = events.next() {
            *all.entry(event.signature.function.clone()).or_default() += 1;
        }
    }
    all
}

/// What the library of OTF2's authors reads.
fn read(anchor: &Path) -> Value {
    let given = std::env::var_os("HEADWATER_OTF2").map(PathBuf::from);
    let test = std::env::current_exe().expect("this program has a path");
    // Tests are in target/PROFILE/deps.
    let own = test.ancestors().nth(3).map(|target| target.join("otf2"));
    let pythons = given
        .into_iter()
        .chain(own)
        .map(|dir| dir.join("bin/python"));
    let python = pythons.into_iter().find(|p| p.exists());
    let python = python.expect("the OTF2 library is missing here; type: cargo xtask setup");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole/read_otf2.py");
    let out = Command::new(python).arg(script).arg(anchor).output();
    let out = out.expect("Python starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{said}");
    serde_json::from_slice(&out.stdout).expect("JSON")
}

fn seconds(trace: &Trace) -> f64 {
    let recorded = Recorded::of(trace).expect("a trace");
    let outcome = simulate(recorded.program(), &Network::Ideal, Options::default(), ());
    outcome.expect("it ends").seconds
}

#[test]
fn the_authors_library_reads_every_event() {
    for (trace, simulated) in [
        (messages(2), true),
        (messages(2), false),
        (collectives(), true),
        (collectives(), false),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let all = read(&write(&trace, simulated, dir.path()));
        let mut expected = calls(&trace);
        expected.insert("main".into(), u64::from(RANKS));
        let regions: BTreeMap<String, u64> =
            serde_json::from_value(all["regions"].clone()).expect("regions");
        assert_eq!(regions, expected);
        assert_eq!(all["lines"]["main"], serde_json::json!(["app.c", 3]));
        let count = |kind: &str| all["kinds"][kind].as_u64().unwrap_or(0);
        assert_eq!(count("Enter"), count("Leave"));
        assert_eq!(count("MpiCollectiveBegin"), count("MpiCollectiveEnd"));
        if regions.contains_key("MPI_Send") {
            // Four ranks send a wave in 20 steps, and five send both their neighbours something.
            let kinds = ["MpiSend", "MpiRecv", "MpiIsend", "MpiIrecv"].map(count);
            assert_eq!(kinds, [80, 80, 200, 200]);
            let bytes = |kind: &str| all["bytes"][kind].as_u64();
            assert_eq!(bytes("MpiSend"), Some(80 * 33_000));
            assert_eq!(bytes("MpiRecv"), bytes("MpiSend"));
            assert_eq!(bytes("MpiIrecv"), bytes("MpiIsend"));
        } else {
            // Six steps of sixteen blocking collectives, and the one that splits the ranks.
            assert_eq!(count("MpiCollectiveEnd"), 5 * (6 * 16 + 1));
            assert_eq!(count("NonBlockingCollectiveComplete"), 5 * 6);
            let mut comms: Vec<u64> = serde_json::from_value(all["comms"].clone()).expect("sizes");
            comms.sort_unstable();
            assert_eq!(comms, [2, 3, 5]);
        }
        let wall = all["nanoseconds"].as_f64().expect("a number") * 1e-9;
        if simulated {
            assert!((wall - seconds(&trace)).abs() < 2e-9, "{wall}");
        }
    }
}

#[test]
fn chunks_follow_one_another() {
    let barrier = || call("MPI_Barrier", &[("comm", 0)], 1);
    let trace = program(
        RANKS,
        |_| Vec::new(),
        &[],
        |_| (0..20_000).map(|_| barrier()).collect(),
    );
    let dir = tempfile::tempdir().expect("a directory");
    let all = read(&write(&trace, false, dir.path()));
    assert_eq!(all["regions"]["MPI_Barrier"], 100_000);
    let file = dir.path().join(LOCATIONS).join("4.evt");
    let length = std::fs::metadata(file).expect("a file").len();
    assert!(length > 1 << 18, "{length} bytes are several chunks");
}

fn imported(anchor: &Path, dir: &Path) -> Run {
    import(anchor, &dir.join("run"), None, |_, _| ()).expect("it is imported")
}

#[test]
fn our_import_finds_what_was_written() {
    for trace in [messages(2), collectives()] {
        let dir = tempfile::tempdir().expect("a directory");
        let run = imported(&write(&trace, true, dir.path()), dir.path());
        assert_eq!(
            (run.header.ranks, &*run.header.program),
            (RANKS, "/home/user/app")
        );
        assert!(
            run.ranks.iter().all(|r| r.complete),
            "{:?}",
            run.header.missing
        );
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for calls in &run.calls {
            let function = run.functions[calls.func as usize].clone();
            *found.entry(function).or_default() += calls.count;
        }
        let mut expected = calls(&trace);
        // The end of a run is no call of it.
        for map in [&mut found, &mut expected] {
            map.retain(|name, _| !matches!(&**name, "MPI_Init" | "MPI_Finalize"));
        }
        assert_eq!(found, expected);
        let computed: u64 = run.segments.iter().map(|s| s.wall_ns).sum();
        let recorded = Recorded::of(&trace).expect("a trace");
        let outcome = simulate(recorded.program(), &Network::Ideal, Options::default(), ());
        let all: f64 = outcome.expect("it ends").compute_of_ranks().iter().sum();
        let error = (computed as f64 * 1e-9 - all).abs() / all;
        assert!(error < 1e-3, "{computed} ns, {all} s");
    }
}
