//! Dominators, post-dominators and loops of small graphs.

/// Successors and predecessors of numbered nodes.
#[derive(Debug, Default)]
pub struct Graph {
    /// By node.
    pub successors: Vec<Vec<u32>>,
    /// By node.
    pub predecessors: Vec<Vec<u32>>,
    /// The node that is entered from outside.
    pub entry: u32,
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
    pub fn new(n: usize, entry: u32) -> Self {
        Self {
            entry,
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
        if let Some(entry) = seen.get_mut(self.entry as usize) {
            *entry = true;
            stack.push((self.entry, 0));
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
        let number = positions(order, n);
        let mut idom = vec![NONE; n];
        match idom.get_mut(self.entry as usize) {
            Some(entry) => *entry = self.entry,
            None => return idom,
        }
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
        let number = positions(order, n);
        // Depth in the dominator tree by intervals, so that "dominates" is two comparisons.
        let tree = Intervals::new(idom, order);
        let mut latches: Vec<(u32, Vec<u32>, bool)> = Vec::new();
        let mut of_header = vec![NONE; n];
        for &from in order {
            for &to in &self.successors[from as usize] {
                if number[to as usize] > number[from as usize] {
                    continue;
                }
                let slot = &mut of_header[to as usize];
                if *slot == NONE {
                    *slot = latches.len() as u32;
                    latches.push((to, Vec::new(), true));
                }
                let latch = &mut latches[*slot as usize];
                latch.1.push(from);
                latch.2 &= tree.dominates(to, from);
            }
        }
        // The last loop that each node was found in.
        let mut seen = vec![NONE; n];
        let mut loops: Vec<Loop> = (0u32..)
            .zip(latches)
            .map(|(this, (header, latches, clean))| {
                // An irreducible loop is bounded by what lies behind its header in the order.
                let least = number[header as usize];
                seen[header as usize] = this;
                let mut nodes = vec![header];
                let mut stack = latches;
                while let Some(node) = stack.pop() {
                    let outside = number[node as usize] == NONE || number[node as usize] < least;
                    if outside || std::mem::replace(&mut seen[node as usize], this) == this {
                        continue;
                    }
                    nodes.push(node);
                    stack.extend(&self.predecessors[node as usize]);
                }
                nodes.sort_unstable();
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

/// Positions of nodes in an order; [`NONE`] for those that are not in it.
fn positions(order: &[u32], n: usize) -> Vec<u32> {
    let mut out = vec![NONE; n];
    for (node, i) in order.iter().zip(0..) {
        out[*node as usize] = i;
    }
    out
}

/// Loops without an end that are looked at one by one.
const ROUNDS: usize = 16;

/// Immediate post-dominators: of each node the first that every way out of it to one of `exits` comes
/// by; [`NONE`] where there is none but the end itself.
///
/// Ways that end elsewhere (the program stops there, or a loop has no end) do not count, except for nodes
/// that have no other: for them the ends of these ways do.
pub fn post_dominators(successors: &[Vec<u32>], order: &[u32], exits: &[u32]) -> Vec<u32> {
    let n = successors.len();
    let mut out = vec![NONE; n];
    let mut done = vec![false; n];
    let number = positions(order, n);
    let (mut ends, mut rounds) = (exits.to_vec(), 0);
    loop {
        // The graph backward, from an end of its own, over what is not done.
        let mut back = Graph::new(n + 1, n as u32);
        ends.iter().for_each(|e| back.edge(n as u32, *e));
        for &from in order.iter().filter(|f| !done[**f as usize]) {
            for &to in &successors[from as usize] {
                if !done[to as usize] {
                    back.edge(to, from);
                }
            }
        }
        let way = back.order();
        let ipdom = back.dominators(&way);
        for &node in way.iter().filter(|w| (**w as usize) < n) {
            done[node as usize] = true;
            let to = ipdom[node as usize];
            if (to as usize) < n {
                out[node as usize] = to;
            }
        }
        // Of the rest, the last that goes back in a loop without an end; without one, all that stop.
        let rest = || order.iter().rev().copied().filter(|b| !done[*b as usize]);
        let turns = |b: &u32| {
            let to = successors[*b as usize].iter();
            to.copied()
                .any(|t| number[t as usize] <= number[*b as usize])
        };
        rounds += 1;
        ends = match rest().find(turns).filter(|_| rounds < ROUNDS) {
            Some(turn) => vec![turn],
            None => rest()
                .filter(|b| rounds >= ROUNDS || successors[*b as usize].is_empty())
                .collect(),
        };
        if ends.is_empty() {
            return out;
        }
    }
}

/// A walk over the dominator tree: when nodes were entered and left.
pub struct Intervals {
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl Intervals {
    /// Walks the tree that immediate dominators make.
    pub fn new(idom: &[u32], order: &[u32]) -> Self {
        let n = idom.len();
        let parent = |node: u32| Some(idom[node as usize]).filter(|p| *p != NONE && *p != node);
        let mut size = vec![1u32; n];
        for &node in order.iter().rev() {
            if let Some(p) = parent(node) {
                size[p as usize] += size[node as usize];
            }
        }
        // In this order a node comes behind the one that dominates it: it takes the next room there.
        let (mut enter, mut leave, mut free) = (vec![NONE; n], vec![0; n], vec![0; n]);
        for &node in order {
            let i = node as usize;
            let at = parent(node).map_or(0, |p| {
                let at = free[p as usize];
                free[p as usize] += size[i];
                at
            });
            (enter[i], leave[i], free[i]) = (at, at + size[i] - 1, at + 1);
        }
        Self { enter, leave }
    }

    /// Whether `a` dominates `b`; both must be reached from the entry.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.enter[a] <= self.enter[b] && self.leave[b] <= self.leave[a]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: usize, edges: &[(u32, u32)]) -> Graph {
        let mut g = Graph::new(n, 0);
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
    fn a_stop_is_no_way_out_and_endless_loops_have_joins_too() {
        // 0 decides between a stop (1) and going on (2); 2 decides between 3 and 4, which meet in 5.
        let edges = [(0, 1), (0, 2), (2, 3), (2, 4), (3, 5), (4, 5)];
        let ends = |g: &Graph, exits: &[u32]| post_dominators(&g.successors, &g.order(), exits);
        let g = graph(6, &edges);
        assert_eq!(ends(&g, &[5]), vec![2, NONE, 5, 5, 5, NONE]);
        let g = graph(6, &[&edges[..], &[(5, 2)]].concat());
        assert_eq!(ends(&g, &[])[2..5], [5, 5, 5]);
    }

    #[test]
    fn a_diamond_is_dominated_by_its_top() {
        let g = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(g.dominators(&g.order()), vec![0, 0, 0, 0]);
    }
}
