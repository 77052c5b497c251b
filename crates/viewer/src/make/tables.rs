//! Tables of analyses, which a reader can take away as CSV.

use super::near::RANKS;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Diagnosed;
use headwater_diagnosis::paradigm::{self, Options};
use headwater_diagnosis::pass::efficiencies;
use headwater_model::report::Section;

/// Analyses of the largest run. They need the parallel view.
const ANALYSES: [&str; 2] = ["wait-states", "mpi-profile"];

/// The tables, each with at most `rows` rows.
pub fn tables(of: &Diagnosed, rows: usize) -> Vec<Section> {
    let mut out = vec![limited(efficiencies(&of.diagnosis), "efficiencies", rows)];
    let largest = of.runs.last().map_or(&[][..], std::slice::from_ref);
    if largest.iter().any(|r| r.run().header.ranks > RANKS) {
        return out;
    }
    let cache = Cache::default();
    for name in ANALYSES {
        // What one analysis cannot say of a run is no reason to show nothing.
        let report = paradigm::by_name(name)
            .and_then(|p| p.run(largest, &Options::default(), &Runner::quiet(&cache)));
        let sections = report.into_iter().flat_map(|r| r.sections);
        out.extend(sections.map(|section| limited(section, name, rows)));
    }
    out
}

/// The section of an analysis, with at most `rows` rows.
fn limited(mut section: Section, analysis: &str, rows: usize) -> Section {
    let cut = section.rows.len().saturating_sub(rows);
    if cut > 0 {
        section.rows.truncate(rows);
        let note =
            format!("{cut} further rows are left out; headwater analyse {analysis} has all.");
        section.note = Some(match section.note {
            Some(before) => format!("{before} {note}"),
            None => note,
        });
    }
    section
}
