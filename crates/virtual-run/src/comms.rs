//! Which ranks a communicator has.
//!
//! Each rank numbers its own communicators, so one communicator may have different numbers, and one number may mean
//! different communicators. What identifies one is how it was made: from which communicator, as the how manieth there,
//! and for which part of the members: a colour, or the coordinates that a part of a grid has in common.
//!
//! An intercommunicator is two of them, one for each group, which are joined when all events are known. Only the leaders
//! say with whom ([`Between`]).

use headwater_simulate::Members;
use rustc_hash::FxHashMap;

/// The world.
pub const WORLD: u32 = 0;

/// Which part of the members of the parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All.
    All,
    /// Those with this colour, or with these coordinates.
    These(Vec<i64>),
    /// Those of a group, whose calls are counted apart.
    Group(Vec<u32>),
    /// Only the rank itself.
    Own(u32),
    /// Nobody knows: those with this number and so many members.
    Numbered(i64, i64),
}

/// How a communicator was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    pub parent: u32,
    pub nth: u32,
    pub part: Part,
}

#[derive(Clone, Debug, Default)]
struct Comm {
    /// By its own ranks; `None` for those that are not known.
    members: Vec<Option<u32>>,
    /// Whether two ranks have one place.
    broken: bool,
    /// Dimensions of a grid, and which are periodic.
    grid: Option<Grid>,
    /// What is known of the other group, if this is a group of an intercommunicator.
    between: Option<Between>,
    /// The other group.
    other: Option<u32>,
}

/// How to find the other group of an intercommunicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Between {
    /// Nothing is known yet.
    Unknown,
    /// It was made by these leaders with this tag, as their how manieth: first the leader of this group.
    Leaders([u32; 2], i64, u32),
    /// It is a copy.
    Copy(Origin),
}

/// The grid of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    pub dims: Vec<i64>,
    pub periodic: Vec<bool>,
}

impl Grid {
    /// Coordinates of a rank.
    pub fn coordinates(&self, rank: i64) -> Vec<i64> {
        let mut left = rank;
        let mut all: Vec<i64> = self
            .dims
            .iter()
            .rev()
            .map(|n| {
                let n = (*n).max(1);
                let own = left % n;
                left /= n;
                own
            })
            .collect();
        all.reverse();
        all
    }

    /// The rank that is `by` further in a dimension; `None` beyond the edge.
    pub fn neighbour(&self, rank: i64, dim: usize, by: i64) -> Option<i64> {
        let mut at = self.coordinates(rank);
        let n = (*self.dims.get(dim)?).max(1);
        let place = at.get_mut(dim)?;
        *place += by;
        if !(0..n).contains(place) {
            if !self.periodic.get(dim).copied().unwrap_or(false) {
                return None;
            }
            *place = place.rem_euclid(n);
        }
        let each = at.iter().zip(&self.dims);
        Some(each.fold(0, |rank, (c, n)| rank * n.max(&1) + c))
    }
}

/// All communicators of a run.
#[derive(Clone, Debug, Default)]
pub struct Comms {
    all: Vec<Comm>,
    by_origin: FxHashMap<Origin, u32>,
    /// Whether some are intercommunicators.
    groups: bool,
}

impl Comms {
    /// The world of the ranks that are in the trace.
    pub fn new(size: u32, present: impl Fn(u32) -> bool) -> Self {
        let members = (0..size).map(|rank| present(rank).then_some(rank));
        let world = Comm {
            members: members.collect(),
            ..Comm::default()
        };
        Self {
            all: vec![world],
            by_origin: FxHashMap::default(),
            groups: false,
        }
    }

    /// `rank` is member `me` of `size` of the communicator that was made so.
    pub fn join(&mut self, origin: Origin, rank: u32, me: i64, size: i64) -> u32 {
        let id = *self.by_origin.entry(origin).or_insert_with(|| {
            self.all.push(Comm::default());
            self.all.len() as u32 - 1
        });
        let world = self.all.first().map_or(0, |w| w.members.len());
        if let Some(comm) = self.all.get_mut(id as usize) {
            let size = usize::try_from(size).unwrap_or(0).min(world);
            if comm.members.len() < size {
                comm.members.resize(size, None);
            }
            match usize::try_from(me)
                .ok()
                .and_then(|me| comm.members.get_mut(me))
            {
                Some(place @ None) => *place = Some(rank),
                Some(Some(known)) if *known == rank => {}
                _ => comm.broken = true,
            }
        }
        id
    }

    /// What is known of the other group of an intercommunicator.
    pub fn set_between(&mut self, id: u32, between: Between) {
        if let Some(comm) = self.all.get_mut(id as usize)
            && (between != Between::Unknown || comm.between.is_none())
        {
            comm.between = Some(between);
        }
    }

    /// Whether there are intercommunicators.
    #[inline]
    pub fn has_groups(&self) -> bool {
        self.groups
    }

    /// Whether it is a group of an intercommunicator.
    pub fn is_between(&self, id: u32) -> bool {
        let comm = self.all.get(id as usize);
        comm.is_some_and(|c| c.between.is_some())
    }

    /// Joins the groups of intercommunicators: all events are known.
    pub fn join_groups(&mut self) {
        let between = |(id, comm): (u32, &Comm)| Some((comm.between.clone()?, id));
        let all: Vec<(Between, u32)> = (0..).zip(&self.all).filter_map(between).collect();
        let by_leaders: FxHashMap<&Between, u32> = all.iter().map(|(b, id)| (b, *id)).collect();
        self.groups = !all.is_empty();
        // Originals are before their copies.
        for (between, id) in &all {
            let other = match between {
                Between::Unknown => None,
                Between::Leaders([own, theirs], tag, nth) => {
                    let other = Between::Leaders([*theirs, *own], *tag, *nth);
                    by_leaders.get(&other).copied()
                }
                Between::Copy(origin) => {
                    let original = self.all.get(origin.parent as usize);
                    original.and_then(|c| c.other).and_then(|parent| {
                        let origin = Origin {
                            parent,
                            ..origin.clone()
                        };
                        self.by_origin.get(&origin).copied()
                    })
                }
            };
            if let Some(comm) = self.all.get_mut(*id as usize) {
                comm.other = other;
            }
        }
    }

    /// The groups of an intercommunicator: the one of this number and the other. `None` of other communicators.
    fn groups(&self, id: u32) -> Option<(&Comm, &Comm)> {
        let own = self.all.get(id as usize)?;
        Some((own, self.all.get(own.other? as usize)?))
    }

    /// The place of a rank in its own group, and the size of the group.
    pub fn own(&self, id: u32, rank: u32) -> Option<(i64, i64)> {
        let members = &self.all.get(id as usize)?.members;
        let me = members.iter().position(|m| *m == Some(rank))?;
        Some((i64::try_from(me).ok()?, i64::try_from(members.len()).ok()?))
    }

    /// Members of the other group, by their own ranks.
    pub fn others(&self, id: u32) -> &[Option<u32>] {
        self.groups(id).map_or(&[], |(_, other)| &other.members)
    }

    /// What both groups of an intercommunicator call it; of another communicator, its number.
    #[inline]
    pub fn whole(&self, id: u32) -> u32 {
        let other = self.all.get(id as usize).and_then(|c| c.other);
        other.map_or(id, |other| other.min(id))
    }

    pub fn set_grid(&mut self, id: u32, grid: Grid) {
        if let Some(comm) = self.all.get_mut(id as usize) {
            comm.grid = Some(grid);
        }
    }

    pub fn grid(&self, id: u32) -> Option<&Grid> {
        self.all.get(id as usize)?.grid.as_ref()
    }

    /// The rank in the program of a member that a call names: of two groups, one of the other.
    #[inline]
    pub fn rank(&self, id: u32, member: i64) -> Option<u32> {
        let mut comm = self.all.get(id as usize).filter(|c| !c.broken)?;
        if comm.between.is_some() {
            comm = self.all.get(comm.other? as usize).filter(|c| !c.broken)?;
        }
        comm.members.get(usize::try_from(member).ok()?).copied()?
    }

    /// The members that are in the trace; `None` if they are not known.
    pub fn members(&self, id: u32) -> Option<Members> {
        let comm = self.all.get(id as usize).filter(|c| !c.broken)?;
        if id == WORLD && comm.members.iter().all(Option::is_some) {
            return Some(Members::All);
        }
        let others = self.others(id);
        let all: Vec<u32> = comm
            .members
            .iter()
            .chain(others)
            .copied()
            .flatten()
            .collect();
        Some(Members::List(all.into()))
    }

    /// All members by their own ranks; `None` if one is not known.
    pub fn list(&self, id: u32) -> Option<Vec<u32>> {
        let comm = self.all.get(id as usize).filter(|c| !c.broken)?;
        comm.members.iter().copied().collect()
    }

    /// Whether collectives of a communicator are known to have all of its members.
    pub fn is_known(&self, id: u32) -> bool {
        let known = |c: &Comm| !c.broken;
        match self.groups(id) {
            Some((own, other)) => known(own) && known(other),
            None => {
                let comm = self.all.get(id as usize);
                comm.is_some_and(|c| known(c) && c.between.is_none())
            }
        }
    }
}
