//! The passes and stages that flows may name: the engine itself knows none of them.

use super::{FlowError, Kind, Of, Pass, Stage};
use headwater_graph::view::ViewKind;
use std::sync::Arc;

/// Kinds of values that the engine itself has, by their word in JSON.
const KINDS: [(&str, Kind); 6] = [
    ("run", Kind::Run),
    ("set", Kind::Set(Of::Any)),
    ("top-down", Kind::Set(Of::View(ViewKind::TopDown))),
    ("parallel", Kind::Set(Of::View(ViewKind::Parallel))),
    ("made", Kind::Set(Of::View(ViewKind::Made))),
    ("table", Kind::Section),
];

/// Passes by their name, and stages by their word.
#[derive(Debug)]
pub struct Catalogue {
    passes: Vec<Arc<Pass>>,
    stages: Vec<Stage>,
}

impl Catalogue {
    /// Passes whose names differ, and all stages that they take and return.
    pub fn new(passes: impl IntoIterator<Item = Pass>, stages: &[Stage]) -> Self {
        Self {
            passes: passes.into_iter().map(Arc::new).collect(),
            stages: stages.to_vec(),
        }
    }

    /// All passes.
    pub fn passes(&self) -> &[Arc<Pass>] {
        &self.passes
    }

    /// A pass.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn by_name(&self, name: &str) -> Result<&Arc<Pass>, FlowError> {
        self.passes.iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.passes.iter().map(|p| &*p.name).collect();
            FlowError::NoPass(name.to_string(), names.join(", "))
        })
    }

    /// All kinds of values by their word, as in the JSON of a saved flow.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        let stages = self.stages.iter().map(|s| (s.word(), Kind::Finding(*s)));
        KINDS.into_iter().chain(stages)
    }
}
