//! The collector: the shared object that is loaded into the measured program.
//!
//! *Input*: the program's MPI calls, through wrappers that are generated from the table of MPI functions, and a
//! signal that is driven by CPU time. *Output*: a spool file (its layout is in the `format` crate). A call passes
//! through `trampoline` (naked wrapper) → `dispatch` (forward to the library) → `thread` (time, context, tables); what it
//! means is decoded by the crate `mpi-call`. `sampler` interrupts computation. `finalize` merges the ranks' data over a tree.
//!
//! Its contract as a guest in another process:
//! * on the common path of a call there is no allocation, lock, panic or system call; in the signal handler there is
//!   none of the first three;
//! * nothing of ours unwinds out of an exported symbol; exceptions of the program pass through;
//! * results, exit code, errno, signals and output of the program remain its own;
//! * without MPI, in a child after `fork`, or when anything of ours fails, calls go straight through;
//! * when memory runs out, recording ends, not the program (`memory`);
//! * the stacks (`headwater_call_path::OwnStack`) and the file descriptors (`descriptors`) of the program remain free for its own use.
//!
//! `unsafe` is only in the files that talk to the machine; every block says why it is sound.
#![allow(unsafe_code)]
// Linked into the program, some wrappers are left out (`build.rs`).
#![cfg_attr(feature = "linked", allow(dead_code, unused_imports, unused_macros))]

mod abi;
mod align;
mod birth;
mod clock;
mod counters;
mod descriptors;
mod dispatch;
mod finalize;
mod futex;
mod guarded;
mod index;
#[cfg_attr(feature = "linked", path = "linked.rs")]
mod loader;
mod local;
mod locks;
mod memory;
mod meter;
mod mpi;
mod off_core;
mod openmp;
mod past;
mod pause;
mod polls;
mod process;
mod references;
mod roster;
mod sampler;
mod sessions;
mod spool;
mod table;
mod team;
mod thread;
mod trampoline;
mod tree;
mod uncancelled;
mod waits;
mod weak;
mod window;
