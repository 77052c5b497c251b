//! Communicators, as far as the lengths of lists depend on them.

use crate::args::Args;
use crate::library::Library;
use crate::parameters::plan::Plan;
use crate::parameters::tables::{Handles, Tables};
use headwater_mpi_abi::{Kind, Length};

/// What is known about a communicator.
#[derive(Clone, Copy, Default)]
pub struct About {
    /// This process's rank.
    pub rank: u32,
    /// Ranks of the group that the process is in.
    own: u32,
    /// Ranks of the other group, if there are two.
    others: Option<u32>,
    /// Neighbours from which this process receives.
    sources: u32,
    /// Neighbours to which it sends.
    destinations: u32,
    dimensions: u32,
}

impl About {
    /// A communicator of so many ranks, without a topology.
    pub fn members(rank: u32, size: u32) -> Self {
        Self {
            rank,
            own: size,
            ..Self::default()
        }
    }

    /// Whether it has two groups.
    pub fn is_between_groups(&self) -> bool {
        self.others.is_some()
    }

    /// How many elements a list has that is as long as the communicator says.
    pub fn length(&self, length: Length) -> u32 {
        match length {
            Length::Members => self.others.unwrap_or(self.own),
            Length::OwnGroup => self.own,
            Length::Sources => self.sources,
            Length::Destinations => self.destinations,
            Length::Dimensions => self.dimensions,
            _ => 0,
        }
    }
}

/// The argument of a call that is its communicator.
fn position(plan: &Plan) -> Option<u8> {
    let mut all = plan.before.iter().map(|(_, s)| s.field);
    all.find(|f| f.kind == Kind::Comm).map(|f| f.at)
}

impl Tables {
    /// What is known about the communicator of a call.
    pub(super) fn comm_of(&self, handles: &mut Handles, plan: &Plan, args: &Args) -> Option<About> {
        let handle = args.handle(position(plan)?, &self.library.comm);
        match handles.comms.number(handle) {
            0 => Some(self.world),
            1 => Some(self.alone),
            _ => handles.comms.about(handle).copied(),
        }
    }

    /// What is known about a communicator that a call has just made.
    pub(super) fn made(
        &self,
        handles: &mut Handles,
        plan: &Plan,
        args: &Args,
        handle: u64,
    ) -> About {
        let name = plan.function.name;
        let original = self.comm_of(handles, plan, args);
        // A copy has all of its original. MPI is not asked: one that is made without blocking may not be used yet.
        if name.contains("dup") {
            return original.unwrap_or_default();
        }
        ask(self.library, name, handle).unwrap_or_default()
    }
}

/// What the library says about a communicator; `None` if it says nothing.
fn ask(library: &Library, function: &str, handle: u64) -> Option<About> {
    let number = |name| {
        library
            .ask(name, handle)
            .and_then(|n| u32::try_from(n).ok())
    };
    let two_groups = number("MPI_Comm_test_inter").is_some_and(|flag| flag != 0);
    let mut about = About {
        rank: number("MPI_Comm_rank")?,
        own: number("MPI_Comm_size")?,
        others: two_groups.then(|| number("MPI_Comm_remote_size")).flatten(),
        ..About::default()
    };
    if function.starts_with("MPI_Cart") {
        about.dimensions = number("MPI_Cartdim_get").unwrap_or(0);
        about.sources = about.dimensions.saturating_mul(2);
        about.destinations = about.sources;
    } else if function.starts_with("MPI_Graph") {
        about.sources = neighbours(library, handle, about.rank).unwrap_or(0);
        about.destinations = about.sources;
    } else if function.starts_with("MPI_Dist_graph") {
        (about.sources, about.destinations) = both_ways(library, handle).unwrap_or((0, 0));
    }
    Some(about)
}

fn neighbours(library: &Library, handle: u64, rank: u32) -> Option<u32> {
    let real = library.function("MPI_Graph_neighbors_count")?;
    let mut count = 0i32;
    // SAFETY: the library's function with arguments of its signature, on a communicator that has just this topology.
    unsafe {
        let ask: unsafe extern "C" fn(u64, i32, *mut i32) -> i32 = std::mem::transmute(real);
        ask(handle, i32::try_from(rank).ok()?, &mut count);
    }
    u32::try_from(count).ok()
}

fn both_ways(library: &Library, handle: u64) -> Option<(u32, u32)> {
    type Ask = unsafe extern "C" fn(u64, *mut i32, *mut i32, *mut i32) -> i32;
    let real = library.function("MPI_Dist_graph_neighbors_count")?;
    let (mut into, mut out, mut weighted) = (0i32, 0i32, 0i32);
    // SAFETY: as above.
    unsafe {
        let ask: Ask = std::mem::transmute(real);
        ask(handle, &mut into, &mut out, &mut weighted);
    }
    Some((u32::try_from(into).ok()?, u32::try_from(out).ok()?))
}
