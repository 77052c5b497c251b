//! What causes cost, and how the whole loss divides over them.
//!
//! `charge` prices causes between threads. `delay` prices waiting, `delay_cost` records it for all places, and
//! `lateness` divides it over places. `outside` moves causes to the user's own code, `stall` sets aside what may be the
//! machine, and `ranked` puts the others in order. `account` divides the whole loss, `small` sums what is too small for
//! a cause, and `within` finds the steps of the program that hold much of that. `startup` examines the time before
//! `MPI_Init`. `possible` says what no diagnosis may say.

pub mod account;
pub mod charge;
pub mod delay;
pub mod delay_cost;
pub mod lateness;
pub mod outside;
pub mod possible;
pub mod ranked;
pub mod small;
pub mod stall;
pub mod startup;
pub mod within;
