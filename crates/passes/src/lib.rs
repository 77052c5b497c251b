//! The analysis: from the Program Abstraction Graph to the causes of scaling loss.
//!
//! *Comes in*: recorded runs of one program and the structures of its modules. *Goes out*: a
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis). The crate does no I/O. All results depend on the inputs alone,
//! and ties are broken by the order of ranks, vertices or rows.
//!
//! The steps, each in its file:
//!
//! * Several recordings of a scale: `repeat` sorts them and judges the result without each of them, `pool` makes one run
//!   of them.
//! * One run: `scale` derives what one run shows by itself: `phases` between synchronisations, `replay` of event
//!   windows in virtual time, `waits` between ranks. `cores` sets aside waits for threads without a core, `stopped` the
//!   time in which the machine stopped a core.
//! * Marks: `times` sums vertices up over ranks, and `marks` lists those that scale badly or differ between ranks.
//! * Causes between threads come first, so that lateness of a rank that its threads explain is not reported again as
//!   uneven work. `teams` computes what threads of a team did, `same_team` finds the calls that begin one team, and
//!   `contended` finds what threads waited for. `thread_imbalance`, `lock_contention` (with `line` and `held`),
//!   `allocator` and `serial` propose causes, and `charge` prices them.
//! * Causes between ranks: each class has a finder that returns priced candidates: `imbalance`, `asleep`, `work`,
//!   `communication`, `chain_cause`, `preempt`. `chain_cost` prices chains with `even_replay` and the critical paths of
//!   `chain`, and `chain_work` finds what ranks compute in turn. `pace` is the machine's own pace, which `work` sets
//!   aside.
//! * From candidates to causes: `path` and `backtrack` follow the waits from symptom to cause. `delay` prices the
//!   waiting, and `lateness` divides it over places. `teller` makes causes from candidates, `ranked` puts them in
//!   order, and `explanation`, `words` and `notes` write the sentences. `apart` distinguishes causes at the same place.
//! * The loss: `floor` is the least cost of a cause, `account` divides the whole loss, `small` sums what is too small
//!   for a cause, and `startup` examines the time before `MPI_Init`.
//! * Places: `unnamed` reports that places of the program have no names; `segments` then identifies computation by its
//!   MPI calls. `outside` reports foreign code as the loop around its call, and `program_place` code of system headers
//!   as the program's own code around it. `workers` moves causes to where threads work for a rank.
//! * Limits: `threads` reports which threads were recorded and which the result does not cover, and `placement` when
//!   the core or node may be slow.
//!
//! Each step is a pass (`pass/marks`, `finders`, `causes`). `paradigm/scalability` joins them into the dataflow that
//! `diagnose` runs.

mod account;
pub mod algorithm;
mod allocation;
mod allocator;
mod apart;
mod asleep;
mod backtrack;
mod backward;
mod binding;
mod cause;
mod chain;
mod chain_cause;
mod chain_cost;
mod chain_work;
mod chance;
mod charge;
mod clusters;
mod communication;
mod contended;
mod cores;
mod counted;
mod delay;
mod delay_cost;
mod diagnose;
mod efficiency;
mod even_replay;
mod explanation;
mod files;
mod fit;
mod floor;
pub mod flow;
mod held;
mod holder;
mod imbalance;
mod inclusive;
mod late;
mod lateness;
mod line;
mod lock_contention;
mod marks;
mod moving;
mod moving_work;
mod notes;
mod once;
mod outside;
mod pace;
pub mod paradigm;
pub mod pass;
mod path;
mod phases;
mod placement;
mod places;
mod pool;
mod possible;
mod preempt;
mod program_place;
mod proposal;
mod queue;
mod ranked;
mod reading;
mod recorded;
mod recordings;
mod repeat;
mod repetition;
mod replay;
mod same_team;
mod scale;
mod scales;
mod scaling;
mod segments;
mod serial;
pub mod set;
mod sleep_class;
mod sleeping;
mod small;
mod source_place;
mod stall;
mod startup;
mod stats;
mod stopped;
mod teams;
mod teller;
mod thread_imbalance;
mod threads;
mod times;
mod timing;
mod together;
mod traffic;
mod uneven;
mod unnamed;
mod waits;
mod words;
mod work;
mod workers;

pub use diagnose::{DiagnoseError, diagnose};
pub use paradigm::Options;
pub use possible::impossible;
pub use recorded::Recorded;
pub use replay::comes_to_collective;
pub use together::RunError;
