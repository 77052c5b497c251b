//! A table that is given out: one of a view, or of an analysis.

use crate::error::ExportError;
use crate::selection;
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Options;
use headwater_diagnosis::paradigm;
use headwater_graph::view::{Column, Table, View};
use headwater_model::report::{Item, Report, Section, Unit};

/// A table and the units of its columns.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) table: Table,
    /// By column.
    pub(crate) units: Vec<Option<&'static str>>,
}

/// The table of a view that has a row for each vertex and rank.
const BY_RANK: &str = "by-rank";

impl Sheet {
    /// The table that is wanted.
    ///
    /// # Errors
    /// If there is no such table, or the analysis fails.
    pub(crate) fn new(runs: &[Recorded], wanted: &Wanted) -> Result<Self, ExportError> {
        let sheet = match (&wanted.analysis, runs) {
            (Some(name), runs) => of_analysis(name, runs, wanted)?,
            (None, [run, ..]) => of_view(run, wanted)?,
            (None, []) => return Err(ExportError::Runs("a table", "one run", 0)),
        };
        sheet.of_ranks(wanted)
    }

    /// The rows of the ranks that are wanted.
    fn of_ranks(self, wanted: &Wanted) -> Result<Self, ExportError> {
        if wanted.ranks.is_none() {
            return Ok(self);
        }
        let rank = self.table.get("rank").ok_or(ExportError::SummedUp)?;
        let is_wanted = |row: &u32| {
            let rank = rank.number(*row as usize);
            rank.is_some_and(|r| wanted.has_rank(r as u32))
        };
        let rows: Vec<u32> = (0..self.table.len() as u32).filter(is_wanted).collect();
        Ok(Self {
            table: self.table.take(&rows),
            units: self.units,
        })
    }
}

fn of_view(run: &Recorded, wanted: &Wanted) -> Result<Sheet, ExportError> {
    let view = selection::view(run, wanted);
    let name = wanted.table.as_deref().unwrap_or("vertices");
    let table = match name {
        "vertices" => numbered(&view.vertices),
        "edges" => edges(&view),
        BY_RANK if !view.rows.is_empty() => by_rank(&view),
        name => view.table(name).cloned().ok_or_else(|| {
            let by_rank = (!view.rows.is_empty()).then_some(BY_RANK);
            let known = ["vertices", "edges"].into_iter().chain(by_rank);
            let known: Vec<&str> = known.chain(view.tables.keys().copied()).collect();
            ExportError::NoTable(name.to_string(), known.join(", "))
        })?,
    };
    let units = table.names().into_iter().map(|name| table.unit(name));
    let units = units.collect();
    Ok(Sheet { table, units })
}

/// A table with the numbers of its rows before it, by which others refer to them.
fn numbered(table: &Table) -> Table {
    let ids = (0..table.len()).map(|i| i as f64).collect();
    let mut out = Table::new(table.len()).with("id", Column::known(ids));
    for (name, column) in table.columns() {
        out.set(name, column.clone());
    }
    out
}

fn edges(view: &View) -> Table {
    let ends = |ends: &[u32]| Column::known(ends.iter().map(|v| f64::from(*v)).collect());
    let graph = &view.graph;
    let mut out = Table::new(graph.edges())
        .with("source", ends(graph.sources()))
        .with("target", ends(graph.targets()));
    for (name, column) in view.edges.columns() {
        out.set(name, column.clone());
    }
    out
}

/// A row for each vertex and rank that has a figure. Others are zero, where the vertex has such figures at all.
fn by_rank(view: &View) -> Table {
    let mut keys: Vec<(u32, u32)> = Vec::new();
    for rows in view.rows.values() {
        for vertex in rows.keys() {
            let row = rows.row(vertex).into_iter().flat_map(|r| r.iter());
            let there = row.filter(|(_, value)| *value != 0.0);
            keys.extend(there.map(|(rank, _)| (vertex, rank)));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let ids = |get: fn(&(u32, u32)) -> u32| {
        Column::known(keys.iter().map(|k| f64::from(get(k))).collect())
    };
    let vertices: Vec<u32> = keys.iter().map(|k| k.0).collect();
    let mut out = Table::new(keys.len())
        .with("vertex", ids(|k| k.0))
        .with("rank", ids(|k| k.1));
    for name in ["name", "type", "file", "first_line"] {
        if let Some(column) = view.vertices.get(name) {
            out.set(name, column.take(&vertices));
        }
    }
    for name in view.vertices.names() {
        let (Some(rows), Some(whole)) = (view.rows.get(name), view.vertices.get(name)) else {
            continue;
        };
        let values = keys.iter().map(|(vertex, rank)| {
            // What the vertex has no figure of, it has none of on a rank.
            whole.number(*vertex as usize)?;
            Some(rows.row(*vertex).map_or(0.0, |r| r.at(*rank)))
        });
        out.set(name, Column::numbers(values));
    }
    out
}

fn of_analysis(name: &str, runs: &[Recorded], wanted: &Wanted) -> Result<Sheet, ExportError> {
    let paradigm = paradigm::by_name(name)?;
    let cache = Cache::default();
    let report: Report = paradigm.run(runs, &Options::default(), &Runner::quiet(&cache))?;
    let known = || {
        let names: Vec<&str> = report.sections.iter().map(|s| s.name.as_str()).collect();
        names.join(", ")
    };
    let section = match (&wanted.table, report.sections.as_slice()) {
        (Some(table), all) => all.iter().find(|s| s.name == *table),
        (None, [only]) => Some(only),
        (None, _) => return Err(ExportError::WhichTable(name.to_string(), known())),
    };
    let section = section.ok_or_else(|| {
        let table = wanted.table.clone().unwrap_or_default();
        ExportError::NoTable(table, known())
    })?;
    Ok(of_section(section))
}

fn of_section(section: &Section) -> Sheet {
    let mut table = Table::new(section.rows.len());
    let mut units = Vec::new();
    for (at, heading) in section.columns.iter().enumerate() {
        let items = || {
            let rows = section.rows.iter();
            rows.map(move |r| r.get(at).unwrap_or(&Item::Missing))
        };
        let words = items().any(|i| matches!(i, Item::Text(_)));
        let column = if words {
            Column::texts(items().map(|i| match i {
                Item::Missing => None,
                Item::Number(x) => Some(x.to_string()),
                Item::Text(text) => Some(text.clone()),
            }))
        } else {
            Column::numbers(items().map(|i| match i {
                Item::Number(x) => Some(*x),
                _ => None,
            }))
        };
        if table.get(&heading.name).is_none() {
            table.set(&heading.name, column);
            units.push(match heading.unit {
                Unit::Seconds => Some("s"),
                Unit::Bytes => Some("B"),
                Unit::Count => Some("1"),
                Unit::None | Unit::Share | Unit::Ratio => None,
            });
        }
    }
    Sheet { table, units }
}
