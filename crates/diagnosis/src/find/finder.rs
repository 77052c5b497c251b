//! The one shape of all finders, and what they examine.

use super::candidate::Candidate;
use super::proposal::{Charged, Proposal};
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::teams::Teams;
use headwater_graph::Pag;

/// What a finder examines.
pub struct Look<'a> {
    /// All scales.
    pub scales: &'a Scales,
    /// The graph that they share.
    pub pag: &'a Pag,
    /// The largest scale.
    pub last: &'a Scale,
    /// The teams of threads at the largest scale.
    pub teams: &'a Teams,
    /// What of the ranks' computation causes between threads explain; nothing unless the finder needs it.
    pub charged: &'a Charged,
    /// Seconds that a cause must cost to be reported.
    pub least: f64,
}

/// A finder: it looks for one class of cause at the largest scale.
#[derive(Clone, Copy)]
pub struct Finder {
    /// Its name, which is that of its pass.
    pub name: &'static str,
    /// What it finds, one sentence.
    pub about: &'static str,
    /// Whether it needs ranks of which the same part of the program was recorded.
    pub needs_alike: bool,
    /// Whether it needs to know what causes between threads explain.
    pub needs_charged: bool,
    /// How it looks.
    pub does: Does,
}

/// How a finder looks.
#[derive(Clone, Copy)]
pub enum Does {
    /// It proposes causes between threads, which have no price yet.
    Proposes(fn(&Look<'_>) -> Vec<Proposal>),
    /// It finds causes between ranks, with their prices.
    Finds(fn(&Look<'_>) -> Vec<Candidate>),
}
