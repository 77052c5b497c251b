//! Finders of causes between threads: `thread_imbalance`, `lock_contention`, `allocator`, `serial` and
//! `small_regions`.

pub mod allocator;
pub mod lock_contention;
pub mod serial;
pub mod small_regions;
pub mod thread_imbalance;
