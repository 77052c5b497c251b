//! The end of a run: totals become final, clocks are compared, and the ranks' data become one file.

pub mod align;
pub mod close;
pub mod finalize;
pub mod stop;
pub mod trace;
pub mod tree;
