//! Shows sets as tables for people and programs: the report at the end of a dataflow.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::called_from::called_from;
use crate::set::Set;
use headwater_graph::view::{Cell, Table};
use headwater_model::report::{Heading, Item, Section, Unit};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new("table", "A set as a table of some attributes.", |call| {
            let attributes = call.list("attributes");
            let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
            let mut section = section_of(call.set(0)?, &attributes)?;
            section.name = call.text("name").to_string();
            section.title = call.text("title").to_string();
            let note = call.text("note");
            section.note = (!note.is_empty()).then(|| note.to_string());
            Ok(vec![section.into()])
        })
        .takes("V", Kind::SET)
        .with(
            "attributes",
            ["name", "type", "debug-info", "time"],
            "columns; debug-info is file and lines, called-from the calls that lead there, comm-info counts and bytes",
        )
        .with("name", "set", "name of the table for programs")
        .with("title", "Vertices", "heading for people")
        .with("note", "", "what must be known to read it")
        .gives(Gives::Kind(Kind::Section)),
    ]
}

/// The attributes that represent PerFlow's attributes with several values.
fn several(attribute: &str) -> Option<&'static [&'static str]> {
    Some(match attribute {
        "comm-info" => &["class", "count", "bytes", "wait"],
        "pmu" => &[
            "instructions",
            "cycles",
            "cache_references",
            "cache_misses",
            "page_faults",
        ],
        _ => return None,
    })
}

/// The heading of an attribute.
pub(super) fn heading(table: &Table, attribute: &str) -> Heading {
    heading_as(table, attribute, attribute)
}

/// The heading of a figure that was computed from an attribute and has its unit; if that is seconds, the name for
/// programs says so.
pub(super) fn heading_as(table: &Table, attribute: &str, name: &str) -> Heading {
    let (suffix, unit) = match table.unit(attribute) {
        Some("s") => ("_seconds", Unit::Seconds),
        Some("B") => ("", Unit::Bytes),
        Some("1") => ("", Unit::Count),
        _ if attribute.ends_with("_share") => ("", Unit::Share),
        _ => ("", Unit::None),
    };
    Heading {
        name: format!("{name}{suffix}"),
        title: name.replace('_', " "),
        unit,
    }
}

/// `file.c:10-20` of a vertex; the module's name where no file is known.
pub fn location(set: &Set, v: u32) -> Option<String> {
    let word = |name| match set.cell(name, v) {
        Cell::Text(text) => Some(text),
        _ => None,
    };
    let line = |name| match set.cell(name, v) {
        Cell::Number(line) => Some(line as u64),
        _ => None,
    };
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    match (word("file"), line("first_line"), line("last_line")) {
        (Some(file), Some(a), Some(b)) if b > a => Some(format!("{}:{a}-{b}", base(file))),
        (Some(file), Some(a), _) => Some(format!("{}:{a}", base(file))),
        (Some(file), None, _) => Some(base(file)),
        _ => word("module").map(base),
    }
}

/// The vertices of a set in rows, or its edges if it has no vertices. `debug-info` (or `dbg-info`) is a location;
/// `comm-info` and `pmu` represent several attributes, of which the recorded ones are shown.
///
/// # Errors
/// If there is no such attribute.
pub fn section_of(set: &Set, attributes: &[&str]) -> Result<Section, PassError> {
    let edges = set.vertices().is_empty() && !set.edges().is_empty();
    let (table, rows) = if edges {
        (set.edge_table(), set.edges().len())
    } else {
        (set.vertex_table(), set.vertices().len())
    };
    let mut section = Section {
        rows: vec![Vec::new(); rows],
        ..Section::default()
    };
    let item = |cell: Cell<'_>| match cell {
        Cell::Missing => Item::Missing,
        Cell::Number(x) => Item::Number(x),
        Cell::Text(t) => Item::from(t),
    };
    for attribute in attributes {
        if matches!(*attribute, "debug-info" | "dbg-info") && !edges {
            section.columns.push(Heading {
                name: "location".to_string(),
                title: "where".to_string(),
                unit: Unit::None,
            });
            for (row, v) in section.rows.iter_mut().zip(set.vertices()) {
                row.push(location(set, *v).map_or(Item::Missing, Item::from));
            }
            continue;
        }
        if *attribute == "called-from" && !edges {
            section.columns.push(Heading {
                name: "called_from".to_string(),
                title: "called from".to_string(),
                unit: Unit::None,
            });
            for (row, v) in section.rows.iter_mut().zip(set.vertices()) {
                row.push(called_from(set, *v).map_or(Item::Missing, Item::from));
            }
            continue;
        }
        if let Some(parts) = several(attribute) {
            for part in parts.iter().filter(|p| table.get(p).is_some()) {
                section.columns.push(heading(&table, part));
                let rows = section.rows.iter_mut().enumerate();
                rows.for_each(|(i, row)| row.push(item(table.cell(part, i))));
            }
            continue;
        }
        if table.get(attribute).is_none() {
            let names = table.names().join(", ");
            return Err(PassError::Argument(
                "attributes".to_string(),
                format!("there is no attribute {attribute}; there are {names}"),
            ));
        }
        section.columns.push(heading(&table, attribute));
        let rows = section.rows.iter_mut().enumerate();
        rows.for_each(|(i, row)| row.push(item(table.cell(attribute, i))));
    }
    Ok(section)
}
