//! What a call of MPI means: partner, tag and bytes, the communicator, and which message or collective it is.
//!
//! *Comes in*: the arguments of a call as they were passed, from C or Fortran, before and after the library's function
//! has run. *Goes out*: the parameters that the call is counted by, and [`record::Link`]s, whose ids are the same at
//! both ends of a message and on all ranks of a collective.
//!
//! [`mpi::Mpi`] is what a process knows about its communicators, requests and streams of messages. A
//! [`decoder::Decoder`] decodes one call with it. This crate knows nothing of how calls are intercepted, timed or
//! stored: it asks the process for the little that it needs by [`host::Host`]. It allocates where
//! communicators, requests or streams become more than ever before, and where groups are described.
//!
//! `unsafe` reads what the program passes to MPI, and calls functions of the library; every block says why it is sound.
#![allow(unsafe_code)]

pub mod after;
pub mod args;
mod before;
pub mod buffers;
mod channels;
pub mod comms;
mod completion;
pub mod decoder;
mod epochs;
mod files;
mod handles;
pub mod host;
pub mod library;
mod making;
mod matched;
mod message_ids;
mod messages;
pub mod mpi;
pub mod parameters;
pub mod record;
mod requests;
pub mod shape;
mod status;
mod volume;

#[cfg(test)]
mod tests;
