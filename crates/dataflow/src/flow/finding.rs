//! What the passes of a larger analysis pass to one another. It is neither a set nor a table, because it concerns
//! several runs or is not yet certain. The engine knows no such type: it asks each for its [`Stage`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step on the way to the answer of a larger analysis. Whoever makes the passes also makes their stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage(&'static [&'static str; 2]);

impl Stage {
    /// A stage by its word in a saved flow, which no other stage has, and its name in messages.
    pub const fn new(words: &'static [&'static str; 2]) -> Self {
        Self(words)
    }

    /// Its word in a saved flow.
    pub fn word(self) -> &'static str {
        self.0[0]
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0[1])
    }
}

/// A type that is one stage.
pub trait StageResult: Any + Send + Sync {
    /// Which.
    const STAGE: Stage;

    /// What it has, for people: `3 candidates`; empty where its name says all.
    fn words(&self) -> String {
        String::new()
    }
}

/// A value of one stage. Copies share their contents.
#[derive(Clone)]
pub struct Finding {
    stage: Stage,
    /// Number that distinguishes it from all others.
    number: u64,
    words: Arc<str>,
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
    /// A finding.
    pub fn new<T: StageResult>(what: T) -> Self {
        Self {
            stage: T::STAGE,
            number: MADE.fetch_add(1, Ordering::Relaxed),
            words: what.words().into(),
            what: Arc::new(what),
        }
    }

    /// What was found, if it is of this type.
    pub fn get<T: StageResult>(&self) -> Option<&T> {
        self.what.downcast_ref()
    }

    /// Which stage it is.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What it has, for people.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The number that distinguishes it from all others.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}
