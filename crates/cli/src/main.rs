//! The `headwater` command.
fn main() {}
