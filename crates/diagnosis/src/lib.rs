//! The diagnosis: from runs at several scales to the causes of scaling loss. It is a user of the dataflow.
//!
//! *Comes in*: recorded runs of one program and the structures of its modules. *Goes out*: a
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis). The crate does no I/O. All results depend on the inputs alone,
//! and ties are broken by the order of ranks, vertices or rows.
//!
//! Each folder uses only those before it:
//!
//! * `measure`: what runs show by themselves.
//! * `find`: finders, one for each class of cause; those of threads' causes in `find/threads`.
//! * `price`: what causes cost, and how the whole loss divides over them.
//! * `explain`: words and notes.
//! * [`pass`]: each step as a pass that the dataflow can run.
//! * [`paradigm`]: flows for frequent questions. `scalability` is the diagnosis, which [`diagnose()`] runs.

mod diagnose;
mod explain;
mod find;
mod measure;
pub mod paradigm;
pub mod pass;
mod price;

pub use diagnose::{DiagnoseError, Diagnosed, diagnose, diagnose_runs};
pub use measure::chain::{Stretch, critical_path, last_rank};
pub use measure::replay::{Epoch, Played, Replay, comes_to_collective, play};
pub use paradigm::Options;
pub use pass::wait_state;
pub use price::possible::impossible;
