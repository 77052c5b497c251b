//! Between which MPI vertices each vertex computes, by the order of the tree, which is that of the program (ScalAna, section
//! III-A: data and control dependence within a process).
//!
//! In a loop with MPI vertices, what is behind the last one comes before the first one again.

use super::tree::Tree;
use super::types::{Functions, Type};
use rustc_hash::FxHashMap;

/// The MPI vertices before and behind a vertex; `None` where there is none.
pub type Around = (Option<usize>, Option<usize>);

/// Vertices of the first tree in program order: by their lines, those without lines where the file has them.
fn sequence(tree: &Tree) -> (Vec<usize>, Vec<usize>) {
    let mut sequence = Vec::new();
    // Where the vertices in a vertex end, by its place in the sequence.
    let mut ends = vec![0; tree.vertices.len()];
    let mut open: Vec<(usize, bool)> = tree
        .roots
        .first()
        .map(|r| (*r, false))
        .into_iter()
        .collect();
    while let Some((at, is_left)) = open.pop() {
        if is_left {
            if let Some(end) = ends.get_mut(at) {
                *end = sequence.len();
            }
            continue;
        }
        sequence.push(at);
        open.push((at, true));
        let Some(vertex) = tree.vertices.get(at) else {
            continue;
        };
        let mut inside = vertex.children.clone();
        let lines = |c: &usize| tree.vertices.get(*c).map(|v| (v.place, v.lines.0));
        let alike = inside
            .iter()
            .filter_map(lines)
            .all(|(place, line)| line > 0 && place == vertex.place);
        if alike {
            inside.sort_by_key(|c| lines(c).map_or(0, |l| l.1));
        }
        open.extend(inside.into_iter().rev().map(|c| (c, false)));
    }
    (sequence, ends)
}

/// Whether a vertex is a call that ranks leave and enter as the collector sees it: `MPI_Init` comes before everything.
fn is_mpi(tree: &Tree, functions: &Functions, at: usize) -> bool {
    let kind = tree.vertices.get(at).map(|v| v.kind);
    let of = |id| {
        let class = crate::calls::class_of(functions.row(id));
        class != Some(headwater_mpi_abi::Class::Init)
    };
    matches!(kind, Some(Type::Mpi(id)) if of(id))
}

/// For each vertex of the first tree, the MPI vertices around it.
pub fn around(tree: &Tree, functions: &Functions) -> Vec<Around> {
    let (sequence, ends) = sequence(tree);
    // MPI vertices with their places in the sequence.
    let mpi: Vec<(usize, usize)> = (sequence.iter().enumerate())
        .filter(|(_, at)| is_mpi(tree, functions, **at))
        .map(|(place, at)| (place, *at))
        .collect();
    let between = |from: usize, to: usize| {
        let first = mpi.partition_point(|m| m.0 < from);
        let end = mpi.partition_point(|m| m.0 < to);
        mpi.get(first..end).unwrap_or(&[])
    };
    let mut out = vec![(None, None); tree.vertices.len()];
    // Loops with MPI vertices that the sequence is in: where they begin and end.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (place, at) in sequence.iter().enumerate() {
        while loops.last().is_some_and(|l| l.1 <= place) {
            loops.pop();
        }
        let end = ends.get(*at).copied().unwrap_or(place);
        let is_loop = tree.vertices.get(*at).is_some_and(|v| v.kind == Type::Loop);
        if is_loop && !between(place, end).is_empty() {
            loops.push((place, end));
        }
        let whole = (0, sequence.len());
        let (from, to) = loops.last().copied().unwrap_or(whole);
        let (mut before, mut behind) = (between(from, place).last(), between(place, to).first());
        if !loops.is_empty() {
            before = before.or(between(from, to).last());
            behind = behind.or(between(from, to).first());
        }
        if let Some(own) = out.get_mut(*at) {
            *own = (before.map(|m| m.1), behind.map(|m| m.1));
        }
    }
    stay_apart(tree, functions, &mut out);
    out
}

/// The graph tells samples apart by the call before them. So what is behind a loop and before the end of the program is
/// put to what is between the same call and the next one in the loop.
fn stay_apart(tree: &Tree, functions: &Functions, all: &mut [Around]) {
    let ends = |behind: Option<usize>| {
        let kind = behind.and_then(|b| tree.vertices.get(b)).map(|v| v.kind);
        let class = match kind {
            Some(Type::Mpi(id)) => crate::calls::class_of(functions.row(id)),
            _ => None,
        };
        behind.is_none() || class == Some(headwater_mpi_abi::Class::Finalize)
    };
    let mut goes_on: FxHashMap<usize, usize> = FxHashMap::default();
    for (before, behind) in all.iter() {
        if let (Some(before), Some(to), false) = (before, behind, ends(*behind)) {
            goes_on.entry(*before).or_insert(*to);
        }
    }
    for (before, behind) in all.iter_mut().filter(|a| ends(a.1)) {
        let other = before.and_then(|b| goes_on.get(&b));
        *behind = other.copied().or(*behind);
    }
}
