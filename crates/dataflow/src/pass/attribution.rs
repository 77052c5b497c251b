//! Attribution: figures of functions, loops, files or modules over all call paths.
//!
//! A function on several call paths is several vertices of a top-down view; here it is one vertex, with its own figures
//! and with those of everything inside it, where recursion counts once.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::set::Set;
use headwater_graph::RankRows;
use headwater_graph::view::{Column, Table, View, unit};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "attribution",
            "Figures of the set's vertices by function, loop, file or module: own ones, and total_* with what is inside; a vertex for each.",
            |call| Ok(vec![attribution(call.vertices(0)?, call.text("to"))?.into()]),
        )
        .takes("V", Kind::TOP_DOWN)
        .with(
            "to",
            "function",
            "to what: function, inlined (functions, also those that were inlined), loop, file or module",
        )
        .gives(Gives::Kind(Kind::MADE)),
    ]
}

/// What figures are attributed to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// Vertices of these types; each place is one thing.
    Types(&'static [&'static str]),
    /// The values of a column.
    Column(&'static str),
}

/// The word for each kind of thing, and the types of its vertices or its column.
const TO: [(&str, To); 5] = [
    ("function", To::Types(&["function"])),
    ("inlined", To::Types(&["function", "inlined"])),
    ("loop", To::Types(&["loop", "irreducible-loop"])),
    ("file", To::Column("file")),
    ("module", To::Column("module")),
];

/// Whether a column is a figure that can be added up over vertices.
fn is_sum(view: &View, name: &str) -> bool {
    let known = unit(name).is_some() || view.header.counters.iter().any(|c| c == name);
    known && !matches!(name, "total" | "longest" | "before")
}

/// The thing that each vertex belongs to (its own if it begins one), and the nearest vertex around it that begins a
/// thing.
struct Grouping {
    /// By vertex: the thing that its own figures go to.
    of: Vec<Option<u32>>,
    /// By vertex: the nearest vertex around it that begins a thing; none for the outermost.
    around: Vec<Option<u32>>,
    /// By thing: the first vertex of it, which has its name and place.
    first: Vec<u32>,
    /// By vertex: whether it begins a thing and no vertex around it is of the same thing.
    outermost: Vec<bool>,
}

fn group_vertices(view: &View, to: To) -> Grouping {
    let n = view.graph.vertices();
    let word = |column: &str, v: usize| view.vertices.get(column).and_then(|c| c.text(v));
    let figure = |column: &str, v: usize| view.vertices.get(column).and_then(|c| c.number(v));
    let mut number: FxHashMap<(u64, Option<&str>), u32> = FxHashMap::default();
    let mut out = Grouping {
        of: vec![None; n],
        around: vec![None; n],
        first: Vec::new(),
        outermost: vec![false; n],
    };
    // By vertex: the innermost vertex that begins a thing, itself included.
    let mut begins: Vec<Option<u32>> = vec![None; n];
    for v in 0..n {
        let parent = figure("parent", v).map(|p| p as usize).filter(|p| *p < v);
        let is_function = word("type", v) == Some("function");
        let key = match to {
            To::Types(types) if word("type", v).is_some_and(|t| types.contains(&t)) => {
                Some((figure("site", v).unwrap_or(v as f64) as u64, None))
            }
            To::Types(_) => None,
            To::Column(column) => word(column, v).map(|w| (0, Some(w))),
        };
        out.around[v] = parent.and_then(|p| begins[p]);
        begins[v] = out.around[v];
        let Some(key) = key else {
            // A function that a loop calls is inside the loop, but not part of its own lines.
            let own = parent.filter(|_| !is_function).and_then(|p| out.of[p]);
            out.of[v] = own;
            continue;
        };
        let next = out.first.len() as u32;
        let thing = *number.entry(key).or_insert(next);
        if thing == next {
            out.first.push(v as u32);
        }
        out.of[v] = Some(thing);
        let mut above = out.around[v];
        while let Some(a) = above.filter(|a| out.of[*a as usize] != Some(thing)) {
            above = out.around[a as usize];
        }
        out.outermost[v] = above.is_none();
        begins[v] = Some(v as u32);
    }
    out
}

/// Functions, loops, files or modules as vertices of a made view of the same run, those with the most own `time` first.
/// Figures are sums over the vertices of `set`: the own figures of the thing, and `total_time`, `total_mpi`,
/// `total_wait` and `total_busy` with everything inside, where recursion counts once. `ways` is the number of call
/// paths that lead there. A thing without a vertex of the set, its own or inside, is left out. Metrics that are known
/// by rank remain known by rank.
///
/// # Errors
/// If `to` is not a known kind of thing, or the set's view does not say what vertices are.
pub fn attribution(set: &Set, to: &str) -> Result<Set, PassError> {
    let Some((_, to)) = TO.into_iter().find(|t| t.0 == to) else {
        let known = TO.map(|t| t.0).join(", ");
        let what = format!("there is no {to}; there are {known}");
        return Err(PassError::Argument("to".to_string(), what));
    };
    let view = set.view();
    set.column("type")?;
    set.column("parent")?;
    let grouping = group_vertices(view, to);
    let things = grouping.first.len();
    let mut table = view.vertices.take(&grouping.first);
    let places = [
        "name",
        "type",
        "file",
        "first_line",
        "last_line",
        "module",
        "function",
        "site",
    ];
    let mut out = Table::new(things);
    for name in places {
        if let Some(column) = table.get(name) {
            out.set(name, column.clone());
        }
    }
    if let To::Column(column) = to {
        let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_string();
        let words = (0..things).map(|i| table.get(column).and_then(|c| c.text(i)).map(base));
        out.set("name", Column::texts(words));
        out.set("type", Column::texts((0..things).map(|_| Some(column))));
    }
    table = out;
    let mut ways = vec![0.0; things];
    for (v, of) in grouping.of.iter().enumerate() {
        if let Some(of) = of.filter(|_| grouping.outermost[v]) {
            ways[of as usize] += 1.0;
        }
    }
    table.set("ways", Column::known(ways));
    let mut rows: BTreeMap<String, Arc<RankRows>> = BTreeMap::new();
    for (name, column) in view.vertices.columns() {
        if !is_sum(view, name) || !matches!(column, Column::Number(_)) {
            continue;
        }
        let mut own: Vec<Option<f64>> = vec![None; things];
        for v in set.vertices() {
            let of = grouping.of[*v as usize].and_then(|of| own.get_mut(of as usize));
            if let (Some(slot), Some(x)) = (of, column.number(*v as usize)) {
                *slot = Some(slot.unwrap_or(0.0) + x);
            }
        }
        table.set(name, Column::numbers(own));
        if matches!(name, "time" | "mpi" | "wait" | "busy") {
            let values = with_inside(set, &grouping, column, things);
            table.set(&format!("total_{name}"), Column::known(values));
        }
        if let Some(of_ranks) = view.rows.get(name) {
            rows.insert(name.to_string(), Arc::new(summed(set, &grouping, of_ranks)));
        }
    }
    let mut made = View::made(table, Vec::new(), Vec::new(), Table::new(0)).unwrap_or_default();
    made.header = view.header.clone();
    made.rows = rows;
    if let Some(sampling) = view.tables.get("sampling") {
        made.tables.insert("sampling", sampling.clone());
    }
    let made = Set::of(
        &Arc::new(made),
        with_members(set, &grouping, things),
        Vec::new(),
    );
    match made.view().vertices.get("time") {
        Some(_) => Ok(made.sort_by("time")?),
        None => Ok(made),
    }
}

/// Things that have vertices of the set, their own or inside.
fn with_members(set: &Set, grouping: &Grouping, things: usize) -> Vec<u32> {
    let parents = set.view().vertices.get("parent");
    let parent = |v: u32| parents.and_then(|p| p.number(v as usize)).map(|p| p as u32);
    let mut seen = vec![false; grouping.of.len()];
    let mut there = vec![false; things];
    for &v in set.vertices() {
        let mut at = Some(v);
        while let Some(v) = at.filter(|v| !std::mem::replace(&mut seen[*v as usize], true)) {
            if let Some(of) = grouping.of[v as usize] {
                there[of as usize] = true;
            }
            at = parent(v).filter(|p| *p < v);
        }
    }
    (0..things as u32).filter(|i| there[*i as usize]).collect()
}

/// Sums with everything inside, by thing.
fn with_inside(set: &Set, grouping: &Grouping, column: &Column, things: usize) -> Vec<f64> {
    let mut of_vertex = vec![0.0; grouping.of.len()];
    for v in set.vertices() {
        of_vertex[*v as usize] += column.number(*v as usize).unwrap_or(0.0);
    }
    let parents = set.view().vertices.get("parent");
    let mut out = vec![0.0; things];
    // A parent has a smaller index than its children, so each sum is complete before it is added to its parent.
    for v in (0..of_vertex.len()).rev() {
        if let Some(of) = grouping.of[v].filter(|_| grouping.outermost[v]) {
            out[of as usize] += of_vertex[v];
        }
        let parent = parents.and_then(|p| p.number(v)).map(|p| p as usize);
        if let Some(parent) = parent.filter(|p| *p < v) {
            of_vertex[parent] += of_vertex[v];
        }
    }
    out
}

/// Sums of rows over ranks, by thing.
fn summed(set: &Set, grouping: &Grouping, rows: &RankRows) -> RankRows {
    let of = |v: &u32| Some((grouping.of[*v as usize]?, rows.row(*v)?));
    let mut all: Vec<(u32, u32, f64)> = Vec::new();
    for (thing, row) in set.vertices().iter().filter_map(of) {
        all.extend(row.iter().map(|(rank, x)| (thing, rank, x)));
    }
    all.sort_by_key(|e| (e.0, e.1));
    RankRows::from_sorted(&all)
}
