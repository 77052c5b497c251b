//! The call path to a place: the functions around it with the lines at which they continue, for tables in which one
//! line of the program occurs once for each call path.

use crate::set::Set;
use headwater_graph::view::{Cell, Table, ViewKind};

/// `main (a.c:69) > solve (b.c:12) > step`: the functions around a vertex, outermost first, each with the call at which
/// the path continues. `None` for a vertex that nothing encloses, and in views that do not say what encloses a vertex.
pub(super) fn called_from(set: &Set, v: u32) -> Option<String> {
    let view = set.view();
    // Vertices of a parallel view refer to their place by its number in the top-down view.
    let (tree, start) = match view.kind {
        ViewKind::Parallel => (view.table("places")?, set.cell("vertex", v)),
        _ => (&view.vertices, Cell::Number(f64::from(v))),
    };
    let Cell::Number(start) = start else {
        return None;
    };
    let mut at = start as usize;
    let mut frames = Vec::new();
    let mut going_on: Option<String> = None;
    // Parents come before their children; one that does not is ignored.
    while let Some(parent) = number(tree, "parent", at).filter(|p| *p < at) {
        at = parent;
        // The outermost vertex is the program itself.
        if number(tree, "parent", at).is_none() {
            break;
        }
        match text(tree, "type", at) {
            Some("function" | "inlined") => {
                let name = text(tree, "name", at).unwrap_or("?");
                frames.push(match going_on.take() {
                    Some(line) => format!("{name} ({line})"),
                    None => name.to_string(),
                });
            }
            Some(kind) if kind.ends_with("call") => going_on = line(tree, at),
            _ => {}
        }
    }
    frames.reverse();
    (!frames.is_empty()).then(|| frames.join(" > "))
}

fn number(table: &Table, name: &str, row: usize) -> Option<usize> {
    let value = table.get(name)?.number(row)?;
    Some(value as usize)
}

fn text<'a>(table: &'a Table, name: &str, row: usize) -> Option<&'a str> {
    table.get(name)?.text(row)
}

/// `file.c:12` of a call.
fn line(table: &Table, row: usize) -> Option<String> {
    let file = text(table, "file", row)?;
    let base = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{base}:{}", number(table, "first_line", row)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::view::{Column, View};
    use std::sync::Arc;

    /// The program, `main`, two calls of `edge` in it, and the same call of MPI in each.
    fn tree() -> Table {
        let rows = [
            ("function", "the program", None, None),
            ("function", "main", Some(0.0), Some(1.0)),
            ("loop", "main", Some(1.0), Some(68.0)),
            ("call", "edge", Some(2.0), Some(69.0)),
            ("function", "edge", Some(3.0), Some(42.0)),
            ("mpi-call", "MPI_Wait", Some(4.0), Some(49.0)),
            ("call", "edge", Some(2.0), Some(71.0)),
            ("function", "edge", Some(6.0), Some(42.0)),
            ("mpi-call", "MPI_Wait", Some(7.0), Some(49.0)),
        ];
        Table::new(rows.len())
            .with("type", Column::texts(rows.iter().map(|r| Some(r.0))))
            .with("name", Column::texts(rows.iter().map(|r| Some(r.1))))
            .with("parent", Column::numbers(rows.iter().map(|r| r.2)))
            .with("first_line", Column::numbers(rows.iter().map(|r| r.3)))
            .with("file", Column::texts(rows.iter().map(|_| Some("/a/b.c"))))
    }

    #[test]
    fn call_paths_to_one_line_are_distinguished_by_their_calls() {
        let view = View::made(tree(), vec![], vec![], Table::new(0)).expect("a graph");
        let set = Set::vertices_of(&Arc::new(view));
        let caller = |v| called_from(&set, v);
        assert_eq!(caller(5).as_deref(), Some("main (b.c:69) > edge"));
        assert_eq!(caller(8).as_deref(), Some("main (b.c:71) > edge"));
        assert_eq!(caller(4).as_deref(), Some("main (b.c:69)"));
        assert_eq!((caller(0), caller(1)), (None, None));
    }

    #[test]
    fn a_vertex_on_a_rank_has_the_way_of_its_place() {
        let vertices = Table::new(2).with("vertex", Column::known(vec![8.0, 99.0]));
        let mut view = View::made(vertices, vec![], vec![], Table::new(0)).expect("a graph");
        view.kind = ViewKind::Parallel;
        view.tables.insert("places", Arc::new(tree()));
        let set = Set::vertices_of(&Arc::new(view));
        assert_eq!(
            called_from(&set, 0).as_deref(),
            Some("main (b.c:71) > edge")
        );
        assert_eq!(called_from(&set, 1), None);
    }
}
