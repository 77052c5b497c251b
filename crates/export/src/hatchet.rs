//! What Hatchet reads as a GraphFrame: Caliper's split JSON (`GraphFrame.from_caliper`).
//!
//! Nodes of the column `path` are frames; each has a row for each rank, with figures of all its threads. Hatchet takes
//! a node's place among the others from the first column of the row with the node's number, so the first rank's rows
//! come first, in the order of the nodes. That column is no metric, and Hatchet takes it out of the frame.

use crate::error::ExportError;
use crate::stacks::{Spent, Stacks};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Columns, and whether rows hold their values; otherwise they hold numbers of nodes. A column named `line` would make
/// Hatchet split nodes.
const COLUMNS: [(&str, bool); 11] = [
    ("Node order", false),
    ("mpi.rank", true),
    ("path", false),
    ("time", true),
    ("time (inc)", true),
    ("wait", true),
    ("wait (inc)", true),
    ("calls", true),
    ("bytes", true),
    ("file", false),
    ("first line", false),
];

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let stacks = Stacks::new(run, wanted);
        let mut nodes = Nodes::new(&stacks);
        let attributes: Vec<(usize, usize)> = (stacks.frames.iter())
            .map(|frame| {
                let file = frame.place.file.as_deref().unwrap_or("");
                let line = match frame.place.first_line {
                    0 => String::new(),
                    line => line.to_string(),
                };
                (nodes.of("file", file), nodes.of("first line", &line))
            })
            .collect();
        let header = &run.run().header;
        let names: Vec<&str> = COLUMNS.iter().map(|c| c.0).collect();
        let metadata: Vec<Value> = (COLUMNS.iter())
            .map(|c| json!({ "is_value": c.1 }))
            .collect();
        write!(out, "{{\"data\":[")?;
        let mut comma = "";
        let ranks = (0..header.ranks).filter(|r| wanted.has_rank(*r));
        for rank in ranks {
            let own = own(&stacks, rank);
            let whole = whole(&stacks, &own);
            let frames = own.iter().zip(&whole).zip(&attributes).enumerate();
            for (frame, ((own, whole), (file, line))) in frames {
                let row = json!([
                    frame, rank, frame, own.time, whole.time, own.wait, whole.wait, own.calls,
                    own.bytes, file, line
                ]);
                writeln!(out, "{comma}")?;
                serde_json::to_writer(&mut *out, &row).map_err(io::Error::from)?;
                comma = ",";
            }
        }
        let parts = [
            ("columns", json!(names)),
            ("column_metadata", json!(metadata)),
            ("nodes", json!(nodes.all)),
            ("run", json!(header.name)),
            ("program", json!(header.program)),
            ("ranks", json!(header.ranks)),
        ];
        write!(out, "\n]")?;
        for (name, value) in parts {
            write!(out, ",\n\"{name}\":")?;
            serde_json::to_writer(&mut *out, &value).map_err(io::Error::from)?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// What a rank spent in each frame, all its threads together.
fn own(stacks: &Stacks, rank: u32) -> Vec<Spent> {
    let mut own = vec![Spent::default(); stacks.frames.len()];
    let tracks = stacks.tracks.iter().filter(|t| t.rank == rank);
    for (frame, spent) in tracks.flat_map(|t| &t.spent) {
        if let Some(slot) = own.get_mut(*frame as usize) {
            slot.add(spent);
        }
    }
    own
}

/// The same with what is inside.
fn whole(stacks: &Stacks, own: &[Spent]) -> Vec<Spent> {
    let mut whole = own.to_vec();
    // A parent comes before its children, so each is complete when it is written.
    for (at, frame) in stacks.frames.iter().enumerate().rev() {
        let spent = whole.get(at).copied().unwrap_or_default();
        if let Some(slot) = frame.parent.and_then(|p| whole.get_mut(p as usize)) {
            slot.add(&spent);
        }
    }
    whole
}

/// Nodes: first the frames, then the words of other columns.
struct Nodes {
    all: Vec<Value>,
    words: BTreeMap<(&'static str, String), usize>,
}

impl Nodes {
    fn new(stacks: &Stacks) -> Self {
        let node = |frame: &crate::stacks::Frame| match frame.parent {
            Some(parent) => json!({"label": frame.name, "column": "path", "parent": parent}),
            None => json!({"label": frame.name, "column": "path"}),
        };
        Self {
            all: stacks.frames.iter().map(node).collect(),
            words: BTreeMap::new(),
        }
    }

    fn of(&mut self, column: &'static str, word: &str) -> usize {
        let next = self.all.len();
        let all = &mut self.all;
        *self
            .words
            .entry((column, word.to_string()))
            .or_insert_with(|| {
                all.push(json!({"label": word, "column": column}));
                next
            })
    }
}
