//! Collectives, also those among neighbours of a topology.

use super::{Act, Acts, BETWEEN, Caller};
use crate::notes::Note;
use headwater_mpi_abi::constants::ROOT;
use headwater_mpi_abi::{Class, Kind};
use headwater_simulate as simulate;
use smallvec::smallvec;

impl Caller<'_> {
    pub(super) fn collective(&mut self) {
        let class = self.shape.class;
        let by_object = matches!(class, Class::WinFree | Class::FileAll | Class::FileClose)
            || self.shape.comm.is_none();
        let comm = match by_object {
            true => self.rank.handles.comm_of(self.shape, self.values),
            false => self.comm(),
        };
        let Some(comm) = comm else {
            return self.posted(Acts::new());
        };
        let apart = self.shape.name.ends_with("_group");
        if class == Class::CommCreate && apart {
            let made = self.value(self.shape.at(Kind::NewComm));
            if let Some(made) = self.rank.comm(made).filter(|_| made >= 0) {
                self.barrier(made);
            }
            return;
        }
        if class == Class::Neighbour && self.neighbours(comm) {
            return;
        }
        if matches!(class, Class::OneToAll | Class::AllToOne)
            && self.recorded.survey.comms.is_between(comm)
        {
            return self.between_groups(comm);
        }
        let ends = self.shape.name.ends_with("_end") && class == Class::FileAll;
        if ends {
            return;
        }
        let (kind, bytes) = self.kind();
        let root = match matches!(class, Class::OneToAll | Class::AllToOne) {
            true => {
                let root = self.value(self.shape.at(Kind::Root));
                match self.peer(comm, root) {
                    Some(root) => root,
                    None => return self.posted(Acts::new()),
                }
            }
            false => 0,
        };
        self.posted(smallvec![Act::Collective {
            comm,
            kind,
            root,
            bytes,
        }]);
    }

    /// A collective between the root in one group and all members of the other, as messages. The rest of the root's
    /// group has no part in it.
    fn between_groups(&mut self, comm: u32) {
        let root = self.value(self.shape.at(Kind::Root));
        let (_, bytes) = self.kind();
        let tag = BETWEEN;
        let mode = simulate::Mode::Eager;
        let send = |to| Act::Send {
            to,
            tag,
            comm,
            bytes,
            mode,
        };
        let recv = |from| Act::Recv { from, tag, comm };
        let from_root = self.shape.class == Class::OneToAll;
        let others: Vec<u32> = match root {
            ROOT => {
                let others = self.recorded.survey.comms.others(comm).iter();
                others.copied().flatten().collect()
            }
            root => self.peer(comm, root).into_iter().collect(),
        };
        let sends = from_root == (root == ROOT);
        let acts = others.into_iter();
        self.posted(match sends {
            true => acts.map(send).collect(),
            false => acts.map(recv).collect(),
        });
    }

    /// What a collective does, and the length of its data.
    fn kind(&mut self) -> (simulate::Kind, u64) {
        use simulate::Kind;
        let name = self.shape.name.to_ascii_lowercase();
        let of = |what: &str| name.contains(what);
        let members = self.value(self.shape.comm);
        let place = self.recorded.trace.place(members, self.rank.rank);
        let others = || {
            let comm = self.rank.comm(members);
            comm.map_or(1, |c| self.recorded.survey.comms.others(c).len() as i64)
        };
        let members = place.map_or_else(others, |p| p.size).max(1) as u64;
        let has_list = self.shape.at(headwater_mpi_abi::Kind::Counts).is_some();
        match self.shape.class {
            Class::NToN if of("reduce_scatter") => {
                let all = self.bytes(0);
                let all = if has_list {
                    all
                } else {
                    all.saturating_mul(members)
                };
                (Kind::ReduceScatter, all)
            }
            Class::NToN if of("allreduce") => (Kind::AllReduce, self.bytes(0)),
            Class::NToN if of("allgather") => {
                let in_place = self.value(self.shape.counts[0]) < 0;
                let all = self.own_bytes();
                (
                    Kind::AllGather,
                    if in_place && has_list {
                        all / members
                    } else {
                        all
                    },
                )
            }
            Class::NToN => {
                let all = self.own_bytes();
                (Kind::AllToAll, if has_list { all / members } else { all })
            }
            Class::Neighbour => (Kind::AllToAll, self.own_bytes()),
            Class::OneToAll if of("bcast") => (Kind::Broadcast, self.bytes(0)),
            Class::OneToAll => {
                let at_root = self.value(self.shape.counts[0]) >= 0;
                let all = self.own_bytes();
                (
                    Kind::Scatter,
                    if at_root && has_list {
                        all / members
                    } else {
                        all
                    },
                )
            }
            Class::AllToOne if of("reduce") => (Kind::Reduce, self.bytes(0)),
            Class::AllToOne => (Kind::Gather, self.bytes(0)),
            Class::Scan => (Kind::Scan, self.bytes(0)),
            _ => (Kind::Barrier, 0),
        }
    }

    /// Messages to and from the neighbours; `false` if they are not known.
    fn neighbours(&mut self, comm: u32) -> bool {
        let Some(all) = self.rank.neighbours.get(&comm).cloned() else {
            self.notes.add(Note::UnknownNeighbours);
            return false;
        };
        let counts = self.recorded.lists.get(self.value(self.shape.counts[0]));
        let counts = counts.filter(|_| self.shape.at(Kind::Counts) == self.shape.counts[0]);
        let sum = self.own_bytes();
        let total: i64 = counts.map_or(0, |c| c.iter().sum());
        let mut acts = Acts::new();
        for (from, tag) in all.sources {
            let from = from.and_then(|from| self.peer(comm, from));
            acts.extend(from.map(|from| Act::Recv { from, tag, comm }));
        }
        for (i, (to, tag)) in all.destinations.into_iter().enumerate() {
            let bytes = match counts {
                Some(counts) => {
                    let own = counts.get(i).copied().unwrap_or(0).max(0) as u64;
                    (u128::from(sum) * u128::from(own) / total.max(1) as u128) as u64
                }
                None => sum,
            };
            let to = to.and_then(|to| self.peer(comm, to));
            acts.extend(to.map(|to| Act::Send {
                to,
                tag,
                comm,
                bytes,
                mode: simulate::Mode::Eager,
            }));
        }
        self.posted(acts);
        true
    }
}
