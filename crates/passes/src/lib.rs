//! The analysis: from the Program Abstraction Graph to the causes of scaling loss.
//!
//! *Comes in*: recorded runs of one program and the structures of its modules. *Goes out*: a
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis). No I/O; all results depend on the inputs
//! alone, and ties are broken by the order of ranks, vertices or rows.
//!
//! The steps, each in its file: `scale` derives what one run says by itself (`phases` between
//! synchronisations, `replay` of event windows in virtual time, `waits` between ranks); `times` sums
//! vertices up over ranks and `marks` those that scale badly or differ; then each kind of cause has a
//! finder (`imbalance`, `work`, `communication`, `chain`, `preempt`) that returns priced candidates.
//! `path` and `backtrack` follow the waits from symptom to cause, `delay` prices the waiting, `teller`
//! makes causes of candidates and `apart` tells those of one place apart; `diagnose` puts it together.
//! `unnamed` says that the program cannot be looked into, `segments` then tells computation by its MPI
//! calls; `outside` tells foreign code by the loop around its call; `threads` says which threads the
//! verdict does not cover, `placement` when it may be the core or node that is slow.

mod apart;
mod backtrack;
mod cause;
mod chain;
mod communication;
mod counted;
mod delay;
mod diagnose;
mod efficiency;
mod fit;
mod imbalance;
mod inclusive;
mod marks;
mod moving;
mod outside;
mod path;
mod phases;
mod placement;
mod preempt;
mod replay;
mod scale;
mod scaling;
mod segments;
mod stats;
mod teller;
mod threads;
mod times;
mod unnamed;
mod waits;
mod words;
mod work;

pub use diagnose::{DiagnoseError, Options, diagnose};
