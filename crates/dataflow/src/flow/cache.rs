//! Stores results of passes, keyed by what they were made from: the pass, its parameters and the contents of its
//! arguments.
//!
//! A value that enters a flow is hashed by its contents. The result of a pass has the hash of what it was made from, so
//! that large sets between passes are never hashed by contents.

use super::{Parameter, Parameters, Value, Work};
use crate::set::Set;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// At most this many results are stored by default.
const MOST: usize = 256;

/// Results of earlier runs. Several flows may use it at the same time.
#[derive(Debug)]
pub struct Cache {
    kept: Mutex<Kept>,
    most: usize,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: FxHashMap<u64, Vec<Value>>,
    /// Keys, the oldest first.
    order: VecDeque<u64>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl Cache {
    /// A cache that stores the results of the latest `most` passes.
    pub fn new(most: usize) -> Self {
        Self {
            kept: Mutex::default(),
            most,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A pass that panicked had not yet returned anything to store.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: u64) -> Option<Vec<Value>> {
        self.lock().by_key.get(&key).cloned()
    }

    pub(super) fn keep(&self, key: u64, values: &[Value]) {
        let mut kept = self.lock();
        if kept.by_key.insert(key, values.to_vec()).is_none() {
            kept.order.push_back(key);
        }
        while kept.order.len() > self.most {
            if let Some(oldest) = kept.order.pop_front() {
                kept.by_key.remove(&oldest);
            }
        }
    }

    /// Number of stored results.
    pub fn len(&self) -> usize {
        self.lock().by_key.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all results.
    pub fn clear(&self) {
        *self.lock() = Kept::default();
    }

    /// The hash of a value that enters a flow.
    pub(super) fn of_value(value: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        match value {
            Value::Run(run) => (0u8, run.digest()).hash(&mut hasher),
            Value::Set(set) => {
                1u8.hash(&mut hasher);
                of_set(set, &mut hasher);
            }
            Value::Section(section) => (2u8, format!("{section:?}")).hash(&mut hasher),
            Value::Finding(finding) => (3u8, finding.number()).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// The hash of what a node returns, from those of its inputs; `None` if it must not be stored.
    pub(super) fn of_work(work: &Work, inputs: &[(u64, usize)]) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        inputs.hash(&mut hasher);
        if !hash_work(work, &mut hasher) {
            return None;
        }
        Some(hasher.finish())
    }
}

/// Hashes the work; returns whether it always returns the same result for the same input.
fn hash_work(work: &Work, hasher: &mut DefaultHasher) -> bool {
    match work {
        Work::Input { name, .. } => (0u8, name).hash(hasher),
        Work::Pass { pass, parameters } => {
            // Two passes of one name are different, even if the second's function is at the address where the first's
            // was; and another function can take the place of a function.
            (1u8, &pass.name, pass.number).hash(hasher);
            (std::sync::Arc::as_ptr(&pass.function) as *const () as usize).hash(hasher);
            of_parameters(parameters, hasher);
            return pass.cached;
        }
        Work::Repeat { body, most } => {
            (2u8, most).hash(hasher);
            for node in &body.nodes {
                node.inputs.hash(hasher);
                if !hash_work(&node.work, hasher) {
                    return false;
                }
            }
            body.outputs.hash(hasher);
        }
    }
    true
}

fn of_parameters(parameters: &Parameters, hasher: &mut DefaultHasher) {
    for (name, value) in &parameters.0 {
        name.hash(hasher);
        match value {
            Parameter::Flag(b) => b.hash(hasher),
            Parameter::Number(x) => x.to_bits().hash(hasher),
            Parameter::Text(t) => t.hash(hasher),
            Parameter::List(l) => l.hash(hasher),
        }
    }
}

fn of_set(set: &Set, hasher: &mut DefaultHasher) {
    let view = set.view();
    (view.kind, &view.header.name, view.header.ranks).hash(hasher);
    view.header.started_unix.to_bits().hash(hasher);
    set.vertices().hash(hasher);
    set.edges().hash(hasher);
    view.graph.sources().hash(hasher);
    view.graph.targets().hash(hasher);
    for table in [&view.vertices, &view.edges] {
        for (name, column) in table.columns() {
            name.hash(hasher);
            column.hash_into(hasher);
        }
    }
}
