//! The way of a walk over edges: vertices that no edge leads back to, so that walks end.
//!
//! Ways that begin alike share one log, so that a walk of n steps needs room for n vertices, however many of the sets
//! and the vertices on it are stored. A walk that leaves a path on which another walk went on copies its beginning.

use crate::function::locked;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The vertices of a way, in order.
#[derive(Debug, Default)]
struct Log {
    vertices: Vec<u32>,
    /// Where each of them comes first.
    first: HashMap<u32, usize>,
}

impl Log {
    fn push(&mut self, vertex: u32) {
        self.first.entry(vertex).or_insert(self.vertices.len());
        self.vertices.push(vertex);
    }
}

/// The way that led to a vertex: the beginning of a log.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    log: Option<Arc<Mutex<Log>>>,
    length: usize,
}

impl Trail {
    /// Whether the way came by a vertex.
    pub fn passed(&self, vertex: u32) -> bool {
        let Some(log) = &self.log else { return false };
        let first = locked(log).first.get(&vertex).copied();
        first.is_some_and(|at| at < self.length)
    }

    /// The way that goes on by a vertex.
    pub fn by(&self, vertex: u32) -> Self {
        let log = self.log.clone().unwrap_or_default();
        let length = self.length + 1;
        let mut held = locked(&log);
        match held.vertices.get(self.length) {
            Some(next) if *next == vertex => {}
            None => held.push(vertex),
            Some(_) => {
                let mut own = Log::default();
                held.vertices[..self.length]
                    .iter()
                    .for_each(|v| own.push(*v));
                own.push(vertex);
                let log = Some(Arc::new(Mutex::new(own)));
                return Self { log, length };
            }
        }
        drop(held);
        let log = Some(log);
        Self { log, length }
    }
}
