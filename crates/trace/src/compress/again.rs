//! Rows that run again: where in what is already compressed they fit, and what another run of them changes.

use super::node::{Kind, Node, merge_rows, wrap};
use super::{DEEPEST, Entry, Item};

/// The node on a way into `node`.
pub(super) fn at<'a>(node: &'a mut Node, path: &[usize]) -> Option<&'a mut Node> {
    path.iter().try_fold(node, |node, at| match &mut node.kind {
        Kind::Loop(body) => body.get_mut(*at),
        Kind::Event(_) => None,
    })
}

/// The usual way: finds the positions in the body of a loop at which the entries are, if all of them are there in their
/// order.
pub(super) fn fit<'a>(
    node: &Node,
    later: &[Entry],
    positions: &'a mut Vec<u32>,
) -> Option<&'a [u32]> {
    let Kind::Loop(body) = &node.kind else {
        return None;
    };
    // A loop that is all of an iteration is more runs of the same loop.
    if let [
        Entry {
            item: Item::Node(_),
            ..
        },
    ] = later
    {
        return None;
    }
    positions.clear();
    let mut nodes = body.iter().zip(0..);
    for entry in later {
        let (_, position) = nodes.find(|(node, _)| entry.item.fits(node))?;
        positions.push(position);
    }
    Some(positions)
}

/// Finds the outermost loop in `node` that has skipped all of the entries, in their order, after what ran last: its last
/// run goes on. An iteration that ends early at an event that it has twice looks complete at first.
pub(super) fn find_skipped(
    node: &Node,
    later: &[Entry],
    positions: &mut Vec<u32>,
) -> Option<Vec<usize>> {
    let mut path = Vec::new();
    let mut node = node;
    while let Kind::Loop(body) = &node.kind {
        let last = body.iter().rposition(Node::ran_last)?;
        positions.clear();
        let mut skipped = body.iter().zip(0..).skip(last + 1);
        let all = later.iter().all(|entry| {
            let found = skipped.find(|(node, _)| entry.item.fits(node));
            positions.extend(found.map(|(_, position)| position));
            found.is_some()
        });
        if all {
            return Some(path);
        }
        path.push(last);
        node = &body[last];
    }
    None
}

/// Appends a run of the entries, which are at these positions of the body, to a loop.
pub(super) fn run_as(node: &mut Node, later: &mut [Entry], positions: &[u32]) {
    node.trips.add_to_last(1);
    let Kind::Loop(body) = &mut node.kind else {
        return;
    };
    let mut entries = later.iter_mut().zip(positions).peekable();
    for (position, node) in (0..).zip(body.iter_mut()) {
        let here = entries.next_if(|(_, p)| **p == position);
        match here.map(|(entry, _)| &mut entry.item) {
            None => node.trips.push(0),
            Some(Item::Single(single)) => {
                node.trips.push(1);
                if let Kind::Event(event) = &mut node.kind {
                    event.add(single);
                }
            }
            Some(item @ Item::Node(_)) => {
                if let Item::Node(other) = std::mem::replace(item, Item::NOTHING) {
                    node.append(other);
                }
            }
        }
    }
}

/// A loop, or an event, inside of a node.
pub(super) struct Place {
    /// Positions of the nodes on the way to it, from the outside.
    pub path: Vec<usize>,
    /// If it is not a loop yet: the part of the last body that is to become one.
    pub part: Option<(usize, usize)>,
}

/// Finds what ran last in `node` and begins with `first`: the outermost such loop, else the end of a body. `length` is
/// the number of entries that are to run there again.
pub(super) fn find_loop(node: &Node, first: u32, length: usize) -> Option<Place> {
    let mut path = Vec::new();
    let mut node = node;
    let mut part = None;
    loop {
        if node.first() == Some(first) && (length == 1 || matches!(node.kind, Kind::Loop(_))) {
            return Some(Place { path, part: None });
        }
        let Kind::Loop(body) = &node.kind else {
            return part;
        };
        let last = body.iter().rposition(Node::ran_last)?;
        let from = body[..=last]
            .iter()
            .rposition(|node| node.ran_last() && node.first() == Some(first));
        if let Some(from) =
            from.filter(|from| *from > 0 && *from < last && 2 * length > last - from)
            && path.len() + node.depth() < DEEPEST
        {
            part = Some(Place {
                path: path.clone(),
                part: Some((from, last)),
            });
        }
        path.push(last);
        node = &body[last];
    }
}

/// Appends a run of `row` to the loop.
pub(super) fn run_again(
    node: &mut Node,
    path: &[usize],
    part: Option<(usize, usize)>,
    row: Vec<Node>,
) {
    if let [at, rest @ ..] = path
        && let Kind::Loop(body) = &mut node.kind
        && let Some(node) = body.get_mut(*at)
    {
        return run_again(node, rest, part, row);
    }
    if let Some((from, to)) = part {
        let runs = node.runs_of_body();
        let Kind::Loop(body) = &mut node.kind else {
            return;
        };
        wrap(body, from, to, runs);
        return run_again(&mut body[from], &[], None, row);
    }
    let more = match (&node.kind, &*row) {
        (Kind::Event(_), [one]) => one.runs(),
        (Kind::Loop(body), [one]) => match &one.kind {
            // A loop that is all of an iteration is more runs of the same loop.
            Kind::Loop(other) if is_row_like(body, other) => one.runs(),
            _ => 0,
        },
        _ => 0,
    };
    if more > 0 {
        node.trips.add_to_last(more as i64);
        row.into_iter().for_each(|later| node.join(later));
        return;
    }
    let runs = node.runs_of_body();
    node.trips.add_to_last(1);
    if let Kind::Loop(body) = &mut node.kind {
        let mine = std::mem::take(&mut **body).into();
        **body = merge_rows(mine, runs, row, 1).into();
    }
}

fn is_row_like(a: &[Node], b: &[Node]) -> bool {
    a.first().map(Node::first) == b.first().map(Node::first)
        && a.last().map(Node::last) == b.last().map(Node::last)
}
