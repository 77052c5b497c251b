//! Joins program structure with runs: the Program Abstraction Graph (PerFlow, section 3; ScalAna, III-C).
//!
//! *Comes in*: recorded [`Run`](headwater_model::run::Run)s of one program at several scales and the
//! [`ModuleStructure`](headwater_model::psg::ModuleStructure)s of the modules they touched. *Goes out*: a [`Pag`]. It
//! has one [`TopDown`] view that all runs share (structure joined along the call paths that were seen) and for each run
//! a [`RunView`]: how long each rank computed in which vertex, as sparse columns over ranks; what the threads of each
//! rank did; and the flow, message, collective and inter-thread edges between those vertices.
//!
//! The parallel view is not copied per rank (DESIGN, "Graph"): a vertex of it is the pair (vertex, rank), and its data
//! are an entry of a sparse row.
//!
//! [`view`] makes flat graphs with attributes from both views of a run. Sets, passes and dataflows work on these.
//!
//! This crate does no I/O. The caller hands in complete inputs. An oddity in them (an unknown module, an address in no
//! function) becomes a vertex of its own, never an error.

mod barriers;
mod brought;
mod columns;
mod computation;
mod dependences;
mod embed;
mod futex;
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
pub use dependences::{Deciding, Where};
pub use pag::{Pag, RunView};
pub use parallel::{CollectiveEdge, FlowEdge, MessageLink, ParallelView};
pub use structures::{Structures, is_runtime_library};
pub use threads::{TeamStretch, ThreadEdge, ThreadTime, ThreadView, is_at_work, unended};
pub use topdown::{Site, TopDown, TopVertex, VertexIx};
