//! The records of all translation units of one module, joined by their symbols: whole-program analysis without link-time
//! optimisation.

use super::record::{Call, CompiledFunction, Node, Record};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

/// A function: its unit and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId {
    pub unit: u32,
    pub index: u32,
}

/// Who writes a global variable: the function, and a state that it leaves.
pub type Writer = (FunctionId, u32);

/// A global variable: a name that all units share, or a unit's own.
type GlobalKey<'a> = (Option<u32>, &'a str);

/// All units of a module.
pub struct Program<'a> {
    pub records: &'a [Record],
    by_symbol: FxHashMap<&'a str, FunctionId>,
    own: FxHashMap<(u32, &'a str), FunctionId>,
    callers: FxHashMap<FunctionId, Vec<(FunctionId, u32)>>,
    writers: FxHashMap<GlobalKey<'a>, Vec<Writer>>,
    local_globals: FxHashSet<(u32, &'a str)>,
    escaping: FxHashSet<GlobalKey<'a>>,
    /// Whether somebody unseen may call functions and write globals.
    open: bool,
    /// Steps that all walks may still take: a damaged file must not take hours.
    pub budget: Cell<u64>,
}

/// Steps of all walks over one module: what is not reached by then is unknown.
const STEPS: u64 = 4_000_000;

impl<'a> Program<'a> {
    /// Joins records. `open` says that the module has code that no record describes, or is a library.
    pub fn new(records: &'a [Record], open: bool) -> Self {
        let mut this = Self {
            records,
            by_symbol: FxHashMap::default(),
            own: FxHashMap::default(),
            callers: FxHashMap::default(),
            writers: FxHashMap::default(),
            local_globals: FxHashSet::default(),
            escaping: FxHashSet::default(),
            open,
            budget: Cell::new(STEPS),
        };
        for (unit, record) in (0u32..).zip(records) {
            for (index, function) in (0u32..).zip(&record.functions) {
                let id = FunctionId { unit, index };
                let symbol = record.string(function.symbol);
                match function.local {
                    true => drop(this.own.insert((unit, symbol), id)),
                    // Copies of an inline function in several units are the same.
                    false => drop(this.by_symbol.entry(symbol).or_insert(id)),
                }
            }
            for global in &record.globals {
                let symbol = record.string(global.symbol);
                if global.local {
                    this.local_globals.insert((unit, symbol));
                }
                if global.escapes {
                    this.escaping.insert((global.local.then_some(unit), symbol));
                }
            }
        }
        for (id, function) in this.functions() {
            for (number, call) in (0u32..).zip(&function.calls) {
                if let Some(callee) = this.callee(id, call) {
                    this.callers.entry(callee).or_default().push((id, number));
                }
            }
            for (symbol, state) in &function.globals {
                let key = this.global_key(id.unit, *symbol);
                this.writers.entry(key).or_default().push((id, *state));
            }
        }
        this
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &'a CompiledFunction)> + use<'a> {
        (0u32..).zip(self.records).flat_map(|(unit, record)| {
            (0u32..)
                .zip(&record.functions)
                .map(move |(index, f)| (FunctionId { unit, index }, f))
        })
    }

    pub fn function(&self, id: FunctionId) -> Option<&'a CompiledFunction> {
        self.records
            .get(id.unit as usize)?
            .functions
            .get(id.index as usize)
    }

    pub fn node(&self, id: FunctionId, node: u32) -> Option<&'a Node> {
        self.function(id)?.nodes.get(node as usize)
    }

    pub fn string(&self, unit: u32, number: u32) -> &'a str {
        self.records
            .get(unit as usize)
            .map_or("", |r| r.string(number))
    }

    /// The functions of a symbol: the one that all units see, and those of single units.
    pub fn of_symbol<'s>(&'s self, symbol: &'s str) -> impl Iterator<Item = FunctionId> + 's {
        let own =
            (0..self.records.len() as u32).filter_map(move |unit| self.own.get(&(unit, symbol)));
        self.by_symbol.get(symbol).into_iter().chain(own).copied()
    }

    /// The function that a call enters, where a record has it.
    pub fn callee(&self, from: FunctionId, call: &Call) -> Option<FunctionId> {
        let symbol = self.string(from.unit, call.callee);
        let own = self.own.get(&(from.unit, symbol));
        own.or_else(|| self.by_symbol.get(symbol)).copied()
    }

    /// Call sites of a function.
    pub fn callers(&self, of: FunctionId) -> &[(FunctionId, u32)] {
        self.callers.get(&of).map_or(&[], Vec::as_slice)
    }

    /// Whether `callers` may not be all of them.
    pub fn has_unseen_callers(&self, of: FunctionId) -> bool {
        self.function(of)
            .is_none_or(|f| f.address_taken || self.open && !f.local)
    }

    fn global_key(&self, unit: u32, symbol: u32) -> GlobalKey<'a> {
        let name = self.string(unit, symbol);
        let local = self.local_globals.contains(&(unit, name));
        (local.then_some(unit), name)
    }

    /// Who writes a global variable; `None` where others may.
    pub fn writers(&self, unit: u32, symbol: u32) -> Option<&[Writer]> {
        let key = self.global_key(unit, symbol);
        let unseen = self.escaping.contains(&key) || self.open && key.0.is_none();
        (!unseen).then(|| self.writers.get(&key).map_or(&[][..], Vec::as_slice))
    }
}
