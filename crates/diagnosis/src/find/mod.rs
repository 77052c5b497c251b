//! Finders: each looks for one class of cause and returns candidates with a price, or proposals without one.
//!
//! Causes between threads come first (`threads`), so that lateness of a rank that its threads explain is not reported
//! again as uneven work. They are a [`proposal`] until they have a price. Finders between ranks return candidates
//! ([`candidate`]): `imbalance` (with `uneven`, `mended` and `sleep_class`), `moving_work`, `non_shrinking` (with
//! `work`), `asleep`, `communication`, `chain_cause` (with `chain_cost` and `chain_work`) and `preempt`; `segments`
//! refines uneven work. All have one shape ([`finder`]): a new class of cause is one file with its finder, one row in
//! [`FINDERS`], and one in [`class`], which says what holds for all causes of a class.
//!
//! `workers` moves causes to where threads work for a rank, and `placement` says when the core or node may be slow.

pub mod asleep;
pub mod candidate;
pub mod chain_cause;
pub mod chain_cost;
pub mod chain_work;
pub mod class;
pub mod communication;
pub mod finder;
pub mod imbalance;
pub mod mended;
pub mod moving_work;
pub mod non_shrinking;
pub mod placement;
pub mod preempt;
pub mod proposal;
pub mod segments;
pub mod sleep_class;
pub mod threads;
pub mod uneven;
pub mod work;
pub mod workers;

use finder::Finder;
use threads::{allocator, lock_contention, serial, small_regions, thread_imbalance};

/// All finders, in the order of their passes: first those between threads.
pub const FINDERS: [Finder; 12] = [
    thread_imbalance::FINDER,
    lock_contention::FINDER,
    allocator::FINDER,
    serial::FINDER,
    small_regions::FINDER,
    imbalance::FINDER,
    moving_work::FINDER,
    non_shrinking::FINDER,
    asleep::FINDER,
    communication::FINDER,
    chain_cause::FINDER,
    preempt::FINDER,
];
