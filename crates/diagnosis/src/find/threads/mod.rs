//! Finders of causes between threads: `thread_imbalance`, `lock_contention` (with `line`, `queue` and `held`),
//! `allocator` and `serial`.

pub mod allocator;
pub mod held;
pub mod line;
pub mod lock_contention;
pub mod queue;
pub mod serial;
pub mod thread_imbalance;
