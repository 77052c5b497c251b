//! Exit codes. `record` and `run` pass on the program's own where it failed; where a signal ended it, `run` ends with
//! 128 + the signal.

/// Done.
pub const DONE: u8 = 0;
/// A threshold that the user set with `--fail-on` is passed.
pub const OVER_THRESHOLD: u8 = 1;
/// Bad use or bad input; one line on standard error says what and what to do.
pub const BAD_USE: u8 = 2;
