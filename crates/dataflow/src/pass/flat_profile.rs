//! A flat profile: where the time goes, by function (Graham, Kessler and McKusick 1982, section 4).
//!
//! Times are seconds of all ranks and threads together: computation, MPI including waiting there, and sleep. The time
//! of a loop or branch belongs to the function that contains it. An inlined copy is a function, and a call of MPI, or
//! of another library whose code was not analysed, is a row of its own.

use crate::flow::{Call, Gives, Kind, Pass, PassError, Value};
use crate::pass::owners::{Role, Tree};
use headwater_graph::view::Cell;
use headwater_model::report::{Item, Section, Unit};
use std::collections::BTreeMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let flat = |call: &Call<'_>| -> Result<Vec<Value>, PassError> {
        Ok(vec![flat_profile(&Tree::new(call.vertices(0)?)).into()])
    };
    vec![
        Pass::new(
            "flat-profile",
            "Time by function, the longest first, all ranks together.",
            flat,
        )
        .takes("V", Kind::TOP_DOWN)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

/// A function, or a call whose code was not analysed, at all its places.
#[derive(Default)]
struct Function {
    /// Own seconds.
    own: f64,
    /// Seconds with what it calls.
    with_callees: f64,
    /// Calls of MPI.
    count: f64,
    /// The vertices whose time is its own.
    parts: Vec<usize>,
}

/// A function's name and file: two files may have functions of the same name.
type Key = (String, Option<String>);

fn flat_profile(tree: &Tree<'_>) -> Section {
    let columns = [
        ("function", "function", Unit::None),
        ("location", "hottest line", Unit::None),
        ("time_seconds", "time", Unit::Seconds),
        ("time_share", "share", Unit::Share),
        ("total_seconds", "with callees", Unit::Seconds),
        ("longest_seconds", "longest", Unit::Seconds),
        ("longest_rank", "on rank", Unit::None),
        ("count", "MPI calls", Unit::Count),
    ];
    let mut section = Section::new("flat_profile", "Time by function", &columns);
    section.note = Some(format!(
        "All ranks and threads together take {}. \"time\" is spent in the function itself, \"with callees\" also in what it calls; \"longest\" is the time of the rank that spends most in the function itself.",
        headwater_model::words::seconds(tree.whole)
    ));
    let mut functions: Vec<(Key, Function)> = functions(tree).into_iter().collect();
    functions.retain(|(_, f)| f.own > 0.0);
    functions.sort_by(|a, b| b.1.own.total_cmp(&a.1.own).then_with(|| a.0.cmp(&b.0)));
    for ((name, _), f) in functions {
        let longest = longest(tree, &f.parts);
        // Of parts with equal times, the first.
        let hotter = |a: usize, b: usize| if tree.time[b] > tree.time[a] { b } else { a };
        let hottest = f.parts.iter().copied().reduce(hotter);
        section.rows.push(vec![
            name.into(),
            hottest
                .and_then(|v| line(tree, v))
                .map_or(Item::Missing, Item::from),
            f.own.into(),
            tree.share(f.own),
            f.with_callees.into(),
            longest.map(|l| l.1).into(),
            longest.map(|l| f64::from(l.0)).into(),
            Item::from((f.count > 0.0).then_some(f.count)),
        ]);
    }
    section
}

fn functions(tree: &Tree<'_>) -> BTreeMap<Key, Function> {
    let total = tree.inclusive(tree.time.clone());
    let counts = tree.figures("count");
    let key = |v: usize| {
        let at = tree.owner(v);
        let name = tree.text("name", at).unwrap_or_else(|| "?".into());
        // A library's function is one function, wherever it is called from.
        let in_file = tree.role[at] != Role::Leaf;
        (name, tree.text("file", at).filter(|_| in_file))
    };
    let keys: Vec<Key> = (0..tree.time.len()).map(key).collect();
    let mut out: BTreeMap<Key, Function> = BTreeMap::new();
    for (v, key) in keys.iter().enumerate() {
        let function = out.entry(key.clone()).or_default();
        function.own += tree.time[v];
        function.count += counts[v];
        if tree.time[v] > 0.0 {
            function.parts.push(v);
        }
        // In recursion, the outermost call already contains the inner ones.
        let again = || tree.outwards(v).skip(1).any(|a| keys[a] == *key);
        if tree.owner(v) == v && !again() {
            function.with_callees += total[v];
        }
    }
    out
}

/// The rank with the most own time in some vertices, and its seconds; of equal ones, the first.
fn longest(tree: &Tree<'_>, parts: &[usize]) -> Option<(u32, f64)> {
    let view = tree.set().view();
    let rows = view.rows.get("time")?;
    let mut ranks = vec![0.0; view.header.ranks as usize];
    for row in parts.iter().filter_map(|v| rows.row(*v as u32)) {
        row.add_to(&mut ranks);
    }
    let all = (0u32..).zip(ranks);
    all.reduce(|a, b| if b.1 > a.1 { b } else { a })
}

/// `file.c:12` of the hottest line of a vertex.
fn line(tree: &Tree<'_>, v: usize) -> Option<String> {
    let file = tree.text("file", v)?;
    let base = file.rsplit('/').next().unwrap_or(&file);
    match tree.set().cell("line", v as u32) {
        Cell::Number(line) => Some(format!("{base}:{line:.0}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::owners::made::view;
    use super::*;
    use crate::set::Set;
    use headwater_graph::view::{Table, View};
    use std::sync::Arc;

    #[test]
    fn a_function_has_the_time_of_its_parts_wherever_it_is_called_from() {
        let set = Set::vertices_of(&view());
        let flat = flat_profile(&Tree::new(&set));
        let row = |i: usize| flat.rows.get(i).expect("a row");
        let word = |i: usize| Item::Text(["MPI_Barrier", "solve", "main"][i].into());
        assert_eq!(flat.rows.len(), 3);
        for (i, own) in [9.001, 7.5, 3.0].into_iter().enumerate() {
            assert_eq!((&row(i)[0], &row(i)[2]), (&word(i), &Item::Number(own)));
        }
        assert_eq!(row(1)[1], Item::from("b.c:5"));
        // Its call of itself counts once.
        assert_eq!(row(1)[4], Item::Number(7.5));
        assert!(matches!(row(2)[4], Item::Number(x) if (x - 19.501).abs() < 1e-9));
    }

    #[test]
    fn a_view_without_figures_has_an_empty_profile() {
        let view = View::made(Table::new(0), vec![], vec![], Table::new(0)).expect("a graph");
        let set = Set::vertices_of(&Arc::new(view));
        assert!(flat_profile(&Tree::new(&set)).rows.is_empty());
    }
}
