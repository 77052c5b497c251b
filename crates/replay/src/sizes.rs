//! What the library says about datatypes and communicators, asked once for each.

use crate::library::{Mpi, address};
use rustc_hash::FxHashMap;

/// The memory of one element of a datatype, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// From one element to the next.
    pub step: i64,
    /// Where its first byte is.
    pub low: i64,
    /// Where its last byte ends.
    pub high: i64,
}

impl Extent {
    /// Bytes.
    pub const BYTES: Self = Self {
        step: 1,
        low: 0,
        high: 1,
    };
}

/// Addresses from `low` to below `high`, relative to a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first one, at most 0.
    pub low: i64,
    /// The end.
    pub high: i64,
}

impl Range {
    /// Adds `count` elements that begin at `place`.
    pub fn add(&mut self, place: i64, count: i64, of: Extent) {
        if count <= 0 {
            return;
        }
        let last = place.saturating_add((count - 1).saturating_mul(of.step));
        let (first, last) = (place.min(last), place.max(last));
        self.low = self.low.min(first.saturating_add(of.low));
        self.high = self.high.max(last.saturating_add(of.high));
    }

    /// Bytes.
    pub fn bytes(self) -> usize {
        usize::try_from(self.high.saturating_sub(self.low)).unwrap_or(0)
    }
}

/// Which neighbours a communicator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// None.
    None,
    /// Those of a grid.
    Cart,
    /// Those of a graph.
    Graph,
    /// Those of a distributed graph.
    DistGraph,
}

/// Lengths that depend on a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Ranks of the own group.
    pub own: u32,
    /// Ranks that take part in a collective's data: those of the other group, if there is one.
    pub all: u32,
    /// Neighbours from which this process receives.
    pub sources: u32,
    /// Neighbours to which it sends.
    pub destinations: u32,
}

/// What is known, by number.
#[derive(Debug, Default)]
pub struct Sizes {
    extents: FxHashMap<i64, Extent>,
    members: FxHashMap<i64, Members>,
    topologies: FxHashMap<i64, Topology>,
}

impl Sizes {
    /// The extent of a datatype.
    #[inline]
    pub fn extent(&mut self, mpi: &Mpi, number: i64, handle: u64) -> Extent {
        if let Some(known) = self.extents.get(&number) {
            return *known;
        }
        let (mut lower, mut step, mut low, mut length) = ([0i64], [0i64], [0i64], [0i64]);
        mpi.ask(
            "MPI_Type_get_extent",
            &[handle, address(&mut lower), address(&mut step)],
        );
        mpi.ask(
            "MPI_Type_get_true_extent",
            &[handle, address(&mut low), address(&mut length)],
        );
        let ([step], [low], [length]) = (step, low, length);
        let high = low.saturating_add(length);
        let extent = Extent { step, low, high };
        self.extents.insert(number, extent);
        extent
    }

    /// The datatype of a number is another one from now on.
    pub fn forget_datatype(&mut self, number: i64) {
        self.extents.remove(&number);
    }

    /// A communicator was made by a function, out of another one.
    pub fn made_comm(&mut self, number: i64, function: &str, of: Option<i64>) {
        self.members.remove(&number);
        let topology = if function.starts_with("MPI_Cart") {
            Topology::Cart
        } else if function.starts_with("MPI_Graph") {
            Topology::Graph
        } else if function.starts_with("MPI_Dist_graph") {
            Topology::DistGraph
        } else if function.contains("dup") {
            let known = of.and_then(|of| self.topologies.get(&of));
            known.copied().unwrap_or(Topology::None)
        } else {
            Topology::None
        };
        self.topologies.insert(number, topology);
    }

    /// Lengths that depend on a communicator.
    pub fn members(&mut self, mpi: &Mpi, number: i64, handle: u64) -> Members {
        if let Some(known) = self.members.get(&number) {
            return *known;
        }
        let topology = self.topologies.get(&number);
        let found = ask(mpi, handle, topology.copied().unwrap_or(Topology::None));
        self.members.insert(number, found);
        found
    }
}

fn ask(mpi: &Mpi, comm: u64, topology: Topology) -> Members {
    let number = |name| mpi.number(name, comm).unwrap_or(0);
    let own = number("MPI_Comm_size");
    let all = match number("MPI_Comm_test_inter") {
        0 => own,
        _ => number("MPI_Comm_remote_size"),
    };
    let (mut into, mut out, mut weighted) = ([0i32; 2], [0i32; 2], [0i32; 2]);
    let count = |n: [i32; 2]| n.first().map_or(0, |n| u32::try_from(*n).unwrap_or(0));
    let (sources, destinations) = match topology {
        Topology::None => (0, 0),
        Topology::Cart => {
            let both = 2 * number("MPI_Cartdim_get");
            (both, both)
        }
        Topology::Graph => {
            let rank = u64::from(number("MPI_Comm_rank"));
            mpi.ask(
                "MPI_Graph_neighbors_count",
                &[comm, rank, address(&mut into)],
            );
            (count(into), count(into))
        }
        Topology::DistGraph => {
            let places = [
                address(&mut into),
                address(&mut out),
                address(&mut weighted),
            ];
            let [a, b, c] = places;
            mpi.ask("MPI_Dist_graph_neighbors_count", &[comm, a, b, c]);
            (count(into), count(out))
        }
    };
    Members {
        own,
        all,
        sources,
        destinations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_elements() {
        let double = Extent {
            step: 8,
            low: 0,
            high: 8,
        };
        let mut range = Range::default();
        range.add(0, 0, double);
        assert_eq!(range.bytes(), 0);
        range.add(16, 3, double);
        assert_eq!(range, Range { low: 0, high: 40 });
        // Elements that go backward.
        let backward = Extent {
            step: -8,
            low: -4,
            high: 4,
        };
        range.add(0, 3, backward);
        assert_eq!(range, Range { low: -20, high: 40 });
    }
}
