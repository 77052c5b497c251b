//! Where the program comes in: wrappers of MPI, of the libc and of OpenMP runtimes, and the handler of our signal.

pub mod begin;
pub mod dispatch;
pub mod exec;
pub mod finish;
pub mod guarded;
pub mod init;
pub mod itt;
pub mod markers;
pub mod mpi;
pub mod program;
pub mod regions;
pub mod sample;
pub mod sessions;
pub mod tool;
pub mod trampoline;
