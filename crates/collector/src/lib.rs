//! The collector: the shared object that is loaded into the measured program.
//!
//! *Input*: the program's MPI calls, through wrappers that are generated from the table of MPI functions, and a
//! signal that is driven by CPU time. *Output*: a spool file (its layout is in the `format` crate).
//!
//! A call passes through `entry` (naked wrapper, then forward to the library) and `threads` (time, context, tables);
//! what it means is decoded by the crate `mpi-call`. `sampling` interrupts computation. `end` merges the ranks' data
//! over a tree. Folders use only those before them: `guest`, `storage`, `libraries`, `trace`, `sampling`, `threads`, `openmp`,
//! `end`, `entry`.
//!
//! Its contract as a guest in another process:
//! * on the common path of a call there is no allocation, lock, panic or system call; in the signal handler there is
//!   none of the first three;
//! * nothing of ours unwinds out of an exported symbol; exceptions of the program pass through;
//! * results, exit code, errno, signals and output of the program remain its own;
//! * without MPI, in a child after `fork`, or when anything of ours fails, calls go straight through;
//! * when memory runs out, recording ends, not the program (`guest/memory.rs`);
//! * the stacks (`headwater_call_path::OwnStack`) and the file descriptors (`guest/descriptors.rs`) of the program
//!   remain free for its own use.
//!
//! `unsafe` is only in the files that talk to the machine; every block says why it is sound.
#![allow(unsafe_code)]
// Linked into the program, some wrappers are left out (`build.rs`).
#![cfg_attr(feature = "linked", allow(dead_code, unused_imports, unused_macros))]

mod end;
mod entry;
mod guest;
mod libraries;
mod openmp;
mod sampling;
mod storage;
mod threads;
mod trace;
