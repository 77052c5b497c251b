//! Frames of a running CPython, read from its memory without its help.
//!
//! *In*: words of memory ([`Memory`]), the version of the interpreter, and the state of a thread. *Out*: the thread's
//! frames, innermost first ([`Stack`]), or a hash of them ([`mark()`]); what function a code object is ([`Code`],
//! [`text`]); the line of an instruction ([`lines`]); and a call path in which Python's frames replace those of the
//! interpreter ([`splice`]).
//!
//! It runs in signal handlers of others' processes: nothing here allocates, locks, panics or calls the interpreter.
//! Memory that is not what it should be makes an answer `None`, never a wrong frame: each code object has the type of
//! code objects, and the frames of one evaluation agree with those of the next.
//!
//! What CPython's structures look like is in `layout`, one row for each version. `DESIGN.md` says how they are used.

mod code;
mod layout;
pub mod lines;
mod mark;
mod memory;
pub mod splice;
mod stack;
pub mod text;

pub use code::{Code, Function, NAME, PATH};
pub use layout::{DEBUG_WORDS, Layout};
pub use mark::mark;
pub use memory::{BLOCK, Blocks, Memory, Seen};
pub use stack::{Frame, MOST, Run, Stack};
