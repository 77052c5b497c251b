//! The analysis: from the Program Abstraction Graph to the causes of scaling loss.
//!
//! *Comes in*: recorded runs of one program and the structures of its modules. *Goes out*: a
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis). No I/O; all results depend on the inputs
//! alone, and ties are broken by the order of ranks, vertices or rows.
//!
//! The steps, each in its file: `scale` derives what one run says by itself (`phases` between
//! synchronisations, `replay` of event windows in virtual time, `waits` between ranks); `times` sums
//! vertices up over ranks and `marks` those that scale badly or differ; then each kind of cause has a
//! finder (`imbalance`, `asleep`, `work`, `communication`, `chain_cause`, `preempt`) that returns priced candidates (`chain_cost` prices
//! chains, by `even_replay` and the critical paths of `chain`, `chain_work` says what is computed in turn; `pace` is the machine's own, which `work` sets aside). Causes
//! between threads are looked for first (`teams` says what threads of a team did, `same_team` which calls begin one,
//! `contended` what they waited for; `thread_imbalance`, `lock_contention` with `line` and `held`, `allocator` and
//! `serial` propose, `charge` prices), so that lateness of a rank which
//! its threads explain is not told again as uneven work; `cores` sets aside waits for threads without a core, and
//! `stopped` the time in which the machine stopped a core.
//! `path` and `backtrack` follow the waits from symptom to cause, `delay` prices the waiting (`lateness` divides it over places), `teller`
//! makes causes of candidates, `ranked` puts them in order, `explanation`, `words` and `notes` say them and `apart` tells
//! those of one place apart; `floor` says what a cause must cost, `account` divides the whole loss, `small` what is too small for a cause, and `startup` looks
//! at the time before `MPI_Init`. Each step is a pass (`pass/marks`, `finders`, `causes`), and `paradigm/scalability` joins them
//! to the dataflow that `diagnose` runs.
//! `unnamed` says that the program cannot be looked into, `segments` then tells computation by its MPI
//! calls; `outside` tells foreign code by the loop around its call, `program_place` code of system headers
//! by the program's own around it; `threads` says which threads were recorded and which the verdict does
//! not cover, `workers` brings causes to where threads work for a rank, `placement` says when it may be the
//! core or node that is slow.

mod account;
pub mod algorithm;
mod allocator;
mod apart;
mod asleep;
mod backtrack;
mod backward;
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
mod queue;
mod ranked;
mod reading;
mod recorded;
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

pub use diagnose::{DiagnoseError, Options, diagnose};
pub use possible::impossible;
pub use recorded::Recorded;
pub use replay::comes_to_collective;
pub use together::RunError;
