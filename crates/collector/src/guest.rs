//! What a guest in another's process may use: its clocks, memory, descriptors, and whether it records at all.

pub mod clock;
pub mod descriptors;
pub mod memory;
pub mod meter;
pub mod off_core;
pub mod recording;
pub mod schedstat;
pub mod uncancelled;
pub mod usage;
