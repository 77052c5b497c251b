//! Tables of analyses, which a reader can take away as CSV.

use super::near::RANKS;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Diagnosed;
use headwater_diagnosis::paradigm::{self, Options, Takes};
use headwater_model::report::Section;

/// Analyses of the page. Each is of the largest run, or of all.
const ANALYSES: [&str; 3] = ["efficiencies", "wait-states", "mpi-profile"];

/// The tables, each with at most `rows` rows.
pub fn tables(of: &Diagnosed, rows: usize) -> Vec<Section> {
    let cache = Cache::default();
    let mut out = Vec::new();
    let most = of.runs.iter().map(|r| r.run().header.ranks).max();
    for name in ANALYSES {
        // The others need the parallel view.
        if most > Some(RANKS) && name != ANALYSES[0] {
            continue;
        }
        let Ok(paradigm) = paradigm::by_name(name) else {
            continue;
        };
        let all = &of.runs[..];
        let runs = match paradigm.takes {
            Takes::Several => all,
            _ => all.last().map_or(&[][..], std::slice::from_ref),
        };
        let options = Options {
            scaling: Some(of.diagnosis.scaling),
            ..Options::default()
        };
        // What one analysis cannot say of a run is no reason to show nothing.
        let Ok(report) = paradigm.run(runs, &options, &Runner::quiet(&cache)) else {
            continue;
        };
        for mut section in report.sections {
            let cut = section.rows.len().saturating_sub(rows);
            if cut > 0 {
                section.rows.truncate(rows);
                let note =
                    format!("{cut} further rows are left out; headwater analyse {name} has all.");
                section.note = Some(match section.note {
                    Some(before) => format!("{before} {note}"),
                    None => note,
                });
            }
            out.push(section);
        }
    }
    out
}
