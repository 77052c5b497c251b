//! Collectives that not all members have called yet.
//!
//! Calls of a member in a communicator are numbered, and those with equal numbers are one collective. An instance lives
//! from the first arrival to the last.

use super::requests::Target;
use crate::op::Kind;
use crate::outcome::Cause;
use crate::program::Members;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The arrival of a member, with what its data still need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When it arrived.
    pub since: f64,
    /// When it is where it is needed.
    pub ready: f64,
    /// The member's index; of equal arrivals the smaller one counts.
    pub index: u32,
    pub cause: Cause,
    /// The way to `since`.
    pub path: u32,
}

impl Arrival {
    /// Whether this one decides, rather than the other.
    pub fn is_after(&self, other: &Self) -> bool {
        self.ready > other.ready || (self.ready == other.ready && self.index < other.index)
    }
}

/// A member that waits in an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub target: Target,
    pub index: u32,
    pub bytes: u64,
}

/// A member of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub arrival: Option<Arrival>,
    pub waiting: Option<Waiting>,
}

/// A collective that some members have called.
#[derive(Debug, Default)]
pub(super) struct Instance {
    /// What it is and its root's index, by the first that arrived.
    pub what: Option<(Kind, u32)>,
    pub arrived: u32,
    /// The longest data.
    pub bytes: u64,
    /// The arrival that decides so far.
    pub last: Option<Arrival>,
    /// Who waits.
    pub waiting: Vec<Waiting>,
    /// Streams that went on and are ahead of the others.
    pub ahead: Vec<u32>,
    /// Scans: by index.
    pub cells: Vec<Cell>,
    /// Scans: before this index, all have arrived.
    pub prefix: u32,
}

impl Instance {
    fn clear(&mut self) {
        self.what = None;
        (self.arrived, self.bytes, self.prefix) = (0, 0, 0);
        self.last = None;
        self.waiting.clear();
        self.ahead.clear();
        self.cells.clear();
    }
}

#[derive(Debug)]
enum Index {
    Range { first: u32, stride: u32 },
    List(FxHashMap<u32, u32>),
}

/// A communicator with its outstanding collectives.
#[derive(Debug)]
pub(super) struct Comm {
    pub count: u32,
    index: Index,
    /// By member: the number of its next collective.
    next: Vec<u64>,
    /// The number of the first outstanding instance.
    base: u64,
    /// Where they are in the pool.
    instances: VecDeque<u32>,
}

/// Instances of all communicators; those that are over are used again.
#[derive(Debug, Default)]
pub(super) struct Pool {
    all: Vec<Instance>,
    spare: Vec<u32>,
}

impl Pool {
    fn take(&mut self) -> u32 {
        self.spare.pop().unwrap_or_else(|| {
            self.all.push(Instance::default());
            (self.all.len() - 1) as u32
        })
    }

    /// An instance by its place.
    fn at(&mut self, place: u32) -> &mut Instance {
        &mut self.all[place as usize]
    }
}

impl Comm {
    pub fn new(members: &Members, ranks: u32) -> Self {
        let (count, index) = match members {
            Members::All => (
                ranks,
                Index::Range {
                    first: 0,
                    stride: 1,
                },
            ),
            Members::Range {
                first,
                stride,
                count,
            } => {
                let (first, stride) = (*first, (*stride).max(1));
                let fit = ranks.saturating_sub(first).div_ceil(stride);
                ((*count).min(fit), Index::Range { first, stride })
            }
            Members::List(list) => {
                let index = list.iter().copied().zip(0..).collect();
                (list.len() as u32, Index::List(index))
            }
        };
        Self {
            count,
            index,
            next: vec![0; count as usize],
            base: 0,
            instances: VecDeque::new(),
        }
    }

    /// The index of a rank.
    #[inline]
    pub fn index(&self, rank: u32) -> Option<u32> {
        match &self.index {
            Index::Range { first, stride } => {
                let distance = rank.checked_sub(*first)?;
                let index = if *stride == 1 {
                    distance
                } else if distance % stride == 0 {
                    distance / stride
                } else {
                    return None;
                };
                (index < self.count).then_some(index)
            }
            Index::List(list) => list.get(&rank).copied(),
        }
    }

    /// Whether a rank's next collective has this number at most, so that it has not called it.
    pub fn lacks(&self, rank: u32, number: u64) -> bool {
        let next = self.index(rank).and_then(|i| self.next.get(i as usize));
        next.is_some_and(|next| *next <= number)
    }

    /// The number of a member's next collective, and of the one after it from now on.
    pub fn calls(&mut self, index: u32) -> u64 {
        let next = &mut self.next[index as usize];
        *next += 1;
        *next - 1
    }

    /// An outstanding instance.
    #[inline]
    pub fn instance<'a>(&mut self, pool: &'a mut Pool, number: u64) -> &'a mut Instance {
        let at = (number - self.base) as usize;
        while self.instances.len() <= at {
            self.instances.push_back(pool.take());
        }
        pool.at(self.instances[at])
    }

    /// Forgets the first instances as long as all have arrived at them.
    pub fn forget_complete(&mut self, pool: &mut Pool) {
        while let Some(first) = self.instances.front().copied() {
            let instance = pool.at(first);
            if instance.arrived < self.count {
                return;
            }
            instance.clear();
            pool.spare.push(first);
            self.instances.pop_front();
            self.base += 1;
        }
    }

    /// Members whose wait in an outstanding instance is this one's, with the instance's number.
    pub fn waits<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = (u64, Target)> + 'a {
        let numbered = (self.base..).zip(&self.instances);
        numbered.flat_map(|(number, place)| {
            let i = &pool.all[*place as usize];
            let scans = i.cells.iter().filter_map(|c| c.waiting);
            let all = i.waiting.iter().copied().chain(scans);
            all.map(move |w| (number, w.target))
        })
    }
}
