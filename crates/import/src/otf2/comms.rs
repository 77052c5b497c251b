//! Communicators and windows of an archive as those of the import.

use super::Archive;
use super::definitions::{Comm, group};
use crate::comms::{Comms, Members};
use rustc_hash::FxHashMap;

/// Numbers of windows, which distinguish them from communicators.
const WINDOW: u64 = 1 << 32;

impl Archive {
    /// The world ranks in a group.
    fn members(&self, id: u32) -> Members {
        let Some(of) = self.definitions.groups.get(&id) else {
            return Members::Ranks(Vec::new());
        };
        let rank = |m: &u64| u32::try_from(*m).unwrap_or(u32::MAX);
        match of.kind {
            group::COMM_SELF => Members::Own,
            group::COMM_GROUP => Members::Ranks(of.members.iter().map(rank).collect()),
            group::COMM_LOCATIONS => Members::Ranks((0..of.members.len() as u32).collect()),
            _ => Members::Ranks(Vec::new()),
        }
    }

    /// All communicators. The first one of all ranks in their order is the world.
    pub(super) fn comms(&self) -> (Comms, FxHashMap<u32, u16>) {
        let ranks = self.ranks.len() as u32;
        let mut comms = Comms::new(ranks);
        let mut numbers = FxHashMap::default();
        let mut world = None;
        let all = Members::Ranks((0..ranks).collect());
        for (id, Comm { group, other }) in &self.definitions.comms {
            let members = match (self.members(*group), other.map(|o| self.members(o))) {
                (Members::Ranks(a), Some(Members::Ranks(b))) => Members::Two(a, b),
                (own, _) => own,
            };
            let number = if members == all && *world.get_or_insert(*id) == *id {
                0
            } else {
                comms.add(u64::from(*id), members)
            };
            numbers.insert(*id, number);
        }
        (comms, numbers)
    }

    /// Windows: each is a communicator of its own, as in a recorded run.
    pub(super) fn windows(&self, comms: &mut Comms) -> FxHashMap<u32, u16> {
        let mut windows: Vec<(u32, u32)> = self
            .definitions
            .windows
            .iter()
            .map(|(w, c)| (*w, *c))
            .collect();
        windows.sort_unstable();
        let mut numbers = FxHashMap::default();
        for (id, comm) in windows {
            let of = self.definitions.comms.iter().find(|(c, _)| *c == comm);
            let members = of.map_or(Members::Ranks(Vec::new()), |(_, c)| self.members(c.group));
            numbers.insert(id, comms.add(WINDOW | u64::from(id), members));
        }
        numbers
    }
}
