//! Finders of causes between threads: `thread_imbalance`, `lock_contention`, `allocator`, `serial` and
//! `small_regions`; and which loops a team divides (`divided`).

pub mod allocator;
pub mod divided;
pub mod lock_contention;
pub mod serial;
pub mod small_regions;
pub mod thread_imbalance;
