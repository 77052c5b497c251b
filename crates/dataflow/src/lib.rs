//! Sets of vertices and edges, graph algorithms, passes, and the dataflow that joins them (PerFlow, section 4).
//!
//! *Comes in*: recorded runs joined on a graph. *Goes out*: whatever the passes of a flow make of them. The crate knows
//! nothing of scaling loss: the diagnosis is a user of it, which brings its own passes and stages in a
//! [`Catalogue`](flow::Catalogue). The crate does no I/O. All results depend on the inputs alone, and ties are broken
//! by the order of ranks, vertices or rows.
//!
//! Each module uses only those before it:
//!
//! * [`numbers`]: statistics of a row over ranks, and models over scales.
//! * [`run`]: recorded runs, made comparable and joined on a graph.
//! * [`set`]: sets of vertices and edges, and expressions that choose from them.
//! * [`algorithm`]: graph algorithms that use only the ends of edges.
//! * [`flow`]: passes joined into a flow, checked and run.
//! * [`pass`]: general passes, which answer questions about any run.

pub mod algorithm;
pub mod flow;
pub mod numbers;
pub mod pass;
pub mod run;
pub mod set;

pub use run::{Recorded, RunError};
