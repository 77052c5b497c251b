//! Finders of causes between threads: `thread_imbalance`, `lock_contention`, `allocator` and `serial`.

pub mod allocator;
pub mod lock_contention;
pub mod serial;
pub mod thread_imbalance;
