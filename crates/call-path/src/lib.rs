//! Call paths of the process that this code runs in.
//!
//! *In*: where a call came from ([`Caller`]) or what was interrupted ([`Start`]), and the modules that are loaded.
//! *Out*: its calling context, the number of a row in a [`ContextStore`]. Each row has an address and the row of its
//! caller. [`Contexts`] belongs to one thread: it finds a known path by its place on the stack (`known`) and unwinds
//! an unknown one (`unwind`) on a stack of its own ([`OwnStack`]). The unwind tables belong to the process
//! ([`InForce`]). A worker's paths are below the call that made it work ([`root`]). Frames of an [`Interpreter`] replace
//! those of its own code.
//!
//! It is a guest in the process, and runs in signal handlers:
//! * a known path on the thread's own stack takes no allocation, lock, panic or system call; any other path takes none
//!   of the first three;
//! * it asks the loader only when the host has it look at modules, never to find a path;
//! * it reads no memory that may be missing: only the thread's own stack is read directly;
//! * it knows neither MPI nor where rows are stored: its user provides the store and is the [`Host`].
//!
//! `unsafe` is allowed in the whole crate, because it reads stacks and changes them; every block says why it is sound.
#![allow(unsafe_code)]

mod context;
mod in_force;
mod interpreter;
mod known;
mod modules;
mod own_stack;
#[cfg(target_arch = "x86_64")]
mod realigned;
pub mod root;
pub mod stack;
mod unwind;

pub use context::{ContextStore, Contexts, NONE};
pub use in_force::{Host, InForce};
pub use interpreter::{Interpreter, Spliced};
pub use modules::{Loaded, loaded};
pub use own_stack::{OwnStack, page};
pub use root::{Origin, Root};
pub use stack::Stack;
pub use unwind::{Caller, DEEPEST, Path, Start, Tables};
