//! The libraries of the process: how their functions are found, which MPI library and which OpenMP runtimes there are,
//! and what can be unwound.

pub mod abi;
pub mod code;
#[cfg_attr(feature = "linked", path = "libraries/linked.rs")]
pub mod loader;
pub mod mapped;
pub mod past;
pub mod references;
pub mod runtimes;
pub mod weak;
