//! The libraries of the process: how their functions are found, which MPI library and which OpenMP runtimes there are,
//! what can be
//! unwound, and the frames of Python.

pub mod abi;
pub mod code;
pub mod frames;
pub mod interpreter;
#[cfg_attr(feature = "linked", path = "libraries/linked.rs")]
pub mod loader;
pub mod mapped;
pub mod past;
pub mod references;
pub mod runtimes;
pub mod weak;
