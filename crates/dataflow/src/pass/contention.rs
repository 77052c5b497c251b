//! Contention detection (PerFlow, section 4.3.2 D): looks for patterns of vertices that wait for one resource, around
//! the vertices of a set in the parallel view.
//!
//! | pattern | what it is |
//! | --- | --- |
//! | `convoy` | one holder lets two others go on: threads wait in line |
//! | `mutual` | two threads or ranks let each other go on, in turn |
//! | `chain` | a vertex that waits for one makes another one wait |
//! | `fan-in` | PerFlow's: two go into one, which lets two others go on |
//!
//! The user's own pattern is a list of edges such as `a>b b>c`, where each letter is a vertex. A word after a colon is
//! the kind or type that the edge must have (`a>b:mutex b>c:inter-thread`). Without a word, the edge may be any along
//! which threads waited for each other, or ranks for one-sided access to a window. Messages and collectives are not a
//! resource: all ranks wait for the last rank of a collective, a team for its last thread at a barrier, and a sender or receiver for the other end, whatever the
//! reason for their lateness.

use crate::algorithm::{Interrupted, Match, Pattern as Shape, PatternEdge, subgraph_matching};
use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::causal::between;
use crate::pass::graph::{check_kind, whole};
use crate::pass::pattern::{Library, Pattern};
use crate::set::Set;
use headwater_graph::view::{EdgeKind, View};
use headwater_mpi_abi as abi;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Patterns by name.
const LIBRARY: Library = &[
    ("convoy", "a>b a>c"),
    ("mutual", "a>b b>a"),
    ("chain", "a>b b>c"),
    ("fan-in", "c>d c>e a>c b>c"),
];

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "contention",
            "Where vertices around those of the set wait for one resource: the vertices and edges of all patterns found.",
            |call| {
                let set = call.vertices(0)?;
                let (patterns, least) = (call.list("patterns"), call.number("least"));
                let mut out = set.with_elements(Vec::new(), Vec::new());
                for pattern in patterns {
                    let most = call.count("most");
                    let found = contention(set, pattern, least, most, call.interrupted)?;
                    let whole = found.len() < most;
                    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
                    for place in found {
                        vertices.extend(place.vertices);
                        edges.extend(place.edges);
                    }
                    if !whole {
                        // The places found first are on the first ranks; the other ranks wait at the same places.
                        edges.extend(alike(set.view(), &edges, least));
                        vertices.extend(ends(set.view(), &edges));
                    }
                    out = out.union(&Set::new(set.view().clone(), vertices, edges))?;
                }
                Ok(vec![out.into()])
            },
        )
        .takes("V", Kind::PARALLEL)
        .with(
            "patterns",
            ["convoy", "mutual"],
            "patterns by name (convoy, mutual, chain, fan-in) or edges as a>b b>c:mutex",
        )
        .with("least", 1e-4, "waiting that counts on an edge, as a share of the run time")
        .figure_from(0.0)
        .with(
            "most",
            10_000.0,
            "places of a pattern at the most; where there are more, all waiting between what was found there is taken",
        )
        .whole_from(1.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// Both ends of edges.
fn ends(view: &View, edges: &[u32]) -> Vec<u32> {
    let all = edges.iter().map(|e| *e as usize);
    all.flat_map(|e| [view.graph.sources()[e], view.graph.targets()[e]])
        .collect()
}

/// Edges with waiting that have the same kind as some of `edges` and join vertices of the same places.
fn alike(view: &View, edges: &[u32], least: f64) -> Vec<u32> {
    let kinds = view.edges.get("kind");
    let places = view.vertices.get("vertex");
    let place = |v: u32| {
        let known = places.and_then(|p| p.number(v as usize));
        known.map_or(u64::from(v), |p| p as u64)
    };
    let key = |e: u32| {
        let i = e as usize;
        let (src, dst) = (view.graph.sources()[i], view.graph.targets()[i]);
        (kinds.and_then(|k| k.text(i)), place(src), place(dst))
    };
    let found: FxHashSet<_> = edges.iter().map(|e| key(*e)).collect();
    let waited = waited(view, least);
    let all = (0..view.graph.edges() as u32).into_par_iter();
    all.filter(|e| waited[*e as usize] && found.contains(&key(*e)))
        .collect()
}

/// By edge: whether it is between ranks or threads and has more waiting than `least` of the run time.
fn waited(view: &View, least: f64) -> Vec<bool> {
    let least = least * view.header.wall_seconds;
    let between = view.edges.get("type").map(between);
    let wait = view.edges.get("wait");
    let of = |e: usize| {
        let long = wait.and_then(|w| w.number(e)).is_some_and(|w| w > least);
        long && between.as_ref().and_then(|b| b(e)) == Some(true)
    };
    (0..view.graph.edges()).into_par_iter().map(of).collect()
}

/// By edge: whether it is a message, a collective, a team's barrier or the end of a thread, which have no holder.
fn unowned(view: &View) -> Vec<bool> {
    use EdgeKind::{Barrier, Collective, Join, LateReceiver, PointToPoint};
    let kinds = view.edges.get("kind");
    let names = view.vertices.get("name");
    let targets = view.graph.targets();
    let of = |e: usize| {
        let kind = kinds.and_then(|k| k.text(e));
        let is = |k: EdgeKind| kind == Some(k.words());
        let waits_in = || names?.text(*targets.get(e)? as usize);
        [Collective, Barrier, Join].into_iter().any(is)
            || (is(PointToPoint) || is(LateReceiver)) && !waits_in().is_some_and(is_access)
    };
    (0..view.graph.edges()).into_par_iter().map(of).collect()
}

/// Whether a function begins or ends access to a window. A fence is a collective.
fn is_access(function: &str) -> bool {
    use abi::Class::*;
    let class = abi::by_name(function).map(|f| f.class);
    matches!(
        class,
        Some(WinPost | WinStart | WinComplete | WinWait | WinLock | WinFlush | WinUnlock)
    )
}

/// Where a pattern occurs around vertices of `set`, at most `most` times: vertices and edges in the order in which the
/// pattern names them. Its first vertex is one of the set, or an edge with waiting leads from it to one of the set.
///
/// # Errors
/// If the pattern cannot be read, or it is interrupted.
pub fn contention(
    set: &Set,
    pattern: &str,
    least: f64,
    most: usize,
    interrupted: Interrupted<'_>,
) -> Result<Vec<Match>, PassError> {
    let Pattern { names, edges } = Pattern::read("patterns", pattern, LIBRARY)?;
    if let Some(edge) = edges.iter().find(|e| e.src == e.dst) {
        let name = names.get(edge.src).map_or("", String::as_str);
        let what =
            format!("{name}>{name} leads from a vertex to itself, and nobody waits for itself");
        return Err(PassError::Argument("patterns".to_string(), what));
    }
    let view = set.view();
    let kinds = edges.iter().filter_map(|e| e.kind.as_deref());
    kinds
        .into_iter()
        .try_for_each(|kind| check_kind(view, kind, "patterns"))?;
    let waited = waited(view, least);
    let unowned = unowned(view);
    let word = |name: &str, e: u32| {
        let column = view.edges.get(name);
        column.and_then(|c| c.text(e as usize)).map(str::to_string)
    };
    let tests: Vec<Box<dyn Fn(u32) -> bool + Sync + '_>> = edges
        .iter()
        .map(|drawn| -> Box<dyn Fn(u32) -> bool + Sync + '_> {
            match &drawn.kind {
                None => Box::new(|e| waited[e as usize] && !unowned[e as usize]),
                Some(kind) => Box::new(move |e| {
                    ["kind", "type"]
                        .iter()
                        .any(|n| word(n, e).as_ref() == Some(kind))
                }),
            }
        })
        .collect();
    let any = |_: u32| true;
    let shape = Shape {
        vertices: vec![&any; names.len()],
        edges: edges
            .iter()
            .zip(&tests)
            .map(|(drawn, fits)| PatternEdge {
                src: drawn.src,
                dst: drawn.dst,
                fits,
            })
            .collect(),
    };
    // The holders that the set's vertices wait for are around them.
    let graph = &view.graph;
    let mut starts = set.vertices().to_vec();
    for &v in set.vertices() {
        let into = graph.in_edges(v).iter().filter(|e| waited[**e as usize]);
        starts.extend(into.map(|e| graph.sources()[*e as usize]));
    }
    starts.sort_unstable();
    starts.dedup();
    let found = subgraph_matching(graph, &shape, &starts, most, interrupted);
    whole(found, interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::NEVER;
    use headwater_graph::view::{Cell, Column, Table};
    use std::sync::Arc;

    /// Thread 0 holds a lock for which threads 1 and 2 wait; 2 and 0 wait in turn. 3 waits for nobody.
    fn threads() -> Set {
        let (src, dst) = (vec![0, 0, 2, 0], vec![1, 2, 0, 3]);
        let words = |w: [&str; 4]| Column::texts(w.map(Some));
        let edges = Table::new(4)
            .with("type", words(["inter-thread"; 4]))
            .with("kind", words(["mutex", "mutex", "futex", "mutex"]))
            .with("wait", Column::known(vec![1.0, 1.0, 1.0, 0.0]));
        let view = View::made(Table::new(4), src, dst, edges).expect("a graph");
        Set::vertices_of(&Arc::new(view))
    }

    #[test]
    fn who_waits_for_the_last_rank_of_a_collective_contends_for_nothing() {
        let words = |w: [&str; 3]| Column::texts(w.map(Some));
        let edges = Table::new(3)
            .with("type", words(["inter-process"; 3]))
            .with("kind", words(["collective"; 3]))
            .with("wait", Column::known(vec![1.0; 3]));
        let view = View::made(Table::new(4), vec![3; 3], vec![0, 1, 2], edges).expect("a graph");
        let set = Set::vertices_of(&Arc::new(view));
        let found = |pattern| {
            contention(&set, pattern, 0.0, 100, NEVER)
                .expect("reads")
                .len()
        };
        assert_eq!(found("convoy"), 0);
        assert_eq!(found("a>b:collective a>c:collective"), 6);
    }

    #[test]
    fn ends_of_messages_that_wait_for_each_other_share_no_resource() {
        let set = |call: &str| {
            let words = |w: [&str; 2]| Column::texts(w.map(Some));
            let edges = Table::new(2)
                .with("type", words(["inter-process"; 2]))
                .with("kind", words(["point-to-point", "late-receiver"]))
                .with("wait", Column::known(vec![1.0; 2]));
            let names = Table::new(2).with("name", words([call; 2]));
            let view = View::made(names, vec![0, 1], vec![1, 0], edges).expect("a graph");
            Set::vertices_of(&Arc::new(view))
        };
        let found = |call, pattern| {
            contention(&set(call), pattern, 0.0, 100, NEVER)
                .expect("reads")
                .len()
        };
        for call in ["MPI_Sendrecv", "MPI_Win_fence"] {
            assert_eq!(found(call, "mutual"), 0, "{call}");
        }
        assert_eq!(
            found("MPI_Sendrecv", "a>b:point-to-point b>a:late-receiver"),
            1
        );
        assert_eq!(
            found("MPI_Win_unlock", "mutual"),
            2,
            "the rank that has the lock holds it"
        );
    }

    #[test]
    fn at_the_limit_all_waiting_at_the_places_found_is_taken() {
        let pass = crate::pass::catalogue()
            .by_name("contention")
            .expect("a pass");
        let edges_of = |most: f64| {
            // On each of two ranks a thread lets two others go on, at the same places.
            let words = |w: &str| Column::texts([Some(w); 4]);
            let edges = Table::new(4)
                .with("type", words("inter-thread"))
                .with("kind", words("mutex"))
                .with("wait", Column::known(vec![1.0; 4]));
            let vertices =
                Table::new(6).with("vertex", Column::known(vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0]));
            let (src, dst) = (vec![0, 0, 3, 3], vec![1, 2, 4, 5]);
            let view = View::made(vertices, src, dst, edges).expect("a graph");
            let call = crate::flow::Call {
                pass,
                inputs: &[Set::vertices_of(&Arc::new(view)).into()],
                parameters: &crate::flow::with("most", most),
                interrupted: &|| false,
            };
            let made = (pass.function)(&call).expect("finds");
            made[0].set().expect("a set").edges().len()
        };
        assert_eq!((edges_of(100.0), edges_of(1.0)), (4, 4));
    }

    #[test]
    fn patterns_are_those_of_the_library_or_drawn() {
        let set = threads();
        assert_eq!(set.cell("name", 0), Cell::Missing);
        let found = |pattern| {
            contention(&set, pattern, 0.0, 100, NEVER)
                .expect("reads")
                .len()
        };
        assert_eq!(found("convoy"), 2, "either of the two may be named first");
        assert_eq!(found("mutual"), 2);
        assert_eq!(
            found("chain"),
            1,
            "the waiting thread is not the one it waits for"
        );
        assert_eq!(
            found("a>b:mutex"),
            3,
            "a kind that is named need not have waited"
        );
        assert_eq!(found("a>b:inter-thread b>a:futex"), 1);
        assert_eq!(
            contention(&set, "convoy", 0.0, 1, NEVER)
                .expect("reads")
                .len(),
            1
        );
        for wrong in ["", "a>", "convoi"] {
            let e = contention(&set, wrong, 0.0, 1, NEVER)
                .expect_err(wrong)
                .to_string();
            assert!(e.starts_with("argument patterns: "), "{e}");
        }
    }
}
