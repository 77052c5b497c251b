//! What Python may pass where a set is needed: a set, a vertex, an edge, or a list of these or of new vertices.

use crate::edge::Edge;
use crate::error::{OrRaise, raised};
use crate::make;
use crate::run::Origin;
use crate::set::Set;
use crate::vertex::Vertex;
use headwater_dataflow::set;
use headwater_graph::view::View;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// A set with the run that it comes from.
pub type Given = (set::Set, Option<Origin>);

/// How deep lists may be in lists: deeper is one that is in itself, and would use up the stack.
const DEEPEST: usize = 100;

fn deeper(depth: usize, argument: &str) -> PyResult<usize> {
    if depth >= DEEPEST {
        return Err(raised(format!(
            "argument {argument}: lists are nested more than {DEEPEST} deep; perhaps one is in itself"
        )));
    }
    Ok(depth + 1)
}

/// Elements in the order in which they were given.
#[derive(Default)]
struct Elements {
    /// A set without elements of each view that came.
    views: Vec<set::Set>,
    vertices: Vec<u32>,
    edges: Vec<u32>,
    origin: Option<Origin>,
    /// Vertices that are of no view yet.
    new: Vec<make::Attributes>,
}

impl Elements {
    fn view(&mut self, view: &Arc<View>, origin: Option<&Origin>) {
        if !self
            .views
            .iter()
            .any(|known| Arc::ptr_eq(known.view(), view))
        {
            self.views
                .push(set::Set::new(view.clone(), Vec::new(), Vec::new()));
        }
        self.origin = self.origin.take().or_else(|| origin.cloned());
    }

    fn add(&mut self, given: &Bound<'_, PyAny>, argument: &str, depth: usize) -> PyResult<()> {
        if let Ok(set) = given.cast::<Set>() {
            let set = set.get();
            self.view(set.set.view(), set.origin.as_ref());
            self.vertices.extend(set.set.vertices());
            self.edges.extend(set.set.edges());
        } else if let Ok(vertex) = given.cast::<Vertex>() {
            let vertex = vertex.get();
            if vertex.is_there() {
                self.view(&vertex.0.view, vertex.0.origin.as_ref());
                self.vertices.push(vertex.0.index);
            }
        } else if let Ok(edge) = given.cast::<Edge>() {
            let edge = &edge.get().0;
            self.view(&edge.view, edge.origin.as_ref());
            self.edges.push(edge.index);
        } else if let Ok(dict) = given.cast::<PyDict>() {
            self.new.push(make::attributes(dict)?);
        } else if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
            let inside = deeper(depth, argument)?;
            for element in given.try_iter()? {
                self.add(&element?, argument, inside)?;
            }
        } else {
            let given = given.get_type().name()?;
            return Err(raised(format!(
                "argument {argument}: a set is needed, or vertices and edges in a list, and not {given}; the vertices of a run are run.V"
            )));
        }
        Ok(())
    }

    fn finish(self, argument: &str) -> PyResult<Given> {
        if !self.new.is_empty() {
            if !self.views.is_empty() {
                return Err(raised(format!(
                    "argument {argument}: vertices of a run and new ones cannot be in one set"
                )));
            }
            return Ok((make::made(&self.new, &[]), None));
        }
        let mut views = self.views.into_iter();
        let Some(first) = views.next() else {
            return Ok((set::Set::new(Arc::default(), Vec::new(), Vec::new()), None));
        };
        let all = views.try_fold(first, |all, set| all.union(&set));
        let all = all.map_err(|e| raised(format!("argument {argument}: {e}")))?;
        let all = set::Set::new(all.view().clone(), self.vertices, self.edges);
        Ok((all, self.origin))
    }
}

/// The set that `given` means; messages name the argument.
pub fn set_of(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Given> {
    if let Ok(set) = given.cast::<Set>() {
        let set = set.get();
        return Ok((set.set.clone(), set.origin.clone()));
    }
    let mut elements = Elements::default();
    elements.add(given, argument, 0)?;
    elements.finish(argument)
}

/// The direction that a word names.
pub fn direction(word: &str) -> PyResult<set::Direction> {
    match word {
        "in" => Ok(set::Direction::In),
        "out" => Ok(set::Direction::Out),
        "both" => Ok(set::Direction::Both),
        other => Err(format!(
            "there is no direction {other}; there are in, out, both"
        )),
    }
    .or_raise()
}

fn flatten<'py>(
    given: &Bound<'py, PyAny>,
    out: &mut Vec<Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<()> {
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let inside = deeper(depth, "sets")?;
        for element in given.try_iter()? {
            flatten(&element?, out, inside)?;
        }
    } else {
        out.push(given.clone());
    }
    Ok(())
}

/// Elements, in lists of whatever depth, as sets: one for each graph, in the order in which they come.
#[pyfunction]
pub fn gather(given: &Bound<'_, PyAny>) -> PyResult<Vec<Set>> {
    let mut flat = Vec::new();
    flatten(given, &mut flat, 0)?;
    let mut parts: Vec<Elements> = Vec::new();
    for element in &flat {
        let mut one = Elements::default();
        one.add(element, "sets", 0)?;
        let fits = |part: &&mut Elements| match (part.views.first(), one.views.first()) {
            (Some(a), Some(b)) => a.view().shares_graph(b.view()),
            (a, b) => a.is_none() && b.is_none(),
        };
        match parts.iter_mut().find(fits) {
            Some(part) => part.add(element, "sets", 0)?,
            None => parts.push(one),
        }
    }
    let finish = |part: Elements| {
        let (set, origin) = part.finish("sets")?;
        Ok(Set::new(set, origin))
    };
    parts.into_iter().map(finish).collect()
}
