//! The records of all translation units of one module, joined by their symbols: whole-program analysis without link-time
//! optimisation.

use super::meaning;
use super::record::{Base, Call, CompiledFunction, Node, Record, WrittenGlobal};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

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
    defined: FxHashSet<GlobalKey<'a>>,
    /// Functions of all units whose address somebody takes.
    taken: FxHashSet<&'a str>,
    /// Parameters whose pointer is kept, by the function itself or by one that it calls.
    kept: FxHashSet<(FunctionId, u32)>,
    /// Objects of functions that others have the address of.
    shared: FxHashSet<(FunctionId, u32)>,
    /// Functions with a call of what is not seen, which may call back.
    calling_unseen: Vec<FunctionId>,
    /// Functions that may run.
    alive: FxHashSet<FunctionId>,
    /// Whether a reduction may call functions of the program, as it has made operations of its own.
    calls_back: bool,
    /// Whether any call of MPI may, as the program may have given it functions.
    gives_functions: bool,
    /// What may write a global variable; of those variables that were asked for.
    changing: RefCell<FxHashMap<GlobalKey<'a>, Rc<Changing>>>,
    /// Symbols that shared libraries see.
    exported: &'a FxHashSet<String>,
    /// Whether somebody unseen may call functions and write globals.
    open: bool,
    /// Steps that all walks may still take: a damaged file must not take hours.
    pub budget: Cell<u64>,
}

/// What languages call a program's first function.
const FIRST: [&str; 3] = ["main", "_QQmain", "MAIN__"];

/// What is in the names of the functions of MPI, also of those that newer versions lack, that take functions of the program,
/// for MPI to call them later.
const TAKE_FUNCTIONS: [&str; 7] = [
    "op_create",
    "create_keyval",
    "keyval_create",
    "create_errhandler",
    "errhandler_create",
    "grequest_start",
    "register_datarep",
];

/// Whether a symbol is the function of MPI that makes an operation for reductions.
fn makes_operation(symbol: &str) -> bool {
    meaning::mpi(symbol).is_some_and(|f| f.name.starts_with("MPI_Op_create"))
}

/// Whether a symbol may be a function of MPI, in C or Fortran, that is given functions.
fn takes_functions(symbol: &str) -> bool {
    let name = symbol.to_ascii_lowercase();
    TAKE_FUNCTIONS.iter().any(|part| name.contains(part))
}

/// Steps of all walks over one module: what is not reached by then is unknown.
const STEPS: u64 = 20_000_000;

impl<'a> Program<'a> {
    /// Joins records. `open` says that the module has code that no record describes, or is a library; `exported` has the
    /// symbols that shared libraries see.
    pub fn new(records: &'a [Record], open: bool, exported: &'a FxHashSet<String>) -> Self {
        let mut this = Self {
            records,
            by_symbol: FxHashMap::default(),
            own: FxHashMap::default(),
            callers: FxHashMap::default(),
            writers: FxHashMap::default(),
            local_globals: FxHashSet::default(),
            escaping: FxHashSet::default(),
            defined: FxHashSet::default(),
            taken: FxHashSet::default(),
            kept: FxHashSet::default(),
            shared: FxHashSet::default(),
            calling_unseen: Vec::new(),
            alive: FxHashSet::default(),
            calls_back: open,
            gives_functions: open,
            changing: RefCell::default(),
            exported,
            open,
            budget: Cell::new(STEPS),
        };
        for (unit, record) in (0u32..).zip(records) {
            for (index, function) in (0u32..).zip(&record.functions) {
                let id = FunctionId { unit, index };
                let symbol = record.string(function.symbol);
                match function.local {
                    true => drop(this.own.insert((unit, symbol), id)),
                    false => this.define(symbol, id),
                }
            }
            this.taken
                .extend(record.taken.iter().map(|t| record.string(*t)));
            for &(alias, of) in &record.aliases {
                let of = record.string(of);
                let known = this.own.get(&(unit, of)).or_else(|| this.by_symbol.get(of));
                if let Some(&known) = known {
                    this.define(record.string(alias), known);
                }
            }
            for global in &record.globals {
                let symbol = record.string(global.symbol);
                if global.local {
                    this.local_globals.insert((unit, symbol));
                }
                let key = (global.local.then_some(unit), symbol);
                if global.escapes {
                    this.escaping.insert(key);
                }
                if global.defined {
                    this.defined.insert(key);
                }
            }
        }
        // Where the linker may take somebody else's definition, nothing is known of the function.
        if open {
            let (functions, by_symbol) = (records, &mut this.by_symbol);
            by_symbol.retain(|_, id| !is_weak(functions, *id));
        }
        this.alive = this.find_alive();
        this.calls_back = open || this.calls_any(makes_operation);
        this.gives_functions = open
            || this.taken.iter().any(|symbol| takes_functions(symbol))
            || this.calls_any(takes_functions);
        for (id, function) in this.functions() {
            if !this.is_alive(id) {
                continue;
            }
            for (number, call) in (0u32..).zip(&function.calls) {
                if let Some(callee) = this.callee(id, call) {
                    this.callers.entry(callee).or_default().push((id, number));
                }
            }
            for global in &function.globals {
                let key = this.global_key(id.unit, global.symbol);
                this.writers.entry(key).or_default().push((id, global.seen));
            }
            let unseen =
                |c: &Call| !c.quiet && this.callee(id, c).is_none() && !this.is_quiet(id, c);
            if function.calls.iter().any(unseen) {
                this.calling_unseen.push(id);
            }
        }
        this.follow_addresses();
        this
    }

    /// Whether a function may run. Others are in the program and do nothing there.
    pub fn is_alive(&self, id: FunctionId) -> bool {
        self.alive.contains(&id)
    }

    /// Functions that may run: the program's first one, those that somebody unseen may call, and what these call.
    fn find_alive(&self) -> FxHashSet<FunctionId> {
        let is_first = |id: FunctionId, f: &CompiledFunction| {
            FIRST.contains(&self.string(id.unit, f.symbol)) || self.has_unseen_callers(id)
        };
        let first = self.functions().filter(|(id, f)| is_first(*id, f));
        let mut open: Vec<FunctionId> = first.map(|(id, _)| id).collect();
        let mut alive = FxHashSet::default();
        while let Some(id) = open.pop() {
            if alive.insert(id) {
                let calls = self.function(id).into_iter().flat_map(|f| &f.calls);
                open.extend(calls.filter_map(|call| self.callee(id, call)));
            }
        }
        alive
    }

    /// Whether a function that may run calls one of these symbols.
    fn calls_any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.alive.iter().any(|id| {
            let mut calls = self.function(*id).into_iter().flat_map(|f| &f.calls);
            calls.any(|call| is(self.string(id.unit, call.callee)))
        })
    }

    /// Whether a call is one of MPI that calls nothing of the program, though its operation may be any.
    pub fn is_quiet(&self, from: FunctionId, call: &Call) -> bool {
        !self.calls_back && meaning::mpi(self.string(from.unit, call.callee)).is_some()
    }

    /// A definition for all units: one that linking cannot replace wins; copies of an inline function are the same.
    fn define(&mut self, symbol: &'a str, id: FunctionId) {
        let records = self.records;
        let known = self.by_symbol.entry(symbol).or_insert(id);
        if is_weak(records, *known) && !is_weak(records, id) {
            *known = id;
        }
    }

    /// Which functions keep the addresses that they are given, and whose addresses these are.
    fn follow_addresses(&mut self) {
        let mut open: Vec<(FunctionId, u32)> = Vec::new();
        for (id, function) in self.functions() {
            open.extend(function.kept.iter().map(|k| (id, *k)));
            for call in &function.calls {
                let unseen = self.callee(id, call).is_none();
                for argument in &call.arguments {
                    match argument.base {
                        Base::Parameter(p) if argument.kept && unseen => open.push((id, p)),
                        _ => {}
                    }
                }
            }
        }
        while let Some(kept) = open.pop() {
            if !self.kept.insert(kept) {
                continue;
            }
            for &(caller, call) in self.callers(kept.0) {
                let call = self
                    .function(caller)
                    .and_then(|f| f.calls.get(call as usize));
                let argument = call.and_then(|c| c.arguments.get(kept.1 as usize));
                if let Some(Base::Parameter(p)) = argument.filter(|a| a.kept).map(|a| a.base) {
                    open.push((caller, p));
                }
            }
        }
        let (mut shared, mut escaping) = (Vec::new(), Vec::new());
        for (id, function) in self.functions() {
            for call in &function.calls {
                for (number, argument) in (0u32..).zip(&call.arguments) {
                    let kept = argument.shared || argument.kept && self.keeps(id, call, number);
                    match argument.base {
                        Base::Local(object) if kept => shared.push((id, object)),
                        Base::Global(symbol) if kept => {
                            escaping.push(self.global_key(id.unit, symbol));
                        }
                        _ => {}
                    }
                }
            }
        }
        self.shared.extend(shared);
        self.escaping.extend(escaping);
    }

    /// Whether what a call enters keeps an argument's address, or may.
    pub fn keeps(&self, from: FunctionId, call: &Call, argument: u32) -> bool {
        let callee = self.callee(from, call);
        callee.is_none_or(|callee| self.kept.contains(&(callee, argument)))
    }

    /// Whether others have the address of a function's object.
    pub fn is_shared(&self, function: FunctionId, object: u32) -> bool {
        self.shared.contains(&(function, object))
    }

    /// Whether others have the address of a global variable.
    pub fn escapes(&self, unit: u32, symbol: u32) -> bool {
        self.escaping.contains(&self.global_key(unit, symbol))
    }

    /// Whether two numbers of strings, of two units, are one global variable; and whether a single unit has it.
    pub fn same_global(&self, one: (u32, u32), other: (u32, u32)) -> (bool, bool) {
        let key = self.global_key(one.0, one.1);
        (key == self.global_key(other.0, other.1), key.0.is_some())
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

    /// Call sites of a function, in functions that may run.
    pub fn callers(&self, of: FunctionId) -> &[(FunctionId, u32)] {
        self.callers.get(&of).map_or(&[], Vec::as_slice)
    }

    /// Whether `callers` may not be all of them.
    pub fn has_unseen_callers(&self, of: FunctionId) -> bool {
        self.function(of).is_none_or(|f| {
            let symbol = self.string(of.unit, f.symbol);
            let seen = || self.taken.contains(symbol) || self.exported.contains(symbol);
            f.address_taken || !f.local && (self.open || seen())
        })
    }

    fn global_key(&self, unit: u32, symbol: u32) -> GlobalKey<'a> {
        let name = self.string(unit, symbol);
        let local = self.local_globals.contains(&(unit, name));
        (local.then_some(unit), name)
    }

    /// Who writes a global variable, of functions that may run; `None` where others may.
    pub fn writers(&self, unit: u32, symbol: u32) -> Option<&[Writer]> {
        let key = self.global_key(unit, symbol);
        let elsewhere = self.open || self.exported.contains(key.1) || !self.defined.contains(&key);
        let unseen = self.escaping.contains(&key) || key.0.is_none() && elsewhere;
        (!unseen).then(|| self.writers.get(&key).map_or(&[][..], Vec::as_slice))
    }

    /// Whether a function may write a global variable whose writers are known, by itself or in what it calls.
    pub fn may_write(&self, function: FunctionId, global: (u32, u32)) -> bool {
        let changing = self.changing(global);
        // What was not looked through may do anything.
        self.budget.get() == 0 || changing.functions.contains(&function)
    }

    /// Whether any call of MPI may write a global variable whose writers are known. MPI may call functions of the program that
    /// it was given, by the program itself or by a library.
    pub fn may_be_written_by_mpi(&self, global: (u32, u32)) -> bool {
        self.gives_functions && self.changing(global).has_unseen_callers
    }

    fn changing(&self, (unit, symbol): (u32, u32)) -> Rc<Changing> {
        let key = self.global_key(unit, symbol);
        let known = self.changing.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let found = Rc::new(self.find_changing(&key));
            self.changing.borrow_mut().insert(key, Rc::clone(&found));
            found
        })
    }

    fn find_changing(&self, key: &GlobalKey<'a>) -> Changing {
        let writers = self.writers.get(key).map_or(&[][..], Vec::as_slice);
        let mut open: Vec<FunctionId> = writers.iter().map(|w| w.0).collect();
        let mut found = Changing::default();
        while let Some(function) = open.pop() {
            if !found.functions.insert(function) {
                continue;
            }
            let callers = self.callers(function);
            open.extend(callers.iter().map(|c| c.0));
            if !found.has_unseen_callers && self.has_unseen_callers(function) {
                found.has_unseen_callers = true;
                open.extend(&self.calling_unseen);
            }
            let cost = 1 + callers.len() as u64;
            self.budget.set(self.budget.get().saturating_sub(cost));
            if self.budget.get() == 0 {
                break;
            }
        }
        found
    }

    /// The state of a global variable when a function that writes it returns.
    pub fn written_state(&self, function: FunctionId, (unit, symbol): (u32, u32)) -> Option<u32> {
        let key = self.global_key(unit, symbol);
        let mut globals = self.function(function)?.globals.iter();
        let same = |g: &&WrittenGlobal| self.global_key(function.unit, g.symbol) == key;
        globals.find(same).map(|g| g.after)
    }
}

/// What may write a global variable.
#[derive(Default)]
struct Changing {
    /// Functions that write it, or call one that does.
    functions: FxHashSet<FunctionId>,
    /// Whether one of them may be called by what is not seen.
    has_unseen_callers: bool,
}

fn is_weak(records: &[Record], id: FunctionId) -> bool {
    let record = records.get(id.unit as usize);
    record
        .and_then(|r| r.functions.get(id.index as usize))
        .is_some_and(|f| f.weak)
}
