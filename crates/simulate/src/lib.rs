//! Runs the operations of all ranks in virtual time, on an ideal network or a LogGP one.
//!
//! *Comes in*: a [`Program`], which gives the [`Step`]s of each rank one after the other, and a [`Network`]. *Goes out*:
//! each call as it ends, to a [`Visitor`], and an [`Outcome`]: run time, what each rank spent, the critical path by
//! place. Every rank has a core of its own. Steps are not stored: memory is needed for what is outstanding.
//!
//! Nothing here is random or depends on the machine: the same program gives the same figures. This crate does no I/O and
//! knows neither MPI's functions nor the form of a trace. Who makes the steps says what a call is: see [`Op`].
//!
//! It is not for real topologies, for networks that many messages share, or for caches and memory.
//!
//! ```
//! use headwater_simulate::{Network, Op, Options, Step, Streams, simulate};
//!
//! // Rank 0 computes for 2 s and sends; rank 1 computes for 1 s and waits.
//! let compute = |seconds| Step::new(1, Op::Compute { seconds });
//! let send = Op::Send { to: 1, tag: 0, comm: 0, bytes: 8, mode: Default::default(), request: None };
//! let receive = Op::Recv { from: 0, tag: 0, comm: 0, request: None };
//! let ranks = [
//!     vec![compute(2.0), Step::new(2, send)],
//!     vec![compute(1.0), Step::new(3, receive)],
//! ];
//! let program = Streams::new(ranks.into_iter().map(Vec::into_iter));
//! let outcome = simulate(program, &Network::Ideal, Options::default(), ()).unwrap();
//! assert_eq!(outcome.seconds, 2.0);
//! assert_eq!(outcome.streams[1].wait, 1.0);
//! assert_eq!(outcome.longest().unwrap().place, 1);
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod calibrate;
mod costs;
mod edit;
mod engine;
mod error;
mod network;
mod op;
mod outcome;
mod program;

pub use calibrate::{Fit, Measured, NoFit, Sample, calibrate};
pub use edit::{Answer, Edit, Edited, Work, what_if};
pub use engine::{Options, simulate};
pub use error::{Blocked, Error, WaitsFor};
pub use network::{LogGp, Network};
pub use op::{Kind, Mode, Op, Request, Step};
pub use outcome::{Cause, Done, Efficiencies, OnPath, Outcome, Spent, Visitor, WaitState};
pub use program::{Members, Program, Streams};
