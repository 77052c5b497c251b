//! Graph algorithms that return more than a set, and so are no passes (PerFlow, section 4.3.1).

use crate::error::raised;
use crate::run::Origin;
use crate::set::Set;
use crate::vertex::Vertex;
use crate::wanted::set_of;
use crate::work::work;
use headwater_dataflow::algorithm;
use headwater_dataflow::algorithm::{Pattern, PatternEdge};
use headwater_dataflow::set;
use headwater_dataflow::set::Expr;
use headwater_graph::view::View;
use pyo3::prelude::*;
use std::sync::Arc;

/// Which edges an expression lets count; all where there is none.
fn counting(view: &View, r#where: Option<&str>) -> PyResult<Vec<bool>> {
    let n = view.graph.edges();
    let Some(text) = r#where else {
        return Ok(vec![true; n]);
    };
    let all: Vec<u32> = (0..n as u32).collect();
    Expr::parse(text)
        .and_then(|e| e.holds(&view.edges, &all))
        .map_err(raised)
}

fn part(view: &Arc<View>, origin: Option<&Origin>, vertices: Vec<u32>, edges: Vec<u32>) -> Set {
    Set::new(
        set::Set::new(view.clone(), vertices, edges),
        origin.cloned(),
    )
}

fn two<'a>(a: &'a Vertex, b: &Vertex, what: &str) -> PyResult<&'a Arc<View>> {
    if !a.is_there() || !b.is_there() || !a.0.view.shares_graph(&b.0.view) {
        return Err(raised(format!(
            "{what}: both must be vertices of one graph"
        )));
    }
    Ok(&a.0.view)
}

/// The deepest vertex from which both can be reached, and the edges from it to them; (None, no edges) if there is none.
///
/// A vertex is its own ancestor. `where` says which edges count.
#[pyfunction]
#[pyo3(signature = (a, b, r#where = None))]
pub fn lowest_common_ancestor(
    py: Python<'_>,
    a: &Bound<'_, Vertex>,
    b: &Bound<'_, Vertex>,
    r#where: Option<&str>,
) -> PyResult<(Option<Vertex>, Set)> {
    let (a, b) = (a.get(), b.get());
    let view = two(a, b, "lowest_common_ancestor")?;
    let counts = counting(view, r#where)?;
    let (graph, from, to) = (view.graph.clone(), a.0.index, b.0.index);
    let found = work(py, move |interrupted| {
        let counts = |e: u32| counts[e as usize];
        algorithm::lowest_common_ancestor(&graph, from, to, &counts, interrupted)
    })?;
    let origin = a.0.origin.as_ref();
    let edges = found.as_ref().map_or_else(Vec::new, |f| f.edges.clone());
    let path = part(view, origin, Vec::new(), edges);
    let vertex = found.map(|f| Vertex::of(&path.set, origin, f.vertex));
    Ok((vertex, path))
}

/// A vertex of a pattern: an expression that it must fit, if any.
type PatternVertex = Option<String>;

/// Whether every vertex of a pattern can be reached from the first, in either direction of its edges; and whether there
/// is one.
fn joined(n: usize, edges: &[(usize, usize, Option<String>)]) -> bool {
    let mut known = vec![false; n];
    let Some(first) = known.first_mut() else {
        return false;
    };
    *first = true;
    for _ in 0..n {
        for (a, b, _) in edges {
            let both = known[*a] || known[*b];
            (known[*a], known[*b]) = (both, both);
        }
    }
    known.into_iter().all(|k| k)
}

/// Where a small graph is found in a large one: for each place the vertices and the edges, in the order of the pattern.
///
/// `vertices` are expressions (None fits any), `edges` (source, target, expression) by the number of the pattern's
/// vertex. The pattern's first vertex is one of `set`. At most `most` places are given.
#[pyfunction]
pub fn subgraph_matching(
    py: Python<'_>,
    set: &Bound<'_, PyAny>,
    vertices: Vec<PatternVertex>,
    edges: Vec<(usize, usize, Option<String>)>,
    most: usize,
) -> PyResult<Vec<(Set, Set)>> {
    let (set, origin) = set_of(set, "set")?;
    let view = set.view();
    let n = vertices.len();
    if edges.iter().any(|(a, b, _)| *a.max(b) >= n) {
        return Err(raised(format!(
            "subgraph_matching: an edge of the pattern ends at a vertex that it does not have; there are {n}"
        )));
    }
    if !joined(n, &edges) {
        return Err(raised(
            "subgraph_matching: the pattern is in several pieces; its vertices must be joined with each other by edges, so look for each piece by itself",
        ));
    }
    let all: Vec<u32> = (0..view.graph.vertices() as u32).collect();
    let holds = |text: &String| {
        let holds = Expr::parse(text).and_then(|e| e.holds(&view.vertices, &all));
        holds.map_err(raised)
    };
    let fit: Vec<Option<Vec<bool>>> = vertices
        .iter()
        .map(|v| v.as_ref().map(holds).transpose())
        .collect::<PyResult<_>>()?;
    let edge_fit: Vec<Vec<bool>> = edges
        .iter()
        .map(|e| counting(view, e.2.as_deref()))
        .collect::<PyResult<_>>()?;
    let whole = set.clone();
    let found = work(py, move |interrupted| {
        let fits: Vec<_> = (fit.iter())
            .map(|f| move |v: u32| f.as_ref().is_none_or(|f| f[v as usize]))
            .collect();
        let edge_fits: Vec<_> = (edge_fit.iter())
            .map(|f| move |e: u32| f[e as usize])
            .collect();
        let edge = |(e, fits): (&(usize, usize, Option<String>), _)| PatternEdge {
            src: e.0,
            dst: e.1,
            fits,
        };
        let joined = edges
            .iter()
            .zip(edge_fits.iter().map(|f| f as algorithm::Counts<'_>));
        let pattern = Pattern {
            vertices: fits.iter().map(|f| f as algorithm::Counts<'_>).collect(),
            edges: joined.map(edge).collect(),
        };
        let (graph, starts) = (&whole.view().graph, whole.vertices());
        algorithm::subgraph_matching(graph, &pattern, starts, most, interrupted)
    })?;
    let place = |f: algorithm::Match| {
        let origin = origin.as_ref();
        let vertices = part(view, origin, f.vertices, Vec::new());
        (vertices, part(view, origin, Vec::new(), f.edges))
    };
    Ok(found.into_iter().map(place).collect())
}
