//! DOT, Graphviz's language: a view as a drawing.
//!
//! A box is a vertex with its place and time, the redder the more of it; in the parallel view those of a rank or
//! thread are grouped. Dashed lines go between ranks or threads; they are red and say so where there was a wait.

use crate::error::ExportError;
use crate::selection::Selection;
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_graph::view::{Cell, Table};
use headwater_model::printable::printable;
use headwater_model::words;
use std::io::{self, Write};

/// Vertices of a drawing that is still one, where nothing else is said.
const MOST: usize = 60;

/// A wait that is less than this share of the longest has no label.
const LEAST_WAIT: f64 = 0.02;

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let selection = Selection::new(run, wanted, Some(MOST))?;
        let all = selection.view.vertices.len();
        let shown = selection.vertices.len();
        let title = format!(
            "{}: {} ({shown} of {all} vertices)",
            run.run().header.name,
            selection.view.kind.words()
        );
        writeln!(out, "digraph headwater {{")?;
        writeln!(
            out,
            "  label={}; labelloc=t; fontname=Helvetica;",
            quoted(&title)
        )?;
        writeln!(
            out,
            "  node [shape=box, style=filled, fontname=Helvetica, fontsize=10];"
        )?;
        writeln!(out, "  edge [fontname=Helvetica, fontsize=9];")?;
        for (flow, vertices) in selection.flows() {
            let Some((rank, thread)) = flow else {
                boxes(&selection, &vertices, out)?;
                continue;
            };
            let name = match thread {
                0 => format!("rank {rank}"),
                thread => format!("rank {rank} thread {thread}"),
            };
            writeln!(
                out,
                "  subgraph cluster_{rank}_{thread} {{ label={};",
                quoted(&name)
            )?;
            boxes(&selection, &vertices, out)?;
            // One below the other in program order, whatever was left out between them.
            for pair in vertices.windows(2) {
                let [from, to] = pair else { continue };
                writeln!(out, "    n{from} -> n{to} [style=invis, weight=9];")?;
            }
            writeln!(out, "  }}")?;
        }
        let most = selection.most("wait");
        for (edge, from, to) in &selection.edges {
            let style = line(&selection.view.edges, *edge, most);
            writeln!(out, "  n{from} -> n{to}{style};")?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn number(table: &Table, column: &str, row: u32) -> f64 {
    let column = table.get(column);
    column.and_then(|c| c.number(row as usize)).unwrap_or(0.0)
}

fn text<'a>(table: &'a Table, column: &str, row: u32) -> &'a str {
    match table.cell(column, row as usize) {
        Cell::Text(text) => text,
        _ => "",
    }
}

fn boxes(selection: &Selection, vertices: &[u32], out: &mut dyn Write) -> io::Result<()> {
    let table = &selection.view.vertices;
    let weight = if table.get("total").is_some() {
        "total"
    } else {
        "time"
    };
    let all = selection.vertices.iter();
    let most = all.map(|v| number(table, weight, *v)).fold(0.0, f64::max);
    for v in vertices {
        let seconds = number(table, weight, *v);
        // Full red would hide what is written on it.
        let share = 0.8 * if most > 0.0 { seconds / most } else { 0.0 };
        let name = text(table, "name", *v);
        let mut label = match text(table, "type", *v) {
            "function" | "mpi-call" => name.to_string(),
            "inlined" => format!("{name} (inlined)"),
            kind if kind.contains("call") => format!("{kind} of {name}"),
            kind => format!("{kind} in {name}"),
        };
        let file = text(table, "file", *v);
        let line = number(table, "first_line", *v);
        if !file.is_empty() && line > 0.0 {
            let base = file.rsplit('/').next().unwrap_or(file);
            label = format!("{label}\n{base}:{line}");
        }
        label = format!("{label}\n{}", words::seconds(seconds));
        let wait = number(table, "wait", *v);
        if wait > 0.0 {
            label = format!("{label}, waiting {}", words::seconds(wait));
        }
        // From white to red: hue, saturation, value.
        writeln!(
            out,
            "    n{v} [label={}, fillcolor=\"0.02 {share:.3} 1\"];",
            quoted(&label)
        )?;
    }
    Ok(())
}

fn line(edges: &Table, edge: u32, most: f64) -> String {
    let wait = number(edges, "wait", edge);
    let across = matches!(text(edges, "type", edge), "inter-process" | "inter-thread");
    match across {
        true if wait > LEAST_WAIT * most => {
            let label = format!("waited {}", words::seconds(wait));
            format!(
                " [style=dashed, color=red, constraint=false, label={}]",
                quoted(&label)
            )
        }
        true => " [style=dashed, color=gray50, constraint=false]".to_string(),
        // In the parallel view vertices have their order already.
        false if edges.get("wait").is_some() => " [constraint=false]".to_string(),
        false => String::new(),
    }
}

/// Text as a quoted word of the language; lines stay lines.
fn quoted(text: &str) -> String {
    let inside: String = printable(text)
        .chars()
        .map(|c| match c {
            '"' => "\\\"".to_string(),
            '\\' => "\\\\".to_string(),
            '\n' => "\\n".to_string(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{inside}\"")
}
