//! Choosing elements of a set: by expressions, by values of attributes, by functions of Python's, by the way of an edge.

use crate::error::{OrRaise, raised};
use crate::set::Set;
use crate::wanted::direction;
use headwater_dataflow::set;
use headwater_dataflow::set::{Expr, SetError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The expression that says that an attribute is a word that fits a pattern, a figure, or one of several.
fn is_value(name: &str, wanted: &Bound<'_, PyAny>) -> PyResult<Expr> {
    if let Ok(pattern) = wanted.extract::<String>() {
        return Ok(Expr::like(name, &pattern));
    }
    if let Ok(figure) = wanted.extract::<f64>() {
        return Ok(Expr::one_of(name, Vec::new(), vec![figure]));
    }
    let needed = |given: &Bound<'_, PyAny>| {
        let kind = given
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |n| n.to_string());
        raised(format!(
            "argument {name}: a pattern of words, a figure, or a list of words or figures is needed, and not {kind}"
        ))
    };
    let (mut words, mut figures) = (Vec::new(), Vec::new());
    for one in wanted.try_iter().map_err(|_| needed(wanted))? {
        let one = one?;
        match (one.extract::<String>(), one.extract::<f64>()) {
            (Ok(word), _) => words.push(word),
            (_, Ok(figure)) => figures.push(figure),
            _ => return Err(needed(&one)),
        }
    }
    if !words.is_empty() && !figures.is_empty() {
        return Err(raised(format!(
            "argument {name}: a list of words or of figures is needed, and not of both"
        )));
    }
    Ok(Expr::one_of(name, words, figures))
}

/// Elements that an expression, or a function of Python's, says yes to, and whose attributes are as wanted.
pub fn filter(
    set: &Set,
    py: Python<'_>,
    test: Option<&Bound<'_, PyAny>>,
    attributes: Option<&Bound<'_, PyDict>>,
) -> PyResult<set::Set> {
    let mut out = match test {
        Some(test) if test.is_callable() => holds(set, test)?,
        Some(text) => {
            let text: String = text.extract().map_err(|_| {
                raised("argument where: an expression or a function of an element is needed")
            })?;
            fitting(&set.set, py, Expr::parse(&text))?
        }
        None => set.set.clone(),
    };
    for (name, wanted) in attributes.into_iter().flatten() {
        out = fitting(&out, py, Ok(is_value(&name.extract::<String>()?, &wanted)?))?;
    }
    Ok(out)
}

fn fitting(
    set: &set::Set,
    py: Python<'_>,
    expression: Result<Expr, SetError>,
) -> PyResult<set::Set> {
    let expression = expression.or_raise()?;
    py.detach(|| set.filter(&expression)).or_raise()
}

/// Elements that Python's function says yes to.
fn holds(set: &Set, test: &Bound<'_, PyAny>) -> PyResult<set::Set> {
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for v in set.set.vertices() {
        if test.call1((set.vertex(*v),))?.is_truthy()? {
            vertices.push(*v);
        }
    }
    for e in set.set.edges() {
        if test.call1((set.edge(*e),))?.is_truthy()? {
            edges.push(*e);
        }
    }
    let kept = set::Set::new(set.set.view().clone(), vertices, edges);
    set.set.intersection(&kept).or_raise()
}

/// Edges for which something holds.
fn edges(set: &set::Set, keep: impl Fn(u32) -> bool) -> set::Set {
    let edges = set.edges().iter().copied().filter(|e| keep(*e)).collect();
    set::Set::new(set.view().clone(), Vec::new(), edges).only_edges()
}

/// Edges that come into the vertices whose edges they are, or leave them.
pub fn towards(set: &Set, word: &str) -> Option<PyResult<set::Set>> {
    let direction = direction(word).ok()?;
    let Some(around) = &set.around else {
        return Some(Err(raised(
            "select: only the edges of a vertex come into it or leave it; take v.es",
        )));
    };
    let graph = &set.set.view().graph;
    let ends = match direction {
        set::Direction::In => graph.targets(),
        set::Direction::Out => graph.sources(),
        set::Direction::Both => return Some(Ok(set.set.clone())),
    };
    let at = |e: u32| {
        ends.get(e as usize)
            .is_some_and(|v| around.centres.contains(v))
    };
    Some(Ok(edges(&set.set, at)))
}

/// Vertices of a type; edges whose type or kind is that word. Of no such edges, those of the type that the word has as
/// `otherwise`, if it has one.
pub fn of_type(set: &set::Set, py: Python<'_>, wanted: &Bound<'_, PyAny>) -> PyResult<set::Set> {
    if !set.vertices().is_empty() {
        return fitting(set, py, Ok(is_value("type", wanted)?));
    }
    let word: String = wanted
        .extract()
        .map_err(|_| raised("argument type: the word for a type or kind of edges is needed"))?;
    let table = &set.view().edges;
    let columns: Vec<_> = ["type", "kind"]
        .into_iter()
        .filter_map(|n| table.get(n))
        .collect();
    let is = |e: u32| {
        columns
            .iter()
            .any(|c| c.text(e as usize) == Some(word.as_str()))
    };
    let found = edges(set, is);
    match wanted.getattr_opt("otherwise")? {
        Some(otherwise) if found.is_empty() => of_type(set, py, &otherwise),
        _ => Ok(found),
    }
}
