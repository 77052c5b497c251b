//! What each rank used, of runs whose ranks fit on a page.

use super::counted::{EVENTS, has_counts};
use crate::run::Recorded;
use headwater_model::report::{Item, Section, Unit};
use headwater_model::run::Usage;
use std::collections::BTreeMap;

/// Runs with more ranks have their ranks in short only.
pub const MOST_RANKS: usize = 32;

/// Figures of a process.
type Figure = (&'static str, &'static str, Unit, fn(&Usage) -> Option<u64>);

const FIGURES: [Figure; 5] = [
    ("peak_memory_bytes", "memory", Unit::Bytes, |u| {
        u.peak_memory_bytes
    }),
    ("read_bytes", "read", Unit::Bytes, |u| u.read_bytes),
    ("reads", "reads", Unit::Count, |u| u.reads),
    ("written_bytes", "written", Unit::Bytes, |u| u.written_bytes),
    ("writes", "writes", Unit::Count, |u| u.writes),
];

/// Names and titles of counts, in the order of [`EVENTS`].
const COUNTS: [(&str, &str); EVENTS.len()] = [
    ("minor_faults", "minor faults"),
    ("major_faults", "major faults"),
    ("voluntary_switches", "voluntary switches"),
    ("involuntary_switches", "involuntary"),
    ("migrations", "migrations"),
];

/// Figures of each rank by run.
pub fn by_rank(runs: &[&Recorded]) -> Section {
    let mut columns = vec![
        ("run", "run", Unit::None),
        ("rank", "rank", Unit::None),
        ("node", "node", Unit::None),
        ("cpu_seconds", "CPU time", Unit::Seconds),
    ];
    columns.extend(FIGURES.map(|f| (f.0, f.1, f.2)));
    columns.extend(COUNTS.map(|c| (c.0, c.1, Unit::Count)));
    let mut section = Section::new("by_rank", "By rank", &columns);
    section.note = Some(format!(
        "Of runs with up to {MOST_RANKS} ranks. The tables above say what the figures are."
    ));
    let few = runs.iter().map(|r| r.run());
    for run in few.filter(|r| r.ranks.len() <= MOST_RANKS && has_counts(r)) {
        let used: BTreeMap<u32, &Usage> = run.usage.iter().map(|u| (u.rank, u)).collect();
        for rank in &run.ranks {
            let used = used.get(&rank.rank);
            let node = run.header.nodes.get(rank.node as usize);
            let whole = |value: Option<u64>| Item::from(value.map(|v| v as f64));
            let mut row = vec![
                run.header.name.as_str().into(),
                f64::from(rank.rank).into(),
                node.map_or(Item::Missing, |n| n.as_str().into()),
                rank.cpu_ns.map(|ns| ns as f64 * 1e-9).into(),
            ];
            row.extend(FIGURES.map(|f| whole(used.and_then(|u| (f.3)(u)))));
            row.extend(EVENTS.map(|e| whole((e.1)(rank))));
            section.rows.push(row);
        }
    }
    section
}
