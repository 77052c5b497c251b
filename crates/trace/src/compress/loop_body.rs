//! The row of nodes that a loop repeats. It knows how much memory it takes, and how deeply loops are nested in it.
//!
//! A trace whose calls hardly repeat has very many nodes, and the recorder asks for these figures again and again. A change
//! of a node goes through all loops around it (`DerefMut`), and each of these forgets its figures. The others keep theirs.

use super::Node;
use crate::budget::bytes_of;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// The row of nodes that a loop repeats.
#[derive(Debug, Default)]
pub struct LoopBody {
    nodes: Vec<Node>,
    /// Bytes of all that the nodes take; 0 if not computed yet.
    memory: Cell<usize>,
    /// One more than the depth of loops inside; 0 if not computed yet.
    depth: Cell<usize>,
}

impl LoopBody {
    /// Loops inside of loops.
    pub(super) fn depth(&self) -> usize {
        if self.depth.get() == 0 {
            let deepest = self.nodes.iter().map(Node::depth).max();
            self.depth.set(1 + deepest.unwrap_or(0));
        }
        self.depth.get() - 1
    }

    /// Bytes of memory, itself not included.
    pub(super) fn memory(&self) -> usize {
        if self.memory.get() == 0 {
            let inside: usize = self.nodes.iter().map(Node::memory).sum();
            self.memory.set(bytes_of(&self.nodes) + inside);
        }
        self.memory.get()
    }
}

impl Clone for LoopBody {
    fn clone(&self) -> Self {
        // A copy has no room for more nodes, so it takes less.
        Self::from(self.nodes.clone())
    }
}

impl Deref for LoopBody {
    type Target = Vec<Node>;

    fn deref(&self) -> &Vec<Node> {
        &self.nodes
    }
}

impl DerefMut for LoopBody {
    fn deref_mut(&mut self) -> &mut Vec<Node> {
        self.memory.set(0);
        self.depth.set(0);
        &mut self.nodes
    }
}

impl From<Vec<Node>> for LoopBody {
    fn from(nodes: Vec<Node>) -> Self {
        Self {
            nodes,
            memory: Cell::new(0),
            depth: Cell::new(0),
        }
    }
}

impl From<LoopBody> for Vec<Node> {
    fn from(body: LoopBody) -> Self {
        body.nodes
    }
}

#[cfg(test)]
mod tests {
    use crate::budget::{CHUNK, bytes_of};
    use crate::compress::{Kind, LoopBody, Node, Stream};
    use crate::times::Delta;
    use proptest::prelude::*;

    /// What a node takes, found out anew.
    fn counted(node: &Node) -> usize {
        match &node.kind {
            Kind::Event(_) => node.memory(),
            Kind::Loop(body) => {
                let inside: usize = body.iter().map(counted).sum();
                node.trips.memory() + size_of::<LoopBody>() + CHUNK + bytes_of(body) + inside
            }
        }
    }

    fn nested(node: &Node) -> usize {
        match &node.kind {
            Kind::Event(_) => 0,
            Kind::Loop(body) => 1 + body.iter().map(nested).max().unwrap_or(0),
        }
    }

    proptest! {
        #[test]
        fn the_figures_are_those_of_the_nodes(
            rows in prop::collection::vec((prop::collection::vec((0..5_u32, 0..3_u32), 1..6), 1..9_u32), 1..30),
            every in 1..5_usize,
        ) {
            let mut stream = Stream::new();
            let again = rows.iter().flat_map(|(row, times)| (0..*times).flat_map(move |_| row));
            for (n, (signature, parameters)) in again.enumerate() {
                stream.push(*signature, *parameters, Delta::default());
                if n % 7 == 0 {
                    stream.append_followed();
                }
                if n % every == 0 {
                    for node in stream.nodes() {
                        prop_assert_eq!(node.memory(), counted(&node));
                        prop_assert_eq!(node.depth(), nested(&node));
                    }
                }
            }
        }
    }
}
