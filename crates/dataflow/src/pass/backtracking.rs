//! Backtracking (ScalAna, Algorithm 1; PerFlow, Listing 7): from vertices with problems back to where their delays
//! begin.
//!
//! The walk is that of [`backward`], on the edges of a parallel view: along the edge that
//! was waited for longest, of those along which a delay can pass, or else along the edge that most often came before.
//! A diagnosis follows the replayed waits instead, by a pass of its own.

use crate::algorithm::{Ask, Dependences, Interrupted, Left, backward};
use crate::flow::{Call, Gives, Kind, Pass, PassError};
use crate::pass::causal::{between, carries};
use crate::pass::graph::whole;
use crate::set::Set;
use headwater_graph::view::{Column, View, Words};
use headwater_mpi_abi as abi;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let walk = |call: &Call<'_>| -> Result<Vec<_>, PassError> {
        let found = backtracking(call.vertices(0)?, call.number("least"), call.interrupted)?;
        Ok(vec![found.into()])
    };
    vec![
        Pass::new(
            "backtracking",
            "The vertices and edges on the ways back from each vertex of the set to where its delay begins.",
            walk,
        )
        .takes("V", Kind::PARALLEL)
        .with("least", 1e-4, "waiting that is followed, as a share of the run time")
        .figure_from(0.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// The edges of a view along which a walk may go.
struct OnView<'a> {
    view: &'a View,
    /// By edge: whether a delay can pass along it. The next field says whether an edge is between ranks or threads.
    carries: Vec<bool>,
    between: Option<Box<dyn Fn(usize) -> Option<bool> + 'a>>,
    wait: Option<&'a Column>,
    count: Option<&'a Column>,
    names: Option<&'a Words>,
    /// For each different name: whether it is a collective.
    collective: Vec<bool>,
}

impl OnView<'_> {
    /// The edge into `at` with the most of `metric`, either of those between ranks or threads or of the others; of
    /// equal ones, the first.
    fn most(&self, at: u32, between: bool, metric: Option<&Column>) -> Option<u32> {
        let figure = |e: u32| metric.and_then(|m| m.number(e as usize)).unwrap_or(0.0);
        let is_between = |e: u32| self.between.as_ref().and_then(|b| b(e as usize)) == Some(true);
        let edges = self.view.graph.in_edges(at).iter().copied();
        // A team may wait for its own rank's thread, whose work is before it in program order.
        let own = self.flow(at);
        let is_own = |e: u32| between && own.is_some() && self.flow(self.source(e)) == own;
        edges
            .filter(|e| self.carries[*e as usize] && is_between(*e) == between && !is_own(*e))
            .reduce(|a, b| if figure(b) > figure(a) { b } else { a })
    }

    /// Rank and thread of a vertex.
    fn flow(&self, v: u32) -> Option<(f64, f64)> {
        let of = |name: &str| self.view.vertices.get(name)?.number(v as usize);
        of("rank").zip(of("thread"))
    }

    fn source(&self, edge: u32) -> u32 {
        self.view.graph.sources()[edge as usize]
    }

    fn is_collective(&self, v: u32) -> bool {
        let code = self.names.and_then(|n| n.code(v as usize));
        code.and_then(|c| self.collective.get(c)) == Some(&true)
    }
}

impl Dependences for OnView<'_> {
    type At = u32;
    type Edge = u32;

    fn waited(&self, at: u32) -> Option<(u32, u32)> {
        let edge = self.most(at, true, self.wait)?;
        Some((edge, self.source(edge)))
    }

    fn before(&self, at: u32) -> Option<(u32, Option<u32>)> {
        let edge = self.most(at, false, self.count)?;
        let from = self.source(edge);
        (!self.is_collective(from)).then_some((edge, Some(from)))
    }
}

/// Vertices and edges on the backtracking paths from the vertices of `set`, in the order in which they were passed.
/// Paths that meet continue as one.
///
/// # Errors
/// If the edges of its view do not say what they are, or it is interrupted.
pub fn backtracking(set: &Set, least: f64, interrupted: Interrupted<'_>) -> Result<Set, PassError> {
    let view = set.view();
    let carries = whole(carries(view, least)?, interrupted)?;
    let names = match view.vertices.get("name") {
        Some(Column::Text(words)) => Some(words),
        _ => None,
    };
    let is_collective = |name: &str| abi::by_name(name).is_some_and(|f| f.is_collective());
    let words = names.into_iter().flat_map(|n| n.dictionary());
    let collective = words.map(is_collective).collect();
    let graph = OnView {
        view,
        carries,
        between: view.edges.get("type").map(|t| Box::new(between(t)) as _),
        wait: view.edges.get("wait"),
        count: view.edges.get("count"),
        names,
        collective,
    };
    let mut passed = vec![false; view.graph.vertices()];
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    let mut ask = Ask::new(interrupted);
    for &start in set.vertices() {
        let mut new = Vec::new();
        let is_new = |at: u32| {
            let is_new = !std::mem::replace(&mut passed[at as usize], true);
            if is_new {
                new.push(at);
            }
            is_new
        };
        for (_, left) in backward(&graph, start, is_new) {
            if ask.ends() {
                return Err(PassError::Interrupted);
            }
            match left {
                Left::Waited(edge) | Left::Before(edge) => edges.push(edge),
                Left::Ends => {}
            }
        }
        vertices.extend(new);
    }
    // A vertex that the walk reaches along a wait may have been passed before, and is left a second time.
    Ok(Set::new(view.clone(), vertices, edges))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::NEVER;
    use headwater_graph::view::{Column, Table, View};
    use std::sync::Arc;

    /// The backtracking path from the last vertex of a flow with a call of `name` in its middle.
    fn passed(name: &str) -> Vec<u32> {
        let names = [Some("red"), Some(name), Some("blue"), Some("MPI_Send")];
        let vertices = Table::new(4).with("name", Column::texts(names));
        let edges = Table::new(3)
            .with("type", Column::texts([Some("intra-procedural"); 3]))
            .with("wait", Column::numbers([None; 3]))
            .with("count", Column::known(vec![1.0; 3]));
        let view = View::made(vertices, vec![0, 1, 2], vec![1, 2, 3], edges).expect("a graph");
        let start = Set::new(Arc::new(view), vec![3], Vec::new());
        let found = backtracking(&start, 0.0, NEVER).expect("edges");
        found.vertices().to_vec()
    }

    #[test]
    fn a_walk_ends_behind_what_all_ranks_call_together() {
        for name in ["MPI_Barrier", "MPI_Allreduce", "MPI_File_write_all"] {
            assert_eq!(passed(name), [3, 2], "{name}");
        }
        for name in ["MPI_Recv", "MPI_File_write", "solve"] {
            assert_eq!(passed(name), [3, 2, 1, 0], "{name}");
        }
    }

    /// A rank's own thread may be the last one of a team that waits in the call that began it. Its work is before that
    /// call in program order, and so is what happened before the region.
    #[test]
    fn a_walk_goes_on_before_a_region_whose_last_thread_is_its_own() {
        let own = |thread: f64| {
            let vertices = Table::new(4)
                .with(
                    "name",
                    Column::texts([Some("read"), Some("team"), Some("work"), Some("next")]),
                )
                .with("rank", Column::known(vec![0.0; 4]))
                .with("thread", Column::known(vec![0.0, 0.0, thread, 0.0]));
            let types = [
                "intra-procedural",
                "intra-procedural",
                "inter-thread",
                "intra-procedural",
            ];
            let edges = Table::new(4)
                .with("type", Column::texts(types.map(Some)))
                .with("wait", Column::numbers([None, None, Some(1.0), None]))
                .with("count", Column::known(vec![1.0; 4]));
            let view = View::made(vertices, vec![0, 1, 2, 1], vec![1, 2, 1, 3], edges);
            let view = view.expect("a graph");
            let start = Set::new(Arc::new(view), vec![3], Vec::new());
            let found = backtracking(&start, 0.0, NEVER).expect("edges");
            found.vertices().to_vec()
        };
        assert_eq!(own(0.0), [3, 1, 0]);
        assert_eq!(own(1.0)[..3], [3, 1, 2]);
    }
}
