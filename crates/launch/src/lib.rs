//! Knows the launchers: finds the one that belongs to a program, and puts us before the program.
//!
//! *Input*: a command line as a user would type it. *Output*: the command line to run instead, and the environment
//! that loads the collector. Launchers are rows of a table ([`Launcher`]). The collector is put before the program
//! only, never before the launcher: it must not be loaded into the launcher's own processes. While a launcher runs,
//! signals that are meant for it are passed on ([`supervise`]).

mod error;
mod events;
mod launcher;
mod library;
mod link;
mod preload;
mod program;
mod sanitizer;
mod supervise;
mod table;
mod without_mpi;

pub use error::LaunchError;
pub use launcher::{
    Plan, asked, brings_launcher, command_for, find_program as program_in_path, installed,
    launcher_library, may_be_recorded, not_sanitized, place_before_program, rank, recognise,
    with_place_for_ranks,
};
pub use library::{MpiKind, mpi_library};
pub use link::{LinkFlags, link_flags};
pub use preload::{Asked, collector_named, collector_path, exec, with_collector};
pub use supervise::{Between, Ended, supervise};
pub use table::Launcher;
pub use without_mpi::{ProgramKind, kind_of};
