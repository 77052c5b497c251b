//! What a rank has at the moment, while its events are read in order.

use crate::comms::{Between, Comms, Grid, Origin, Part};
use crate::handles::{Handles, Lists};
use crate::neighbours::Neighbours;
use crate::shape::{Shape, value};
use headwater_mpi_abi::{Class, FIRST_MADE_COMM, Kind};
use headwater_trace::trace::Trace;
use rustc_hash::FxHashMap;

/// A rank.
#[derive(Clone, Debug, Default)]
pub struct Rank {
    pub rank: u32,
    pub handles: Handles,
    /// Identities of its communicators, by number.
    pub comms: FxHashMap<i64, u32>,
    pub neighbours: FxHashMap<u32, Neighbours>,
    /// How many communicators each one was the parent of, by part if only a part called.
    children: FxHashMap<(u32, Vec<u32>), u32>,
    /// How many intercommunicators it has made as leader, by the other leader and tag.
    led: FxHashMap<(u32, i64), u32>,
}

impl Rank {
    pub fn new(rank: u32) -> Self {
        Self {
            rank,
            ..Self::default()
        }
    }

    /// The communicator with a number.
    #[inline]
    pub fn comm(&self, number: i64) -> Option<u32> {
        match number {
            0 => Some(crate::comms::WORLD),
            _ => self.comms.get(&number).copied(),
        }
    }

    /// Its own rank in a communicator.
    pub fn me(&self, trace: &Trace, number: i64) -> Option<i64> {
        trace.place(number, self.rank).map(|p| p.me)
    }

    /// A call has made or given up handles. `number_comms` in the first pass only.
    pub fn observe(
        &mut self,
        trace: &Trace,
        lists: &Lists,
        comms: &mut dyn Known,
        shape: &Shape,
        values: &[i64],
    ) {
        match shape.class {
            Class::CommCreate => self.made_comm(trace, lists, comms, shape, values),
            Class::WinCreate => {
                if let Some(id) = self.comm(value(values, shape.comm)) {
                    let number = value(values, shape.at(Kind::NewWindow));
                    self.handles.windows.insert(number, id);
                }
            }
            Class::FileOpen => {
                if let Some(id) = self.comm(value(values, shape.comm)) {
                    let number = value(values, shape.at(Kind::NewFile));
                    self.handles.files.insert(number, id);
                }
            }
            _ if shape.makes_type => {
                self.handles.made_type(lists, shape, values);
            }
            _ if shape.makes_group => {
                let numbers = &self.comms;
                let of_comm = |number: i64| {
                    let id = match number {
                        0 => 0,
                        n if n <= -100 => u32::try_from(-100 - n).ok()?,
                        n => *numbers.get(&n)?,
                    };
                    comms.known().list(id)
                };
                self.handles.made_group(lists, shape, values, of_comm);
            }
            _ => {}
        }
    }

    fn made_comm(
        &mut self,
        trace: &Trace,
        lists: &Lists,
        comms: &mut dyn Known,
        shape: &Shape,
        values: &[i64],
    ) {
        let number = value(values, shape.at(Kind::NewComm));
        // Both groups merge, and each has a number of its own.
        let merges = shape.name == "MPI_Intercomm_merge";
        let parent = self
            .comm(value(values, shape.comm))
            .filter(|_| shape.comm.is_some() && !merges);
        let group = self
            .handles
            .groups
            .get(&value(values, shape.at(Kind::Group)));
        let apart = shape
            .name
            .contains("_group")
            .then(|| group.cloned())
            .flatten();
        let key = (
            parent.unwrap_or(u32::MAX),
            apart.clone().unwrap_or_default(),
        );
        let count = self.children.entry(key).or_default();
        let nth = *count;
        *count += 1;
        if let Some(parent) = parent
            && number >= FIRST_MADE_COMM
            && (shape.name == "MPI_Intercomm_create" || comms.known().is_between(parent))
        {
            return self.made_between(trace, comms, shape, values, (parent, nth));
        }
        let place = trace.place(number, self.rank);
        let (Some(place), true) = (place, number >= FIRST_MADE_COMM) else {
            return;
        };
        if self.comms.contains_key(&number) {
            self.has_topology(lists, comms, shape, values, place.me);
            return;
        }
        let grid = parent.and_then(|id| comms.known().grid(id).cloned());
        let mut own_grid = None;
        let part = match shape.name {
            "MPI_Comm_split" => Part::These(vec![value(values, shape.at(Kind::Color))]),
            "MPI_Cart_sub" => {
                let remain = lists.get(value(values, shape.at(Kind::Flags)));
                let me = parent.and_then(|_| self.me(trace, value(values, shape.comm)));
                match (&grid, remain, me) {
                    (Some(grid), Some(remain), Some(me)) => {
                        let kept = |d: usize| remain.get(d).is_some_and(|r| *r != 0);
                        let at = grid.coordinates(me);
                        let lost = (0..at.len()).filter(|d| !kept(*d));
                        let these = lost.filter_map(|d| at.get(d).copied()).collect();
                        let dims = (0..at.len()).filter(|d| kept(*d));
                        own_grid = Some(Grid {
                            dims: dims
                                .clone()
                                .filter_map(|d| grid.dims.get(d).copied())
                                .collect(),
                            periodic: dims.filter_map(|d| grid.periodic.get(d).copied()).collect(),
                        });
                        Part::These(these)
                    }
                    _ => Part::Numbered(number, place.size),
                }
            }
            "MPI_Comm_create" => match group {
                Some(group) => Part::Group(group.clone()),
                None => Part::Numbered(number, place.size),
            },
            "MPI_Comm_create_group" | "MPI_Comm_create_from_group" => match apart {
                Some(group) => Part::Group(group),
                None => Part::Numbered(number, place.size),
            },
            "MPI_Comm_split_type" | "MPI_Intercomm_merge" => Part::Numbered(number, place.size),
            _ => Part::All,
        };
        let part = match (part, place.size) {
            (_, 1) => Part::Own(self.rank),
            (part, _) => part,
        };
        let part = match parent {
            Some(_) => part,
            None if matches!(part, Part::All) => Part::Numbered(number, place.size),
            None => part,
        };
        let origin = Origin {
            parent: parent.unwrap_or(u32::MAX),
            nth,
            part,
        };
        let Some(id) = comms.join(origin, self.rank, place.me, place.size) else {
            return;
        };
        self.comms.insert(number, id);
        // A copy has the topology of its original.
        if let Some(grid) = own_grid.or(grid.filter(|_| shape.name.contains("dup"))) {
            comms.set_grid(id, grid);
        }
        self.has_topology(lists, comms, shape, values, place.me);
    }

    /// An intercommunicator was made of the group of `parent`, as its how manieth.
    fn made_between(
        &mut self,
        trace: &Trace,
        comms: &mut dyn Known,
        shape: &Shape,
        values: &[i64],
        (parent, nth): (u32, u32),
    ) {
        let named = |name| value(values, shape.named(name));
        let number = value(values, shape.at(Kind::NewComm));
        let origin = Origin {
            parent,
            nth,
            part: Part::All,
        };
        let is_new = shape.name == "MPI_Intercomm_create";
        let place = match is_new {
            true => trace.place(named("local_comm"), self.rank),
            // Parts of intercommunicators are not known.
            false if shape.name.contains("dup") => {
                let own = comms.known().own(parent, self.rank);
                own.map(|(me, size)| headwater_trace::elastic::Place { me, size })
            }
            false => None,
        };
        let Some(place) = place else { return };
        let between = match is_new {
            true if place.me == named("local_leader") => {
                let peer = self.comm(named("peer_comm"));
                let other = peer.and_then(|peer| comms.known().rank(peer, named("remote_leader")));
                let tag = named("tag");
                other.map_or(Between::Unknown, |other| {
                    let nth = self.led.entry((other, tag)).or_default();
                    *nth += 1;
                    Between::Leaders([self.rank, other], tag, *nth)
                })
            }
            true => Between::Unknown,
            false => Between::Copy(origin.clone()),
        };
        if let Some(id) = comms.join(origin, self.rank, place.me, place.size) {
            self.comms.insert(number, id);
            comms.set_between(id, between);
        }
    }

    fn has_topology(
        &mut self,
        lists: &Lists,
        comms: &mut dyn Known,
        shape: &Shape,
        values: &[i64],
        me: i64,
    ) {
        let Some(id) = self.comm(value(values, shape.at(Kind::NewComm))) else {
            return;
        };
        let named = |name| lists.get(value(values, shape.named(name)));
        if shape.name == "MPI_Cart_create"
            && let (Some(dims), Some(periodic)) = (named("dims"), named("periods"))
        {
            comms.set_grid(
                id,
                Grid {
                    dims: dims.to_vec(),
                    periodic: periodic.iter().map(|p| *p != 0).collect(),
                },
            );
        }
        if shape.name == "MPI_Dist_graph_create_adjacent"
            && let (Some(from), Some(to)) = (named("sources"), named("destinations"))
        {
            self.neighbours.insert(id, Neighbours::named(from, to));
        } else if let Some(all) = Neighbours::of_grid(comms.known(), id, me) {
            self.neighbours.insert(id, all);
        }
    }
}

/// Communicators: in the first pass they become known, later they are.
pub trait Known {
    fn known(&self) -> &Comms;
    fn join(&mut self, origin: Origin, rank: u32, me: i64, size: i64) -> Option<u32>;
    fn set_grid(&mut self, id: u32, grid: Grid);
    fn set_between(&mut self, id: u32, between: Between);
}

impl Known for Comms {
    fn known(&self) -> &Comms {
        self
    }

    fn join(&mut self, origin: Origin, rank: u32, me: i64, size: i64) -> Option<u32> {
        Some(Comms::join(self, origin, rank, me, size))
    }

    fn set_grid(&mut self, id: u32, grid: Grid) {
        Comms::set_grid(self, id, grid);
    }

    fn set_between(&mut self, id: u32, between: Between) {
        Comms::set_between(self, id, between);
    }
}

/// All are known.
impl Known for &Comms {
    fn known(&self) -> &Comms {
        self
    }

    fn join(&mut self, _: Origin, _: u32, _: i64, _: i64) -> Option<u32> {
        None
    }

    fn set_grid(&mut self, _: u32, _: Grid) {}

    fn set_between(&mut self, _: u32, _: Between) {}
}
