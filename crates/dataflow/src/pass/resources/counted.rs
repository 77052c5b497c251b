//! What the system counts of processes and nodes: memory, page faults, switches, input and output, energy.

use super::spread::{Spread, columns};
use crate::run::{Recorded, threads};
use headwater_model::report::{Item, Section, Unit};
use headwater_model::run::{RankInfo, Run, Usage};
use std::collections::BTreeMap;

/// A section whose rows begin with a run and its scale.
pub fn section(
    runs: &[&Recorded],
    name: &str,
    title: &str,
    note: &str,
    more: impl IntoIterator<Item = (&'static str, &'static str, Unit)>,
) -> Section {
    let mut all = vec![("run", "run", Unit::None), ("ranks", "ranks", Unit::Count)];
    if has_threads(runs) {
        all.push(("threads", "threads each", Unit::Count));
    }
    all.extend(more);
    let mut section = Section::new(name, title, &all);
    section.note = Some(note.to_string());
    section
}

/// Whether threads are a part of the scale of any run.
fn has_threads(runs: &[&Recorded]) -> bool {
    runs.iter().any(|r| threads::of_scale(r.run()).is_some())
}

/// The beginning of a row about a run among `runs`.
pub fn begin(runs: &[&Recorded], run: &Run) -> Vec<Item> {
    let header = &run.header;
    let mut row = vec![header.name.as_str().into(), f64::from(header.ranks).into()];
    if has_threads(runs) {
        row.push(threads::of_scale(run).map(f64::from).into());
    }
    row
}

/// A figure of each process, as far as it is known.
fn of_usage(run: &Run, figure: impl Fn(&Usage) -> Option<u64>) -> Option<Spread> {
    let known = run
        .usage
        .iter()
        .filter_map(|u| Some((u.rank, figure(u)? as f64)));
    Spread::new(known)
}

/// The node whose ranks' peaks are the largest sum, if all its ranks have one; the first of equal nodes.
fn fullest(run: &Run) -> Option<(u32, f64)> {
    let node: BTreeMap<u32, u32> = run.ranks.iter().map(|r| (r.rank, r.node)).collect();
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for usage in &run.usage {
        let of = node.get(&usage.rank)?;
        *sums.entry(*of).or_default() += usage.peak_memory_bytes? as f64;
    }
    sums.into_iter()
        .reduce(|a, b| if b.1 > a.1 { b } else { a })
}

/// Memory by run.
pub fn memory(runs: &[&Recorded]) -> Section {
    let note = "The most memory that a rank had at once (resident), since it started; Headwater's own, some MiB for each rank, is in it. A node's sum is an upper bound of what its ranks need together: memory that they share, as libraries, counts once for each.";
    let node = [
        ("node", "fullest node", Unit::None),
        ("node_bytes", "its ranks", Unit::Bytes),
    ];
    let columns = columns(Unit::Bytes).into_iter().skip(1).chain(node);
    let mut section = section(runs, "memory", "Memory", note, columns);
    for run in runs.iter().map(|r| r.run()) {
        let mut row = begin(runs, run);
        let spread = of_usage(run, |u| u.peak_memory_bytes);
        // Peaks at different times have no sum.
        row.extend(Spread::items_of(spread).into_iter().skip(1));
        let fullest = fullest(run);
        let name = fullest.and_then(|(node, _)| run.header.nodes.get(node as usize));
        row.push(name.map_or(Item::Missing, |n| n.as_str().into()));
        row.push(fullest.map(|f| f.1).into());
        section.rows.push(row);
    }
    section
}

/// Counts of each rank.
type Event = (&'static str, fn(&RankInfo) -> Option<u64>);

/// Names of counts, each with where it is.
pub const EVENTS: [Event; 5] = [
    ("minor page faults", |r| r.minor_faults),
    ("major page faults", |r| r.major_faults),
    ("voluntary switches", |r| r.voluntary_switches),
    ("involuntary switches", |r| r.involuntary_switches),
    ("migrations seen", |r| Some(r.migrations)),
];

/// Whether the system's counts are there: no process runs without page faults, so zeros are those of a trace of another
/// tool.
pub fn has_counts(run: &Run) -> bool {
    let faults = |r: &RankInfo| r.minor_faults.is_some_and(|n| n > 0);
    run.ranks.iter().any(faults) || !run.usage.is_empty()
}

/// Faults, switches and migrations by run.
pub fn events(runs: &[&Recorded]) -> Section {
    let note = "A minor page fault needs no disk. A voluntary switch is a thread that waits, an involuntary one a thread that loses its core. Migrations are those that samples saw; the true number may be higher.";
    let columns = std::iter::once(("what", "what", Unit::None)).chain(columns(Unit::Count));
    let title = "Page faults, context switches, migrations";
    let mut section = section(runs, "events", title, note, columns);
    for run in runs.iter().map(|r| r.run()).filter(|r| has_counts(r)) {
        for (name, of) in EVENTS {
            let mut row = begin(runs, run);
            row.push(name.into());
            let known = run
                .ranks
                .iter()
                .filter_map(|r| Some((r.rank, of(r)? as f64)));
            row.extend(Spread::items_if_known(Spread::new(known), run.header.ranks));
            section.rows.push(row);
        }
    }
    section
}

/// What a process reads or writes: a name, its bytes, its calls.
type Traffic = (
    &'static str,
    fn(&Usage) -> Option<u64>,
    fn(&Usage) -> Option<u64>,
);

const TRAFFIC: [Traffic; 4] = [
    ("read", |u| u.read_bytes, |u| u.reads),
    ("written", |u| u.written_bytes, |u| u.writes),
    ("from storage", |u| u.storage_read_bytes, |_| None),
    ("to storage", |u| u.storage_written_bytes, |_| None),
];

/// Input and output by run.
pub fn files(runs: &[&Recorded]) -> Section {
    let note = "Read and written by calls: files, pipes and sockets, also the MPI library's own, but not files mapped into memory. Storage is what the system moved from and to devices for the process: nothing for files that are in memory, and often nothing for network file systems. Programs that a rank started and waited for are in these figures, too. Headwater's own recording is in what goes to storage. Pauses of recording are in all of these.";
    let more = [
        ("what", "what", Unit::None),
        ("calls", "calls", Unit::Count),
    ];
    let columns = more.into_iter().chain(columns(Unit::Bytes));
    let mut section = section(runs, "input_output", "Input and output", note, columns);
    for run in runs.iter().map(|r| r.run()).filter(|r| !r.usage.is_empty()) {
        for (name, bytes, calls) in TRAFFIC {
            let mut row = begin(runs, run);
            row.push(name.into());
            let ranks = run.header.ranks;
            let calls = of_usage(run, calls).and_then(|s| s.total(ranks as usize));
            row.push(calls.into());
            row.extend(Spread::items_if_known(of_usage(run, bytes), ranks));
            section.rows.push(row);
        }
    }
    section
}

/// Energy by run and node.
pub fn energy(runs: &[&Recorded]) -> Section {
    let note = "Energy of the whole node, other programs included, from the begin to the end of the recording. A package does not contain its memory, which is the zone dram. A zone psys contains packages and memory: do not add them.";
    let columns = [
        ("node", "node", Unit::None),
        ("zone", "zone", Unit::None),
        ("energy_joules", "energy (J)", Unit::None),
        ("power_watts", "mean power (W)", Unit::None),
    ];
    let mut section = section(runs, "energy", "Energy", note, columns);
    for run in runs.iter().map(|r| r.run()) {
        for energy in &run.energy {
            let joules = energy.microjoules.map(|uj| uj as f64 * 1e-6);
            let seconds = energy.wall_ns as f64 * 1e-9;
            let watts = joules.filter(|_| seconds > 0.0).map(|j| j / seconds);
            let node = run.header.nodes.get(energy.node as usize);
            let mut row = begin(runs, run);
            row.push(node.map_or(Item::Missing, |n| n.as_str().into()));
            row.push(energy.zone.as_str().into());
            row.extend([joules.into(), watts.into()]);
            section.rows.push(row);
        }
    }
    section
}
