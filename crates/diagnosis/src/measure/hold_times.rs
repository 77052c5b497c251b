//! How long threads hold a lock, from the samples between the calls that take it and release it.

use crate::measure::program_place;
use crate::measure::scale::Scale;
use headwater_graph::{Pag, Site, VertexIx};
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Parts of the names of functions that release locks.
const RELEASES: [&str; 4] = [
    "unlock",
    "critical_end",
    "critical_name_end",
    "end_critical",
];

/// Whether a function that the compiler inlined releases a lock: an `unlock`, or the drop of a guard in Rust. Names in
/// Rust have the types of arguments, so other functions have the guard's name in theirs.
fn is_release(name: &str) -> bool {
    name.contains("unlock") || name.starts_with("drop") && name.contains("MutexGuard")
}

/// Seconds by rank and thread.
pub type ByThread = FxHashMap<(u32, u16), f64>;

/// The function that contains a vertex.
pub fn function_of(pag: &Pag, v: VertexIx) -> Option<VertexIx> {
    let mut around = pag.top.ancestors(v);
    around.find(|v| pag.top.get(*v).kind == VertexKind::Function)
}

/// The addresses between a call that takes a lock and the last call in its function that releases a lock before the
/// next one is taken. A compiler may make several calls from one that releases the lock, and place a branch between
/// them behind the first of them. Where taking and releasing are inlined, only the way to wait is a call, and it is
/// behind everything else; the section is then between the inlined functions. `None` where nothing releases a lock.
pub fn section(pag: &Pag, (module, function, psg): Site) -> Option<std::ops::Range<u64>> {
    let (_, structure) = pag.structures.get(module)?;
    let function = structure.functions.get(function as usize)?;
    let taken = function.vertices.get(psg as usize)?.address;
    let releases = |v: &&Vertex| releases(structure, v);
    let behind = || function.vertices.iter().filter(|v| v.address > taken);
    let Some(first) = behind().filter(releases).map(|v| v.address).min() else {
        return inlined_section(structure, function, psg);
    };
    let takes = |v: &&Vertex| v.kind == VertexKind::LockCall && !releases(v);
    let next = behind().filter(takes).map(|v| v.address);
    let next = next.filter(|at| *at > first).min().unwrap_or(u64::MAX);
    let ends = behind().filter(|v| releases(v) && v.address < next);
    let end = ends.map(|v| v.address).max()?;
    Some(taken + 1..end)
}

/// Whether a call releases a lock, by its name.
fn releases(structure: &ModuleStructure, v: &Vertex) -> bool {
    let name = v.name.map_or("", |n| structure.string(n));
    let is_one = RELEASES.iter().any(|part| name.contains(part)) || name.starts_with("omp_unset_");
    // The functions of files without a lock, as `putc_unlocked`, release none.
    v.kind.is_call() && is_one && !name.contains("_unlocked")
}

/// Parts of the names of functions that neither take nor release a lock, among those that work on locks and conditions.
const NEITHER: [&str; 5] = ["signal", "broadcast", "post", "init", "destroy"];

/// What a call does with a lock.
#[derive(PartialEq)]
enum Effect {
    Takes,
    Releases,
}

/// What a call does with a lock, by its name; `None` if it does nothing.
fn lock_effect(structure: &ModuleStructure, v: &Vertex) -> Option<Effect> {
    if releases(structure, v) {
        return Some(Effect::Releases);
    }
    let name = v.name.map_or("", |n| structure.string(n));
    let takes = v.kind == VertexKind::LockCall && !NEITHER.iter().any(|part| name.contains(part));
    takes.then_some(Effect::Takes)
}

/// Whether a function begins by releasing a lock, which its caller holds: in the order of its addresses, it releases one
/// before it takes one. Functions of `names` that it calls count if they do nothing else with locks, down to this depth.
/// `None` if it does neither.
fn begins_by_releasing(
    structure: &ModuleStructure,
    function: &Function,
    (names, depth): (&FxHashMap<u32, usize>, usize),
) -> Option<bool> {
    let mut calls: Vec<&Vertex> = function.vertices.iter().collect();
    calls.retain(|v| v.kind.is_call());
    calls.sort_by_key(|v| v.address);
    let of_call = |v: &Vertex| {
        if let Some(effect) = lock_effect(structure, v) {
            return Some(effect == Effect::Releases);
        }
        if v.kind == VertexKind::LockCall {
            return None;
        }
        let name = v.name.filter(|_| depth > 0 && v.kind == VertexKind::Call)?;
        let callee = structure.functions.get(*names.get(&name)?)?;
        begins_by_releasing(structure, callee, (names, depth - 1))
    };
    calls.into_iter().find_map(of_call)
}

/// A function that begins by releasing its caller's lock may do so by another one that only does that.
const WRAPPED: usize = 1;

/// The same of a lock that is taken and released by inlined functions.
fn inlined_section(
    structure: &ModuleStructure,
    function: &Function,
    psg: u32,
) -> Option<std::ops::Range<u64>> {
    let taken = taken(function, psg, |v| {
        let file = v.file.map(|f| structure.string(f));
        file.is_none_or(program_place::is_of_system)
    })?;
    let releases = |v: &&Vertex| {
        let name = v.name.map_or("", |n| structure.string(n));
        v.kind == VertexKind::Inlined && is_release(name)
    };
    // Taking the lock makes the guard.
    let behind = function.vertices.iter().filter(|v| v.address > taken);
    let others = behind.filter(|v| !is_inside(function, v, taken));
    let end = others.filter(releases).map(|v| v.address).min()?;
    Some(taken + 1..end)
}

/// Where a lock is taken: the call, or the outermost inlined function of the system around it, by its lowest address.
fn taken(function: &Function, psg: u32, of_system: impl Fn(&Vertex) -> bool) -> Option<u64> {
    let mut found = function.vertices.get(psg as usize)?;
    let parent = |v: &Vertex| function.vertices.get(v.parent? as usize);
    while let Some(around) = parent(found) {
        if around.kind != VertexKind::Inlined || !of_system(around) {
            break;
        }
        found = around;
    }
    Some(found.address)
}

/// Whether a vertex is inside the one that begins at an address.
fn is_inside(function: &Function, v: &Vertex, address: u64) -> bool {
    let parent = |v: &&Vertex| function.vertices.get(v.parent? as usize);
    let around = std::iter::successors(Some(v), parent).take(function.vertices.len());
    let mut inlined = around.filter(|v| v.kind == VertexKind::Inlined);
    inlined.any(|v| v.address == address)
}

/// Whether a loop takes or releases locks: it may hold one that was taken before it for a part of each iteration only.
fn changes_locks(pag: &Pag, v: VertexIx) -> bool {
    let changes = || {
        let (module, function, psg) = pag.top.site(v)?;
        let (_, structure) = pag.structures.get(module)?;
        let all = &structure.functions.get(function as usize)?.vertices;
        let is_in_loop = |v: &&Vertex| {
            let around = std::iter::successors(v.parent, |at| all.get(*at as usize)?.parent);
            around.take(all.len()).any(|at| at == psg)
        };
        let mut changes = all.iter().filter(|v| lock_effect(structure, v).is_some());
        Some(changes.any(|v| is_in_loop(&v)))
    };
    pag.top.get(v).kind.is_loop() && changes() == Some(true)
}

/// Adds the CPU seconds of all threads in a section of a function, by rank and thread; the function was entered at
/// `function`. What the section calls is left out if it begins by releasing the lock. Of a loop that begins in the
/// section and changes locks, only the calls count that are in the section themselves.
pub fn add(
    pag: &Pag,
    scale: &Scale,
    (functions, function): (&Functions, VertexIx),
    section: &std::ops::Range<u64>,
    by_thread: &mut ByThread,
) {
    let own = pag.top.get(function);
    let is_in = |v: VertexIx| {
        let vertex = pag.top.get(v);
        (vertex.module, vertex.function) == (own.module, own.function)
            && section.contains(&vertex.address)
    };
    let gives_up = |v: VertexIx| {
        let vertex = pag.top.get(v);
        let is_called = v != function && vertex.kind == VertexKind::Function;
        is_called
            && functions
                .give_up
                .contains(&(vertex.module, vertex.function))
    };
    let mut open = vec![(function, false)];
    while let Some((v, around)) = open.pop() {
        if around && gives_up(v) {
            continue;
        }
        let inside = around || is_in(v) && !changes_locks(pag, v);
        if inside {
            for t in scale.view().threads.times_in(v) {
                *by_thread.entry((t.rank, t.thread)).or_default() += t.cpu;
            }
        }
        let children = pag.children.get(v as usize).into_iter().flatten();
        open.extend(children.map(|c| (*c, inside)));
    }
}

/// The functions of a program that were recorded, by module and function.
pub struct Functions {
    /// Their vertices.
    pub vertices: FxHashMap<(u32, u32), Vec<VertexIx>>,
    /// Those that begin by releasing their caller's lock.
    give_up: FxHashSet<(u32, u32)>,
}

impl Functions {
    /// All of them.
    pub fn new(pag: &Pag) -> Self {
        let mut vertices: FxHashMap<(u32, u32), Vec<VertexIx>> = FxHashMap::default();
        for (v, vertex) in (0..).zip(&pag.top.vertices) {
            if vertex.kind == VertexKind::Function && vertex.function != u32::MAX {
                let key = (vertex.module, vertex.function);
                vertices.entry(key).or_default().push(v);
            }
        }
        let mut names: FxHashMap<u32, FxHashMap<u32, usize>> = FxHashMap::default();
        let mut gives_up = |(module, function): &(u32, u32)| {
            let (_, structure) = pag.structures.get(*module)?;
            // Of several functions with one name, the first.
            let of_module = || {
                let all = structure.functions.iter().enumerate().rev();
                all.map(|(i, f)| (f.name, i)).collect()
            };
            let names = names.entry(*module).or_insert_with(of_module);
            let function = structure.functions.get(*function as usize)?;
            begins_by_releasing(structure, function, (names, WRAPPED))
        };
        let give_up = vertices.keys().filter(|f| gives_up(f) == Some(true));
        Self {
            give_up: give_up.copied().collect(),
            vertices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(kind: VertexKind, parent: Option<u32>, address: u64) -> Vertex {
        Vertex {
            kind,
            parent,
            name: None,
            file: None,
            first_line: 0,
            last_line: 0,
            address,
        }
    }

    #[test]
    fn an_inlined_lock_is_taken_where_it_is_inlined() {
        use VertexKind::{IndirectCall, Inlined};
        let function = Function {
            name: 0,
            symbol: None,
            ranges: vec![(0, 0x100)],
            vertices: vec![
                vertex(VertexKind::Function, None, 0),
                vertex(Inlined, Some(0), 0x10),
                vertex(Inlined, Some(1), 0x12),
                // The way to wait is behind all other code.
                vertex(IndirectCall, Some(2), 0xf0),
                vertex(Inlined, Some(0), 0x80),
            ],
            owners: vec![],
        };
        assert_eq!(taken(&function, 3, |_| true), Some(0x10));
        // What the program wrote and the compiler inlined is no lock.
        assert_eq!(taken(&function, 3, |v| v.address != 0x10), Some(0x12));
        assert!(is_inside(&function, &function.vertices[3], 0x10));
        assert!(!is_inside(&function, &function.vertices[4], 0x10));
    }

    #[test]
    fn a_function_may_begin_by_giving_its_callers_lock_up() {
        use VertexKind::{Call, LockCall};
        let strings = [
            "run",
            "give_up",
            "pthread_mutex_unlock",
            "pthread_mutex_lock",
            "pthread_cond_signal",
            "putc_unlocked",
        ];
        let call = |kind, name, address| Vertex {
            name: Some(name),
            ..vertex(kind, Some(0), address)
        };
        let function = |name, calls: Vec<Vertex>| Function {
            name,
            symbol: None,
            ranges: vec![],
            vertices: calls,
            owners: vec![],
        };
        let (unlock, lock) = (call(LockCall, 2, 0x20), call(LockCall, 3, 0x30));
        let wrapper = function(1, vec![unlock.clone()]);
        let structure = ModuleStructure {
            functions: vec![wrapper],
            strings: strings.map(String::from).to_vec(),
            ..Default::default()
        };
        let names = FxHashMap::from_iter([(1, 0)]);
        let begins =
            |calls| begins_by_releasing(&structure, &function(0, calls), (&names, WRAPPED));
        let through = call(Call, 1, 0x10);
        assert_eq!(begins(vec![lock.clone(), unlock.clone()]), Some(true));
        assert_eq!(begins(vec![lock.clone(), through]), Some(true));
        assert_eq!(begins(vec![lock]), Some(false));
        assert_eq!(begins(vec![call(Call, 0, 0x10)]), None);
        let (signal, put) = (call(LockCall, 4, 0x10), call(Call, 5, 0x12));
        assert_eq!(begins(vec![signal, put.clone(), unlock]), Some(true));
        assert_eq!(begins(vec![put]), None);
    }
}
