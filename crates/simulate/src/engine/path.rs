//! The critical path, followed forward: what led to each moment that somebody may still wait for.
//!
//! The way to a moment is a chain of nodes, each with the time that it adds at a place. Ways share the nodes of their
//! common begin. A stream that waits takes over the way of whom it waited for. When nodes have become many, stretches
//! without a branch are summed by place. So there are never more nodes than branches times places, however long the
//! program is, and each step costs the same.

use rustc_hash::FxHashMap;

/// The begin of every way.
pub(super) const START: u32 = u32::MAX;

/// Nodes before the first summing.
const FIRST_LIMIT: usize = 1 << 14;

/// A place, and whether time there is the network's.
type Key = (u32, bool);

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    before: u32,
    /// Nodes and others that refer to it; 0 if it is free.
    refs: u32,
    seconds: f64,
}

/// All ways that are still of use.
#[derive(Debug)]
pub(super) struct Paths {
    /// Whether paths are followed at all.
    on: bool,
    nodes: Vec<Node>,
    free: Vec<u32>,
    limit: usize,
}

impl Paths {
    pub fn new(on: bool) -> Self {
        Self {
            on,
            nodes: Vec::new(),
            free: Vec::new(),
            limit: FIRST_LIMIT,
        }
    }

    fn at(&mut self, node: u32) -> Option<&mut Node> {
        self.nodes.get_mut(node as usize)
    }

    /// One more refers to the end of a way.
    #[inline]
    pub fn share(&mut self, end: u32) -> u32 {
        if let Some(n) = self.at(end) {
            n.refs += 1;
        }
        end
    }

    /// One less refers to the end of a way.
    #[inline]
    pub fn release(&mut self, mut end: u32) {
        while let Some(n) = self.nodes.get_mut(end as usize) {
            n.refs -= 1;
            if n.refs > 0 {
                return;
            }
            self.free.push(end);
            end = n.before;
        }
    }

    /// The way goes on for some time at a place; gives its new end.
    #[inline]
    pub fn goes_on(&mut self, end: u32, place: u32, network: bool, seconds: f64) -> u32 {
        if !self.on || seconds <= 0.0 {
            return end;
        }
        let key = (place, network);
        if let Some(n) = self.at(end).filter(|n| n.refs == 1 && n.key == key) {
            n.seconds += seconds;
            return end;
        }
        let node = Node {
            key,
            before: end,
            refs: 1,
            seconds,
        };
        match self.free.pop() {
            Some(free) => {
                self.nodes[free as usize] = node;
                free
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        }
    }

    /// Whether it is time to [sum](Self::sum).
    #[inline]
    pub fn is_long(&self) -> bool {
        self.nodes.len() - self.free.len() > self.limit
    }

    /// Sums stretches without a branch by place.
    #[cold]
    pub fn sum(&mut self) {
        let mut next = vec![0u32; self.nodes.len()];
        for n in self.nodes.iter().filter(|n| n.refs > 0) {
            if let Some(count) = next.get_mut(n.before as usize) {
                *count += 1;
            }
        }
        let alone = |n: &Node, next: u32| n.refs == 1 && next == 1;
        let mut sums: Vec<(Key, f64)> = Vec::new();
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut stretch: Vec<u32> = Vec::new();
        for last in 0..self.nodes.len() {
            let n = self.nodes[last];
            if n.refs == 0 || alone(&n, next[last]) {
                continue;
            }
            sums.clear();
            known.clear();
            stretch.clear();
            let mut at = last as u32;
            let before = loop {
                let n = self.nodes[at as usize];
                stretch.push(at);
                let index = *known.entry(n.key).or_insert(sums.len());
                if index == sums.len() {
                    sums.push((n.key, 0.0));
                }
                sums[index].1 += n.seconds;
                match self.nodes.get(n.before as usize) {
                    Some(b) if alone(b, next[n.before as usize]) => at = n.before,
                    _ => break n.before,
                }
            };
            for (i, node) in stretch.iter().enumerate() {
                let n = &mut self.nodes[*node as usize];
                let Some((key, seconds)) = sums.get(i) else {
                    // Not in use, and no end of a stretch that comes later in the loop.
                    n.refs = 0;
                    self.free.push(*node);
                    continue;
                };
                (n.key, n.seconds) = (*key, *seconds);
                n.before = match i + 1 < sums.len() {
                    true => stretch[i + 1],
                    false => before,
                };
            }
        }
        let live = self.nodes.len() - self.free.len();
        self.limit = FIRST_LIMIT.max(2 * live);
    }

    /// The time at each place on the way to an end, by place: computation and network, seconds.
    pub fn by_place(&self, mut end: u32) -> Vec<(u32, f64, f64)> {
        let mut all: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
        while let Some(n) = self.nodes.get(end as usize) {
            let sums = all.entry(n.key.0).or_default();
            if n.key.1 {
                sums.1 += n.seconds;
            } else {
                sums.0 += n.seconds;
            }
            end = n.before;
        }
        let mut out: Vec<(u32, f64, f64)> = all.into_iter().map(|(p, (c, n))| (p, c, n)).collect();
        out.sort_unstable_by_key(|(place, _, _)| *place);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summing_keeps_every_way_and_frees_the_rest() {
        let mut paths = Paths::new(true);
        let mut trunk = START;
        for i in 0..300 {
            trunk = paths.goes_on(trunk, i % 3, false, 1.0);
        }
        let branch = paths.share(trunk);
        let mut ends = [trunk, branch];
        for i in 0..200 {
            ends[0] = paths.goes_on(ends[0], 7 + i % 2, true, 0.5);
            ends[1] = paths.goes_on(ends[1], i % 2, false, 0.25);
        }
        let before = ends.map(|e| paths.by_place(e));
        paths.sum();
        assert_eq!(ends.map(|e| paths.by_place(e)), before);
        assert_eq!(before[0][0], (0, 100.0, 0.0));
        assert_eq!(before[0][3], (7, 0.0, 50.0));
        assert_eq!(paths.nodes.len() - paths.free.len(), 3 + 2 + 2);
        ends.into_iter().for_each(|e| paths.release(e));
        assert_eq!(paths.nodes.len(), paths.free.len());
    }
}
