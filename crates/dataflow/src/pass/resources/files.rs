//! How long ranks are in calls that concern files: MPI-IO, and the calls of the C library in which they sleep.

use super::counted::{begin, section};
use super::spread::{Spread, columns};
use crate::run::Recorded;
use headwater_graph::view::Cell;
use headwater_model::files::CALLS;
use headwater_model::report::{Item, Section, Unit};
use headwater_model::run::{FileSystem, MpiCalls, Run};
use headwater_mpi_abi::{self as abi, Class};
use std::collections::BTreeMap;

/// File systems named in a row at the most.
const MOST_NAMES: usize = 3;

/// Seconds by rank.
type Seconds = BTreeMap<u32, f64>;

/// Calls that concern files.
struct Group {
    what: &'static str,
    /// Kinds of file systems that their files are on.
    file_systems: Item,
    calls: Option<f64>,
    bytes: Option<f64>,
    seconds: Seconds,
}

/// MPI-IO calls for which `is_it`.
fn of_mpi(run: &Run, what: &'static str, is_it: fn(Class) -> bool) -> Group {
    let is: Vec<bool> = (run.functions.iter())
        .map(|name| abi::by_name(name).is_some_and(|f| f.is_about_files() && is_it(f.class)))
        .collect();
    let of = |c: &&MpiCalls| is.get(c.func as usize).copied().unwrap_or(false);
    let (mut seconds, mut calls, mut bytes) = (Seconds::new(), 0.0, 0.0);
    for call in run.calls.iter().filter(of) {
        *seconds.entry(call.rank).or_default() += call.wall_ns as f64 * 1e-9;
        calls += call.count as f64;
        bytes += call.bytes as f64;
    }
    Group {
        what,
        file_systems: file_systems(run, |s| s.mpi_opened),
        calls: Some(calls),
        bytes: Some(bytes),
        seconds,
    }
}

/// Sleep in calls of the C library.
fn of_libc(run: &Recorded) -> Group {
    let view = run.top_down();
    let mut seconds = Seconds::new();
    let text = |name, v| match view.vertices.cell(name, v) {
        Cell::Text(text) => Some(text.to_string()),
        _ => None,
    };
    if let Some(rows) = view.rows.get("blocked") {
        for v in rows.keys() {
            let is_call = text("type", v as usize).is_some_and(|kind| kind.ends_with("call"));
            let name = text("name", v as usize).unwrap_or_default();
            let name = name.split('@').next().unwrap_or("");
            if !is_call || !CALLS.contains(&name) {
                continue;
            }
            for (rank, value) in rows.row(v).into_iter().flat_map(|row| row.iter()) {
                *seconds.entry(rank).or_default() += value;
            }
        }
    }
    Group {
        what: "sleep in the C library, also for pipes and sockets",
        file_systems: file_systems(run.run(), |s| s.open_at_end),
        calls: None,
        bytes: None,
        seconds,
    }
}

/// Long calls of the C library for regular files, by kind of file system.
fn long_calls(run: &Run) -> Vec<Group> {
    let mut all: BTreeMap<&str, (f64, Seconds)> = BTreeMap::new();
    for system in run.file_systems.iter().filter(|s| s.long_calls > 0) {
        let (calls, seconds) = all.entry(&system.name).or_default();
        *calls += system.long_calls as f64;
        *seconds.entry(system.rank).or_default() += system.long_ns as f64 * 1e-9;
    }
    let group = |(name, (calls, seconds)): (&str, (f64, Seconds))| Group {
        what: "long calls of the C library",
        file_systems: name.into(),
        calls: Some(calls),
        bytes: None,
        seconds,
    };
    all.into_iter().map(group).collect()
}

/// Kinds of file systems on which there are files, those with most first.
fn file_systems(run: &Run, files: fn(&FileSystem) -> u64) -> Item {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for system in &run.file_systems {
        let files = files(system);
        if files > 0 {
            let sum = names.entry(&system.name).or_default();
            *sum = sum.saturating_add(files);
        }
    }
    let mut names: Vec<(&str, u64)> = names.into_iter().collect();
    names.sort_by_key(|(name, files)| (std::cmp::Reverse(*files), *name));
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut words: Vec<String> = (names.iter().take(MOST_NAMES))
        .map(|(name, _)| (*name).to_string())
        .collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.is_empty() {
        true => Item::Missing,
        false => words.join(", ").into(),
    }
}

/// Time in files by run.
pub fn times(runs: &[&Recorded]) -> Section {
    let note = "Independent calls of MPI-IO concern one rank; in collective ones a rank also waits for others. Of the C library only calls of read, write, pread, pwrite, fsync, fdatasync and msync are known that take over 50 µs; shorter ones, and all that fread and fwrite do, are computation. For sleep in these calls, the table names the file systems of the files that were open at the end of the run, not of each call. The rows of long calls have the file system of each call's file. They have the whole time of these calls, with copying and with what MPI-IO calls itself. So do not add them to the rows above.";
    let more = [
        ("what", "calls", Unit::None),
        ("file_systems", "file systems", Unit::None),
        ("calls", "count", Unit::Count),
        ("bytes", "bytes", Unit::Bytes),
    ];
    let columns = more.into_iter().chain(columns(Unit::Seconds));
    let mut section = section(runs, "file_time", "Time in files", note, columns);
    for recorded in runs {
        let run = recorded.run();
        let groups = [
            of_mpi(run, "MPI-IO, independent", |c| c == Class::File),
            of_mpi(run, "MPI-IO, collective", |c| c != Class::File),
            of_libc(recorded),
        ];
        let groups = groups.into_iter().chain(long_calls(run));
        for group in groups.filter(|g| !g.seconds.is_empty()) {
            let mut row = begin(runs, run);
            row.extend([group.what.into(), group.file_systems]);
            row.extend([group.calls.into(), group.bytes.into()]);
            row.extend(Spread::items_of(Spread::new(group.seconds)));
            section.rows.push(row);
        }
    }
    section
}
