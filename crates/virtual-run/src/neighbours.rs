//! Messages between the neighbours of a topology.

use crate::comms::{Comms, Grid};

/// Tags of such messages are beyond those of programs.
const TAGS: i32 = 1 << 30;

/// The neighbours of a rank in a communicator, as its own ranks: `None` beyond an edge. With the tags by which the
/// messages of both ends are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    pub destinations: Vec<(Option<i64>, i32)>,
    pub sources: Vec<(Option<i64>, i32)>,
}

impl Neighbours {
    /// Of a rank of a grid: in each dimension the one before, then the one behind.
    pub fn in_grid(grid: &Grid, me: i64) -> Self {
        let mut all = Self::default();
        for dim in 0..grid.dims.len() {
            let tag = TAGS + 2 * dim as i32;
            let [down, up] = [-1, 1].map(|by| grid.neighbour(me, dim, by));
            all.destinations.extend([(down, tag), (up, tag + 1)]);
            // What comes from below was sent upward.
            all.sources.extend([(down, tag + 1), (up, tag)]);
        }
        all
    }

    /// Those that a rank named itself.
    pub fn named(sources: &[i64], destinations: &[i64]) -> Self {
        let all = |ranks: &[i64]| ranks.iter().map(|r| (Some(*r), TAGS)).collect();
        Self {
            destinations: all(destinations),
            sources: all(sources),
        }
    }

    /// Those of a member of a communicator that has a grid.
    pub fn of_grid(comms: &Comms, id: u32, me: i64) -> Option<Self> {
        Some(Self::in_grid(comms.grid(id)?, me))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_sends_its_neighbour_receives() {
        let grid = Grid {
            dims: vec![2, 3],
            periodic: vec![true, false],
        };
        assert_eq!(grid.coordinates(4), [1, 1]);
        for me in 0..6 {
            let own = Neighbours::in_grid(&grid, me);
            for (to, tag) in &own.destinations {
                let Some(to) = to else { continue };
                let theirs = Neighbours::in_grid(&grid, *to);
                let ends = theirs.sources.iter().filter(|s| **s == (Some(me), *tag));
                assert_eq!(ends.count(), 1, "{me} to {to}");
            }
        }
        assert_eq!(Neighbours::in_grid(&grid, 0).destinations[2].0, None);
    }
}
