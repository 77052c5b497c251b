//! Finders of causes between threads: `thread_imbalance`, `lock_contention` (with `line`, `queue` and `hold_times`),
//! `allocator` and `serial`.

pub mod allocator;
pub mod hold_times;
pub mod line;
pub mod lock_contention;
pub mod queue;
pub mod serial;
pub mod thread_imbalance;
