//! Where modules are mapped, so that an address has a place that is the same in every process: a module and an offset
//! in it. Only whole-run traces need it while the program runs.

use headwater_call_path::Loaded;
use headwater_format::spool::layout::text;
use headwater_model::hash::mix2;
use std::sync::{Mutex, PoisonError};

/// All modules that were seen, those that were unloaded too.
static MODULES: Mutex<Vec<Mapped>> = Mutex::new(Vec::new());

/// A module.
#[derive(Clone, PartialEq, Eq)]
pub struct Mapped {
    start: u64,
    end: u64,
    base: u64,
    /// The same in all processes that have loaded the same file.
    pub identity: u64,
    /// Its path.
    pub path: String,
}

/// Remembers modules that are loaded now. Later ones hide earlier ones at the same addresses.
pub fn note(modules: &[Loaded]) {
    let mut known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    for module in modules {
        let row = &module.row;
        let path = text(&row.path).to_owned();
        let id = row.id.get(..row.id_bytes as usize).unwrap_or(&[]);
        let bytes = if id.is_empty() { path.as_bytes() } else { id };
        let identity = bytes
            .iter()
            .fold(bytes.len() as u64, |h, b| mix2(h, u64::from(*b)));
        let mapped = Mapped {
            start: row.start,
            end: row.end,
            base: row.base,
            identity,
            path,
        };
        if !known.contains(&mapped) {
            known.push(mapped);
        }
    }
}

/// Remembers a name that is in no file: what frames of an interpreter are in. `identity` is the same in all processes.
pub fn note_name(identity: u64, name: String) {
    let mut known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.iter().any(|m| m.identity == identity) {
        known.push(Mapped {
            start: 0,
            end: 0,
            base: 0,
            identity,
            path: name,
        });
    }
}

/// The identity of the module that an address is in, and the address in its file.
pub fn place(address: u64) -> Option<(u64, u64)> {
    let known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let module = known
        .iter()
        .rev()
        .find(|m| (m.start..m.end).contains(&address))?;
    Some((module.identity, address.wrapping_sub(module.base)))
}

/// The path of a module.
pub fn path(identity: u64) -> Option<String> {
    let known = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .iter()
        .find(|m| m.identity == identity)
        .map(|m| m.path.clone())
}
