//! The formats: one table of what each is called, holds, is opened with and takes.

use crate::error::ExportError;
use crate::wanted::{Setting, Wanted};
use crate::{dot, extrap, firefox, folded, graphml, hatchet, perfetto, pprof, speedscope, tables};
use headwater_dataflow::Recorded;
use std::io::Write;

/// How many runs a format takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One.
    One,
    /// Several, of different numbers of ranks.
    Scales,
    /// One, or as many as the analysis takes that is asked for.
    Analysis,
}

/// Makes a format of runs.
pub(crate) type Make = fn(&[Recorded], &Wanted, &mut (dyn Write + Send)) -> Result<(), ExportError>;

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, as in `headwater export NAME`.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
    /// What opens it.
    pub opens: &'static str,
    /// What names of its files end with.
    pub extension: &'static str,
    /// Whether it is text.
    pub text: bool,
    /// Runs it takes.
    pub takes: Takes,
    /// What can be said about what is wanted.
    pub settings: &'static [Setting],
    make: Make,
}

/// All formats.
pub const ALL: [Format; 11] = [
    Format {
        name: "speedscope",
        about: "flame graphs, one for each rank and thread",
        opens: "speedscope.app, or npx speedscope FILE",
        extension: "speedscope.json",
        text: true,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: speedscope::write,
    },
    Format {
        name: "firefox",
        about: "flame graphs with categories, one for each rank and thread",
        opens: "profiler.firefox.com",
        extension: "firefox.json",
        text: true,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: firefox::write,
    },
    Format {
        name: "folded",
        about: "folded stacks, all ranks in one, microseconds",
        opens: "flamegraph.pl, inferno-flamegraph, speedscope.app",
        extension: "folded",
        text: true,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: folded::write,
    },
    Format {
        name: "pprof",
        about: "a profile with functions and lines; time, waiting, calls, bytes; ranks as labels",
        opens: "go tool pprof FILE, or pprof -http=: FILE",
        extension: "pb.gz",
        text: false,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: pprof::write,
    },
    Format {
        name: "hatchet",
        about: "call paths with figures of each rank, as Caliper's split JSON",
        opens: "hatchet.GraphFrame.from_caliper(FILE)",
        extension: "json",
        text: true,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: hatchet::write,
    },
    Format {
        name: "extra-p",
        about: "call paths over the number of ranks p, with ranks as repetitions",
        opens: "Extra-P: extrap --json FILE",
        extension: "jsonl",
        text: true,
        takes: Takes::Scales,
        settings: &[Setting::Ranks],
        make: extrap::write,
    },
    Format {
        name: "perfetto",
        about: "a timeline of the windows in which all events were recorded",
        opens: "ui.perfetto.dev, chrome://tracing",
        extension: "trace.json",
        text: true,
        takes: Takes::One,
        settings: &[Setting::Ranks],
        make: perfetto::write,
    },
    Format {
        name: "graphml",
        about: "a view as a graph with all its attributes",
        opens: "networkx, igraph, Gephi, yEd, Cytoscape",
        extension: "graphml",
        text: true,
        takes: Takes::One,
        settings: &[Setting::View, Setting::Ranks, Setting::Vertices],
        make: graphml::write,
    },
    Format {
        name: "dot",
        about: "a view as a drawing, the 60 vertices with the most time",
        opens: "Graphviz: dot -Tsvg FILE",
        extension: "dot",
        text: true,
        takes: Takes::One,
        settings: &[Setting::View, Setting::Ranks, Setting::Vertices],
        make: dot::write,
    },
    Format {
        name: "csv",
        about: "a table of a view or of an analysis",
        opens: "any spreadsheet",
        extension: "csv",
        text: true,
        takes: Takes::Analysis,
        settings: TABLES,
        make: tables::csv,
    },
    Format {
        name: "parquet",
        about: "the same with types and units",
        opens: "polars, pandas, DuckDB, R's arrow",
        extension: "parquet",
        text: false,
        takes: Takes::Analysis,
        settings: TABLES,
        make: tables::parquet,
    },
];

const TABLES: &[Setting] = &[
    Setting::View,
    Setting::Table,
    Setting::Ranks,
    Setting::Analysis,
];

/// A format by its name.
///
/// # Errors
/// If there is none.
pub fn by_name(name: &str) -> Result<&'static Format, ExportError> {
    static KNOWN: [Format; ALL.len()] = ALL;
    KNOWN.iter().find(|f| f.name == name).ok_or_else(|| {
        let names: Vec<&str> = KNOWN.iter().map(|f| f.name).collect();
        ExportError::Unknown(name.to_string(), names.join(", "))
    })
}

impl Format {
    /// Whether so many runs, and what is said to be wanted, fit the format: what can be known without the runs.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self, runs: usize, wanted: &Wanted) -> Result<(), ExportError> {
        if let Some(not) = wanted.said().find(|s| !self.settings.contains(s)) {
            return Err(ExportError::Setting(self.name, not.name()));
        }
        match self.takes {
            // How many an analysis takes, it says itself.
            Takes::Analysis if wanted.analysis.is_some() => Ok(()),
            Takes::One | Takes::Analysis if runs != 1 => {
                Err(ExportError::Runs(self.name, "one run", runs))
            }
            Takes::Scales if runs < 2 => Err(ExportError::Runs(
                self.name,
                "two runs or more, at different numbers of ranks",
                runs,
            )),
            _ => Ok(()),
        }
    }

    /// Writes `runs` in this format.
    ///
    /// # Errors
    /// Runs or wishes that do not fit, or a writer that fails; see [`ExportError`].
    pub fn write(
        &self,
        runs: &[Recorded],
        wanted: &Wanted,
        out: &mut (dyn Write + Send),
    ) -> Result<(), ExportError> {
        self.check(runs.len(), wanted)?;
        runs.iter().try_for_each(|run| wanted.check_ranks(run))?;
        (self.make)(runs, wanted, out)?;
        Ok(out.flush()?)
    }
}
