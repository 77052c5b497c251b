//! Dominators and loops of small graphs.

/// Successors and predecessors of numbered nodes; node 0 is the entry.
#[derive(Debug, Default)]
pub struct Graph {
    /// By node.
    pub successors: Vec<Vec<u32>>,
    /// By node.
    pub predecessors: Vec<Vec<u32>>,
}

/// A loop: its header and all its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Where it is entered.
    pub header: u32,
    /// Its nodes, ascending, the header among them.
    pub nodes: Vec<u32>,
    /// Whether it can be entered elsewhere too.
    pub irreducible: bool,
}

/// No node.
pub const NONE: u32 = u32::MAX;

impl Graph {
    /// A graph of `n` nodes without edges.
    pub fn new(n: usize) -> Self {
        Self {
            successors: vec![Vec::new(); n],
            predecessors: vec![Vec::new(); n],
        }
    }

    /// Adds an edge once.
    pub fn edge(&mut self, from: u32, to: u32) {
        if !self.successors[from as usize].contains(&to) {
            self.successors[from as usize].push(to);
            self.predecessors[to as usize].push(from);
        }
    }

    /// Nodes reached from the entry, in reverse postorder.
    pub fn order(&self) -> Vec<u32> {
        let n = self.successors.len();
        let (mut seen, mut out) = (vec![false; n], Vec::with_capacity(n));
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if n > 0 {
            seen[0] = true;
            stack.push((0, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            match self.successors[*node as usize].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    out.push(*node);
                    stack.pop();
                }
            }
        }
        out.reverse();
        out
    }

    /// Immediate dominator of each node; the entry's is itself, that of unreached nodes [`NONE`]
    /// (Cooper, Harvey and Kennedy 2001).
    pub fn dominators(&self, order: &[u32]) -> Vec<u32> {
        let n = self.successors.len();
        let mut number = vec![NONE; n];
        order
            .iter()
            .zip(0..)
            .for_each(|(node, i)| number[*node as usize] = i);
        let mut idom = vec![NONE; n];
        if n == 0 {
            return idom;
        }
        idom[0] = 0;
        let meet = |idom: &[u32], mut a: u32, mut b: u32| {
            while a != b {
                while number[a as usize] > number[b as usize] {
                    a = idom[a as usize];
                }
                while number[b as usize] > number[a as usize] {
                    b = idom[b as usize];
                }
            }
            a
        };
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &node in order.iter().skip(1) {
                let ready = self.predecessors[node as usize]
                    .iter()
                    .copied()
                    .filter(|p| idom[*p as usize] != NONE);
                let new = ready.reduce(|a, b| meet(&idom, a, b)).unwrap_or(NONE);
                if idom[node as usize] != new {
                    idom[node as usize] = new;
                    changed = true;
                }
            }
        }
        idom
    }

    /// All loops, outer before inner. Back edges to one header make one loop.
    pub fn loops(&self, order: &[u32], idom: &[u32]) -> Vec<Loop> {
        let n = self.successors.len();
        let mut number = vec![NONE; n];
        order
            .iter()
            .zip(0..)
            .for_each(|(node, i)| number[*node as usize] = i);
        // Depth in the dominator tree by intervals, so that "dominates" is two comparisons.
        let (enter, leave) = intervals(idom, order);
        let dominates = |a: u32, b: u32| {
            enter[a as usize] <= enter[b as usize] && leave[b as usize] <= leave[a as usize]
        };
        let mut latches: Vec<(u32, Vec<u32>, bool)> = Vec::new();
        for &from in order {
            for &to in &self.successors[from as usize] {
                if number[to as usize] > number[from as usize] {
                    continue;
                }
                let clean = dominates(to, from);
                match latches.iter_mut().find(|l| l.0 == to) {
                    Some(l) => {
                        l.1.push(from);
                        l.2 &= clean;
                    }
                    None => latches.push((to, vec![from], clean)),
                }
            }
        }
        let mut loops: Vec<Loop> = latches
            .into_iter()
            .map(|(header, latches, clean)| {
                // An irreducible loop is bounded by what lies behind its header in the order.
                let least = number[header as usize];
                let mut inside = vec![false; n];
                inside[header as usize] = true;
                let mut stack = latches;
                while let Some(node) = stack.pop() {
                    if number[node as usize] < least
                        || std::mem::replace(&mut inside[node as usize], true)
                    {
                        continue;
                    }
                    stack.extend(
                        self.predecessors[node as usize]
                            .iter()
                            .filter(|p| number[**p as usize] != NONE),
                    );
                }
                let nodes = (0..n as u32).filter(|i| inside[*i as usize]).collect();
                Loop {
                    header,
                    nodes,
                    irreducible: !clean,
                }
            })
            .collect();
        loops.sort_by_key(|l| (std::cmp::Reverse(l.nodes.len()), l.header));
        loops
    }
}

/// Entry and exit numbers of a walk over the dominator tree.
fn intervals(idom: &[u32], order: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let n = idom.len();
    let mut children = vec![Vec::new(); n];
    for &node in order {
        let parent = idom[node as usize];
        if parent != NONE && parent != node {
            children[parent as usize].push(node);
        }
    }
    let (mut enter, mut leave) = (vec![NONE; n], vec![0; n]);
    let (mut clock, mut stack) = (0, Vec::new());
    if let Some(&root) = order.first() {
        stack.push((root, 0usize));
        enter[root as usize] = 0;
    }
    while let Some((node, next)) = stack.last_mut() {
        match children[*node as usize].get(*next) {
            Some(&child) => {
                *next += 1;
                clock += 1;
                enter[child as usize] = clock;
                stack.push((child, 0));
            }
            None => {
                leave[*node as usize] = clock;
                stack.pop();
            }
        }
    }
    (enter, leave)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, edges: &[(u32, u32)]) -> Graph {
        let mut g = Graph::new(n);
        edges.iter().for_each(|(a, b)| g.edge(*a, *b));
        g
    }

    fn loops(g: &Graph) -> Vec<(u32, Vec<u32>, bool)> {
        let order = g.order();
        let idom = g.dominators(&order);
        g.loops(&order, &idom)
            .into_iter()
            .map(|l| (l.header, l.nodes, l.irreducible))
            .collect()
    }

    #[test]
    fn nested_loops_come_outer_first() {
        let g = graph(5, &[(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]);
        assert_eq!(
            loops(&g),
            vec![(1, vec![1, 2, 3], false), (2, vec![2], false)]
        );
    }

    #[test]
    fn a_loop_with_two_entries_is_marked() {
        let g = graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
        assert!(loops(&g).iter().any(|l| l.2 && l.1 == vec![1, 2]));
    }

    #[test]
    fn a_diamond_is_dominated_by_its_top() {
        let g = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(g.dominators(&g.order()), vec![0, 0, 0, 0]);
    }
}
