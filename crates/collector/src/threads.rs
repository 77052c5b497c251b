//! Recordings of threads: their calls and computation, their births and ends, their teams, and their waits for one
//! another.

pub mod birth;
pub mod futex;
pub mod gil;
pub mod local;
pub mod locks;
pub mod made;
pub mod named;
pub mod part;
pub mod pause;
pub mod polls;
pub mod region;
pub mod roster;
pub mod team;
pub mod thread;
pub mod waits;
