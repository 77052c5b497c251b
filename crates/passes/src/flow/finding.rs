//! What the passes of a diagnosis pass to one another. It is neither a set nor a table, because it concerns several
//! runs or is not yet certain.

use headwater_model::diagnosis::Diagnosis;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a diagnosis has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Runs at their scales, with what is derived from each.
    Scales,
    /// Places that scale badly, or in which ranks differ.
    Marks,
    /// Causes between threads that have no price yet.
    Proposals,
    /// The part of the ranks' computation that causes between threads explain.
    Charged,
    /// Candidates for causes, with their prices.
    Candidates,
    /// Backtracking paths from where the time shows.
    Ways,
    /// Which ranks made others wait, and how long.
    Delays,
    /// Causes, in words and figures.
    Causes,
    /// The whole answer.
    Diagnosis,
}

impl Stage {
    /// All stages, with the word for each in a saved flow and its name in messages.
    pub(super) const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Scales, "scales", "runs at their scales"),
        (Self::Marks, "marks", "marked places"),
        (Self::Proposals, "proposals", "causes without a price"),
        (
            Self::Charged,
            "charged",
            "what causes between threads explain",
        ),
        (Self::Candidates, "candidates", "candidates for causes"),
        (Self::Ways, "ways", "ways back"),
        (Self::Delays, "delays", "delays"),
        (Self::Causes, "causes", "causes"),
        (Self::Diagnosis, "diagnosis", "a diagnosis"),
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::ALL.iter().find(|s| s.0 == *self);
        f.write_str(known.map_or("", |s| s.2))
    }
}

/// A type that is one stage of a diagnosis.
pub(crate) trait Found: Any + Send + Sync {
    /// Which.
    const STAGE: Stage;
}

impl Found for Diagnosis {
    const STAGE: Stage = Stage::Diagnosis;
}

/// One stage of a diagnosis. Copies share their contents.
#[derive(Clone)]
pub struct Finding {
    stage: Stage,
    /// Number that distinguishes it from all others.
    number: u64,
    what: Arc<dyn Any + Send + Sync>,
}

/// Number of findings made so far.
static MADE: AtomicU64 = AtomicU64::new(0);

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finding({})", self.stage)
    }
}

impl Finding {
    pub(crate) fn new<T: Found>(what: T) -> Self {
        Self {
            stage: T::STAGE,
            number: MADE.fetch_add(1, Ordering::Relaxed),
            what: Arc::new(what),
        }
    }

    pub(crate) fn get<T: Found>(&self) -> Option<&T> {
        self.what.downcast_ref()
    }

    /// Which stage it is.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The number that distinguishes it from all others.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The diagnosis, if it is one.
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        self.get()
    }
}
