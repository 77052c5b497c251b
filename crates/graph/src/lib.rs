//! Structure joined with runs: the Program Abstraction Graph (PerFlow, section 3; ScalAna, III-C).
//!
//! *Comes in*: recorded [`Run`](headwater_model::run::Run)s of one program at several scales and the
//! [`ModuleStructure`](headwater_model::psg::ModuleStructure)s of the modules they touched.
//! *Goes out*: a [`Pag`]: one [`TopDown`] view that all runs share (structure joined along the call
//! paths that were seen) and for each run a [`RunView`]: who computed how long where, as sparse
//! columns over ranks, what the threads of each rank did, and the flow, message, collective and inter-thread
//! edges between those vertices.
//!
//! The parallel view is not copied per rank (DESIGN, "Graph"): a vertex of it is the pair
//! (vertex, rank), and its data are an entry of a sparse row.
//!
//! [`view`] makes flat graphs with attributes of both views of a run: what sets, passes and dataflows work on.
//!
//! This crate does no I/O. Give it whole inputs; what is odd in them (unknown modules, addresses in
//! no function) becomes a vertex of its own, never an error.

mod brought;
mod columns;
mod computation;
mod embed;
mod keys;
mod lifetime;
mod mapping;
mod pag;
mod parallel;
mod scaffold;
mod stages;
mod stretches;
mod structures;
mod threads;
mod topdown;
pub mod view;

pub use brought::brought;
pub use columns::{RankRow, RankRows};
pub use computation::{Computation, HotLines, Key, sum_rows};
pub use pag::{Pag, RunView};
pub use parallel::{CollectiveEdge, FlowEdge, MessageLink, ParallelView};
pub use structures::{Structures, is_runtime_library};
pub use threads::{TeamStretch, ThreadEdge, ThreadTime, ThreadView};
pub use topdown::{TopDown, TopVertex, VertexIx};
