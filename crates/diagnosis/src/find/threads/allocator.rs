//! Finds threads that wait for one another in the memory allocator (PerFlow, 5.5: Vite): the place is the loop of the
//! program that allocates.

use crate::find::proposal::Proposal;
use crate::find::threads::lock_contention::contention;
use crate::measure::scale::Scale;
use crate::measure::teams::Teams;
use headwater_graph::Pag;
use headwater_model::diagnosis::CauseClass;

/// Loops whose threads wait for the allocator.
pub fn propose(pag: &Pag, scale: &Scale, teams: &Teams, least: f64) -> Vec<Proposal> {
    contention(pag, scale, teams, CauseClass::AllocatorContention, least)
}
