//! The analysis: from the Program Abstraction Graph to the causes of scaling loss.
//!
//! *Comes in*: recorded runs of one program and the structures of its modules. *Goes out*: a
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis). No I/O; all results depend on the inputs
//! alone, and ties are broken by the order of ranks, vertices or rows.
//!
//! The steps, each in its file: [`scale`] derives what one run says by itself (`phases` between
//! synchronisations, `replay` of event windows in virtual time); then each kind of cause has a
//! finder (`imbalance`, `work`, `communication`, `chain`, `preempt`) that returns priced candidates;
//! `path` follows the waits from symptom to cause; `diagnose` puts it together.

mod cause;
mod chain;
mod communication;
mod diagnose;
mod efficiency;
mod fit;
mod imbalance;
mod inclusive;
mod marks;
mod path;
mod phases;
mod preempt;
mod replay;
mod scale;
mod stats;
mod times;
mod words;
mod work;

pub use diagnose::{DiagnoseError, Options, diagnose};
