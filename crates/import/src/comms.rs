//! Communicators of a trace: their members, and the number by which all ranks know each.

use crate::links::{collectives, mix2};
use headwater_format::spool::layout::CommRow;

/// The world, as recorded runs know it.
pub const WORLD: u64 = 1;

/// Members of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Members {
    /// Whoever asks, alone.
    #[default]
    Own,
    /// These world ranks.
    Ranks(Vec<u32>),
    /// Two groups, each of which speaks to the other.
    Two(Vec<u32>, Vec<u32>),
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comm {
    /// Same on all ranks.
    pub hash: u64,
    members: Members,
}

/// All communicators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comms {
    all: Vec<Comm>,
}

impl Comms {
    /// No communicator but the world of so many ranks, which is number 0.
    pub fn new(ranks: u32) -> Self {
        let world = Comm {
            hash: WORLD,
            members: Members::Ranks((0..ranks).collect()),
        };
        Self { all: vec![world] }
    }

    /// Adds a communicator; `name` distinguishes it from others.
    pub fn add(&mut self, name: u64, members: Members) -> u16 {
        // 1 is the world.
        let hash = mix2(0x636f_6d6d, name) | 2;
        self.all.push(Comm { hash, members });
        u16::try_from(self.all.len() - 1).unwrap_or(u16::MAX)
    }

    /// The communicator behind an index.
    pub fn get(&self, comm: u16) -> Option<&Comm> {
        self.all.get(usize::from(comm))
    }

    /// Rows for the run.
    pub fn rows(&self) -> Vec<CommRow> {
        let row = |c: &Comm| CommRow {
            hash: c.hash,
            size: match &c.members {
                Members::Own => 1,
                Members::Ranks(all) => all.len() as u64,
                Members::Two(a, b) => (a.len() + b.len()) as u64,
            },
        };
        // More than rows can point to are of no use.
        self.all
            .iter()
            .take(usize::from(u16::MAX))
            .map(row)
            .collect()
    }
}

impl Comm {
    /// The stream of the collectives that world rank `me` takes part in. Ranks that are each alone in a communicator
    /// share its hash, and never meet there.
    pub fn collectives(&self, me: u32) -> u64 {
        match &self.members {
            Members::Own => mix2(collectives(self.hash), u64::from(me)),
            _ => collectives(self.hash),
        }
    }

    /// The rank of world rank `me` in it.
    pub fn rank(&self, me: u32) -> Option<u32> {
        let in_list = |all: &Vec<u32>| all.iter().position(|r| *r == me).map(|p| p as u32);
        match &self.members {
            Members::Own => Some(0),
            Members::Ranks(all) => in_list(all),
            Members::Two(a, b) => in_list(a).or_else(|| in_list(b)),
        }
    }

    /// To how many ranks `me` speaks in it: all, or those of the other group.
    pub fn partners(&self, me: u32) -> u64 {
        let n = match &self.members {
            Members::Own => 1,
            Members::Ranks(all) => all.len(),
            Members::Two(a, b) if a.contains(&me) => b.len(),
            Members::Two(a, _) => a.len(),
        };
        n as u64
    }

    /// The world rank of rank `rank` in it, as `me` sees it.
    pub fn world(&self, me: u32, rank: u32) -> Option<u32> {
        let place = rank as usize;
        match &self.members {
            Members::Own => (rank == 0).then_some(me),
            Members::Ranks(all) => all.get(place).copied(),
            Members::Two(a, b) if a.contains(&me) => b.get(place).copied(),
            Members::Two(a, _) => a.get(place).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_communicator_are_those_of_the_world() {
        let mut comms = Comms::new(4);
        let odd = comms.add(7, Members::Ranks(vec![3, 1]));
        let own = comms.add(8, Members::Own);
        let two = comms.add(9, Members::Two(vec![0, 1], vec![2, 3]));
        let world = |comm: u16, me, rank| comms.get(comm).and_then(|c| c.world(me, rank));
        assert_eq!((world(0, 2, 3), world(0, 2, 4)), (Some(3), None));
        assert_eq!((world(odd, 1, 0), world(odd, 1, 2)), (Some(3), None));
        assert_eq!((world(own, 2, 0), world(own, 2, 1)), (Some(2), None));
        assert_eq!((world(two, 0, 1), world(two, 3, 1)), (Some(3), Some(1)));
        let sizes: Vec<u64> = comms.rows().iter().map(|r| r.size).collect();
        assert_eq!(sizes, [4, 2, 1, 4]);
    }
}
