//! GraphML: the vertices and edges of a view with all their attributes (Brandes et al. 2002).
//!
//! Vertices have the numbers of the view, as `n7`, edges theirs, as `e7`. What is missing has no `data`.

use crate::error::ExportError;
use crate::selection::Selection;
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_graph::view::{Cell, Column, Table};
use headwater_model::printable::printable;
use std::io::{self, Write};

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let selection = Selection::new(run, wanted, None)?;
        let (vertices, edges) = (&selection.view.vertices, &selection.view.edges);
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            out,
            "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
        )?;
        keys(vertices, "node", 'v', out)?;
        keys(edges, "edge", 'x', out)?;
        let name = escaped(&run.run().header.name);
        writeln!(out, "<graph id=\"{name}\" edgedefault=\"directed\">")?;
        for v in &selection.vertices {
            writeln!(out, "<node id=\"n{v}\">")?;
            data(vertices, 'v', *v, out)?;
            writeln!(out, "</node>")?;
        }
        for (edge, from, to) in &selection.edges {
            writeln!(
                out,
                "<edge id=\"e{edge}\" source=\"n{from}\" target=\"n{to}\">"
            )?;
            data(edges, 'x', *edge, out)?;
            writeln!(out, "</edge>")?;
        }
        writeln!(out, "</graph>\n</graphml>")?;
    }
    Ok(())
}

fn keys(table: &Table, of: &str, letter: char, out: &mut dyn Write) -> io::Result<()> {
    for (at, (name, column)) in table.columns().enumerate() {
        let kind = match column {
            Column::Number(_) => "double",
            Column::Text(_) => "string",
        };
        writeln!(
            out,
            "<key id=\"{letter}{at}\" for=\"{of}\" attr.name=\"{}\" attr.type=\"{kind}\"/>",
            escaped(name)
        )?;
    }
    Ok(())
}

fn data(table: &Table, letter: char, row: u32, out: &mut dyn Write) -> io::Result<()> {
    for (at, (_, column)) in table.columns().enumerate() {
        let value = match column.cell(row as usize) {
            Cell::Missing => continue,
            Cell::Number(x) => x.to_string(),
            Cell::Text(text) => escaped(text),
        };
        writeln!(out, "<data key=\"{letter}{at}\">{value}</data>")?;
    }
    Ok(())
}

/// Text as XML has it; what no XML can hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            c if matches!(c as u32, 0xFFFE | 0xFFFF) => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_of_cpp_are_xml() {
        assert_eq!(
            escaped("f<\"a\" && b>\u{1}\n"),
            "f&lt;&quot;a&quot; &amp;&amp; b&gt;\\u0001 "
        );
    }
}
