//! Where rows go: tables in a mapped file, the event windows, and the spool of the process.

pub mod index;
pub mod process_spool;
pub mod resources;
pub mod spool;
pub mod table;
pub mod window;
