//! A profile as a tree of call paths (Graham, Kessler and McKusick 1982, section 4; Adhianto et al. 2010): what is
//! inside each place is listed below it. Times are those of `flat_profile.rs`.

use crate::flow::{Call, Gives, Kind, Pass, PassError, Value};
use crate::pass::location;
use crate::pass::owners::{Role, Tree};
use headwater_model::report::{Item, Section, Unit};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let tree = |call: &Call<'_>| -> Result<Vec<Value>, PassError> {
        let least = call.number("least");
        Ok(vec![call_tree(&Tree::new(call.vertices(0)?), least).into()])
    };
    vec![
        Pass::new(
            "call-tree",
            "Time by call path, what is inside each place below it.",
            tree,
        )
        .takes("V", Kind::TOP_DOWN)
        .with(
            "least",
            0.01,
            "share of the whole time below which a place is left out",
        )
        .figure_from(0.0)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

/// The places of a tree that are shown, by vertex.
struct Shown {
    /// Seconds in the place with everything inside.
    total: Vec<f64>,
    /// Seconds in the place and in its parts that are not places themselves.
    own: Vec<f64>,
    /// The places inside, the shortest first.
    inside: Vec<Vec<usize>>,
    /// The places that are inside no other one.
    outermost: Vec<usize>,
}

impl Shown {
    /// The places with at least the share `least` of all time.
    fn new(tree: &Tree<'_>, least: f64) -> Self {
        let n = tree.time.len();
        let mut out = Self {
            total: tree.inclusive(tree.time.clone()),
            own: vec![0.0; n],
            inside: vec![Vec::new(); n],
            outermost: Vec::new(),
        };
        let is_place = |v: &usize| tree.parent[*v].is_some() && tree.role[*v] != Role::Part;
        for v in 0..n {
            if let Some(place) = tree.outwards(v).find(is_place) {
                out.own[place] += tree.time[v];
            }
            let total = out.total[v];
            if !is_place(&v) || total <= 0.0 || total < least * tree.whole {
                continue;
            }
            match tree.outwards(v).skip(1).find(is_place) {
                Some(around) => out.inside[around].push(v),
                None => out.outermost.push(v),
            }
        }
        let total = &out.total;
        for places in out.inside.iter_mut().chain([&mut out.outermost]) {
            places.sort_by(|a, b| total[*a].total_cmp(&total[*b]).then(b.cmp(a)));
        }
        out
    }
}

fn call_tree(tree: &Tree<'_>, least: f64) -> Section {
    let columns = [
        ("level", "level", Unit::None),
        ("place", "place", Unit::None),
        ("location", "where", Unit::None),
        ("total_seconds", "time", Unit::Seconds),
        ("total_share", "share", Unit::Share),
        ("time_seconds", "in itself", Unit::Seconds),
        ("mpi_seconds", "in MPI", Unit::Seconds),
    ];
    let mut section = Section::new("call_tree", "Time by call path", &columns);
    section.note = Some(format!(
        "Functions, loops and calls, each below what it is in, the longest first. Places with less than {:.1} % of the time are left out.",
        100.0 * least
    ));
    let shown = Shown::new(tree, least);
    let mpi = tree.inclusive(tree.figures("mpi"));
    // The last entry is processed next.
    let mut next: Vec<(usize, usize)> = shown.outermost.iter().map(|v| (*v, 0)).collect();
    while let Some((v, level)) = next.pop() {
        let name = match tree.role[v] {
            Role::Loop => "loop".to_string(),
            _ => tree.text("name", v).unwrap_or_else(|| "?".into()),
        };
        section.rows.push(vec![
            Item::Number(level as f64),
            name.into(),
            location(tree.set(), v as u32).map_or(Item::Missing, Item::from),
            shown.total[v].into(),
            tree.share(shown.total[v]),
            shown.own[v].into(),
            mpi[v].into(),
        ]);
        next.extend(shown.inside[v].iter().map(|v| (*v, level + 1)));
    }
    section
}

#[cfg(test)]
mod tests {
    use super::super::owners::made::view;
    use super::*;
    use crate::set::Set;

    #[test]
    fn a_parent_that_is_none_ends_the_way_outwards() {
        use headwater_graph::view::{Column, Table, View};
        let vertices = Table::new(2)
            .with("type", Column::texts([Some("function"), Some("function")]))
            .with("parent", Column::known(vec![-1.0, 0.0]))
            .with("time", Column::known(vec![1.0, 1.0]));
        let view = View::made(vertices, vec![], vec![], Table::new(0)).expect("a graph");
        let set = Set::vertices_of(&std::sync::Arc::new(view));
        let table = call_tree(&Tree::new(&set), 0.01);
        assert_eq!(table.rows.len(), 1);
    }

    #[test]
    fn the_tree_has_what_is_inside_below_each_place_the_longest_first() {
        let set = Set::vertices_of(&view());
        let table = call_tree(&Tree::new(&set), 0.01);
        let wanted = [
            (0.0, "main", 1.0),
            (1.0, "loop", 2.0),
            (2.0, "solve", 3.0),
            (3.0, "solve", 4.5),
            (1.0, "MPI_Barrier", 9.0),
        ];
        assert_eq!(table.rows.len(), wanted.len());
        for (row, (level, place, own)) in table.rows.iter().zip(wanted) {
            let found = (&row[0], &row[1], &row[5]);
            assert_eq!(
                found,
                (&Item::Number(level), &Item::from(place), &Item::Number(own))
            );
        }
        assert!(matches!(table.rows[0][6], Item::Number(x) if (x - 9.001).abs() < 1e-9));
    }
}
