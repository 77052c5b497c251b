//! Finders: each looks for one class of cause and returns candidates with a price, or proposals without one.
//!
//! Causes between threads come first (`threads`), so that lateness of a rank that its threads explain is not reported
//! again as uneven work. They are a [`proposal`] until they have a price. Finders between ranks return candidates
//! ([`candidate`]): `imbalance` (with `uneven`), `moving_work`, `work`, `asleep`, `communication`, `chain_cause` (with
//! `chain_cost` and `chain_work`), `preempt` and `segments`. `workers` moves causes to where threads work for a rank, and
//! `placement` says when the core or node may be slow.

pub mod asleep;
pub mod candidate;
pub mod chain_cause;
pub mod chain_cost;
pub mod chain_work;
pub mod communication;
pub mod imbalance;
pub mod moving_work;
pub mod placement;
pub mod preempt;
pub mod proposal;
pub mod segments;
pub mod sleep_class;
pub mod threads;
pub mod uneven;
pub mod work;
pub mod workers;
