//! Our virtual times against those of SimGrid, on the same traces.

use crate::traces::{RANKS, collectives, messages};
use headwater_export::ExportError;
use headwater_export::whole::simgrid::{self, SimGrid};
use headwater_simulate::{LogGp, Network, Options, simulate};
use headwater_trace::trace::Trace;
use headwater_virtual_run::Recorded;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Two microseconds of latency, half a microsecond of overhead, a gigabyte a second.
const LOGGP: Network = Network::LogGp(LogGp {
    latency: 2e-6,
    overhead: 5e-7,
    gap: 0.0,
    per_byte: 1e-9,
    rendezvous_above: 16_384,
});

/// Collectives whose members wait for nobody but those whom they need: all others in one step.
const FLAT: &str = " --cfg=smpi/bcast:flattree --cfg=smpi/reduce:flat_tree --cfg=smpi/gather:ompi_basic_linear \
                    --cfg=smpi/scatter:ompi_basic_linear";

fn write(trace: &Trace, network: &Network, dir: &Path) -> Vec<String> {
    let recorded = Recorded::of(trace).expect("a trace");
    let mut all = SimGrid::new(&recorded, || ()).expect("all ranks");
    let file = |name: &str| File::create_new(dir.join(name)).expect("a new file");
    for rank in 0..all.ranks() {
        let out = &mut file(&simgrid::rank_file(rank));
        all.rank(rank, out).expect("it is written");
    }
    simgrid::index(RANKS, &mut file(simgrid::INDEX)).expect("it is written");
    simgrid::hosts(RANKS, &mut file(simgrid::HOSTS)).expect("it is written");
    simgrid::platform(RANKS, network, &mut file(simgrid::PLATFORM)).expect("it is written");
    all.notes()
}

/// The run time in seconds, ours and SimGrid's.
fn both(trace: &Trace, network: &Network, more: &str) -> (f64, f64) {
    let dir = tempfile::tempdir().expect("a directory");
    write(trace, network, dir.path());
    let line = simgrid::command(RANKS, network) + more;
    let out = Command::new("sh")
        .arg("-c")
        .arg(&line)
        .current_dir(&dir)
        .output();
    let out = out.expect("a shell");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{line}\n{said}");
    let time = said.split("Simulation time ").nth(1);
    let theirs = time.and_then(|t| t.split_whitespace().next()?.parse().ok());
    let recorded = Recorded::of(trace).expect("a trace");
    let outcome = simulate(recorded.program(), network, Options::default(), ());
    (outcome.expect("it ends").seconds, theirs.expect("a time"))
}

/// Whether SimGrid is there; otherwise a line says that the test is skipped.
fn is_installed() -> bool {
    let found = Command::new("smpirun").arg("-version").output();
    let is = found.is_ok_and(|out| out.status.success());
    if !is {
        eprintln!("skipped: SimGrid is missing here; type: cargo xtask setup");
    }
    is
}

fn hold(name: &str, (ours, theirs): (f64, f64), tolerance: f64) {
    let error = (ours - theirs).abs() / theirs;
    println!(
        "{name}: {ours:.6} s, SimGrid {theirs:.6} s, {:.3} %",
        100.0 * error
    );
    assert!(error <= tolerance, "{name}: {ours} s, SimGrid {theirs} s");
}

/// SimGrid prints microseconds, and these runs take milliseconds.
const ROUNDED: f64 = 2e-4;

#[test]
fn ideal_times_are_those_of_simgrid() {
    if is_installed() {
        hold("messages", both(&messages(2), &Network::Ideal, ""), ROUNDED);
        let collectives = both(&collectives(), &Network::Ideal, FLAT);
        hold("collectives", collectives, ROUNDED);
    }
}

/// SimGrid adds 16 bytes to each message, and a long one goes without asking first, which takes two latencies in ours.
/// Messages of a sender share its link, where LogGP sends them one after the other. Its collectives are the algorithms that it runs, and ours a formula for the best of several.
#[test]
fn loggp_times_are_close_to_those_of_simgrid() {
    if is_installed() {
        hold("messages", both(&messages(1), &LOGGP, ""), 0.02);
        hold("shared links", both(&messages(2), &LOGGP, ""), 0.10);
        hold("collectives", both(&collectives(), &LOGGP, ""), 0.10);
    }
}

#[test]
fn what_is_not_written_as_it_was_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let notes = write(&collectives(), &Network::Ideal, dir.path());
    // Eight collectives of five ranks in six steps, and one nonblocking one.
    let counts: Vec<bool> = ["(240 calls)", "(30 calls)"]
        .iter()
        .map(|n| notes.iter().any(|note| note.contains(n)))
        .collect();
    assert_eq!((notes.len(), counts), (2, vec![true, true]), "{notes:?}");
    let lines = std::fs::read_to_string(dir.path().join("rank-1.txt")).expect("a file");
    assert!(lines.starts_with("1 init\n1 barrier\n"), "{lines}");
    assert!(lines.contains("\n1 bcast 2000 0\n"), "{lines}");
}

#[test]
fn a_trace_without_a_rank_is_refused() {
    let mut trace = messages(1);
    trace.size += 1;
    let recorded = Recorded::of(&trace).expect("a trace");
    let refused = SimGrid::new(&recorded, || ()).err();
    assert!(
        matches!(refused, Some(ExportError::MissingRank(5, 6, _))),
        "{refused:?}"
    );
}
