//! Which vertices of the machine code the compiler has too: loops as `loops` pairs them; branches and calls of the same
//! function, source line and loop, calls also of the same callee.
//!
//! Inlining may put one vertex of the source into a function several times. If the loops around do not distinguish the
//! copies, a vertex has all of them as candidates.

use super::loops::{Extent, Pairing, Places};
use super::program::{FunctionId, Program};
use super::record::{CompilerVertex, Kind};
use crate::names::demangle;
use headwater_model::psg::{Function, ModuleStructure, VertexKind};
use rustc_hash::FxHashMap;

/// What a vertex is known by: kind, base name of the file, line, callee.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub kind: KeyKind,
    pub file: String,
    pub line: u32,
    pub callee: String,
}

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyKind {
    Loop,
    Branch,
    Call,
    MpiCall,
}

/// A vertex of machine code and its candidates.
pub struct Match {
    pub vertex: u32,
    pub candidates: Vec<u32>,
}

/// A function of the machine code, and of a record.
pub struct MatchedFunction<'a> {
    /// Index in the structure.
    pub index: u32,
    pub id: FunctionId,
    pub matches: Vec<Match>,
    pub loops: Pairing<'a>,
}

pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The key of a vertex of machine code; `None` for what the compiler does not have.
pub fn binary_key(structure: &ModuleStructure, function: &Function, vertex: u32) -> Option<Key> {
    let v = function.vertices.get(vertex as usize)?;
    let kind = match v.kind {
        VertexKind::MpiCall => KeyKind::MpiCall,
        k if k.is_loop() => KeyKind::Loop,
        VertexKind::Branch => KeyKind::Branch,
        k if k.is_call() => KeyKind::Call,
        _ => return None,
    };
    let callee = v.name.filter(|_| v.kind.is_call());
    Some(Key {
        kind,
        file: base(v.file.map_or("", |f| structure.string(f))).to_string(),
        line: v.first_line,
        callee: callee.map_or(String::new(), |n| structure.string(n).to_string()),
    })
}

/// The key of a vertex of the compiler.
pub fn compiler_key(program: &Program<'_>, id: FunctionId, v: &CompilerVertex) -> Key {
    let symbol = program
        .function(id)
        .filter(|_| v.kind == Kind::Call)
        .and_then(|f| f.calls.get(v.call as usize))
        .map_or("", |c| program.string(id.unit, c.callee));
    let kind = match v.kind {
        Kind::Loop => KeyKind::Loop,
        Kind::Branch => KeyKind::Branch,
        Kind::Call if crate::names::is_mpi_name(symbol) => KeyKind::MpiCall,
        Kind::Call => KeyKind::Call,
    };
    Key {
        kind,
        file: base(program.string(id.unit, v.at.file)).to_string(),
        line: v.at.line,
        callee: demangle(symbol),
    }
}

/// The innermost loop around a vertex of machine code.
fn loop_around(function: &Function, vertex: u32) -> Option<u32> {
    let get = |v: &u32| function.vertices.get(*v as usize)?.parent;
    let mut around = std::iter::successors(get(&vertex), get);
    around.find(|v| {
        function
            .vertices
            .get(*v as usize)
            .is_some_and(|v| v.kind.is_loop())
    })
}

/// The innermost loop around a vertex of the compiler.
fn compiler_loop_around(vertices: &[CompilerVertex], vertex: u32) -> Option<u32> {
    let get = |v: &u32| vertices.get(*v as usize)?.parent;
    let mut around = std::iter::successors(get(&vertex), get);
    around.find(|v| {
        vertices
            .get(*v as usize)
            .is_some_and(|v| v.kind == Kind::Loop)
    })
}

/// The loops of a function in both front ends, and which of them are the same.
fn loops<'a>(
    structure: &'a ModuleStructure,
    function: &Function,
    program: &Program<'a>,
    id: FunctionId,
) -> Pairing<'a> {
    let machine = (0u32..).zip(&function.vertices);
    let machine = machine.filter(|(_, v)| v.kind.is_loop());
    let machine = machine.map(|(vertex, v)| Extent {
        vertex,
        around: loop_around(function, vertex),
        file: base(v.file.map_or("", |f| structure.string(f))),
        first: v.first_line,
        last: v.last_line,
    });
    let vertices = program.function(id).map_or(&[][..], |f| &f.vertices);
    let compiler = (0u32..).zip(vertices);
    let compiler = compiler.filter(|(_, v)| v.kind == Kind::Loop);
    let compiler = compiler.map(|(vertex, v)| Extent {
        vertex,
        around: compiler_loop_around(vertices, vertex),
        file: base(program.string(id.unit, v.at.file)),
        first: v.at.line,
        last: v.last,
    });
    Pairing::new(Places::new(machine), Places::new(compiler))
}

/// Finds the functions and vertices that both have.
pub fn matched<'a>(
    structure: &'a ModuleStructure,
    program: &Program<'a>,
) -> Vec<MatchedFunction<'a>> {
    let mut out = Vec::new();
    for (index, function) in (0u32..).zip(&structure.functions) {
        let symbol = function.symbol.map_or("", |s| structure.string(s));
        let file = function.vertices.first().and_then(|v| v.file);
        let file = base(file.map_or("", |f| structure.string(f)));
        let all: Vec<FunctionId> = program.of_symbol(symbol).collect();
        // Several static functions of one name: that of the same source file.
        let source = |id: &FunctionId| {
            let record = program.records.get(id.unit as usize);
            record.map_or("", |r| base(r.string(r.source)))
        };
        let id = match &all[..] {
            [one] => Some(*one),
            several => {
                let mut same = several.iter().filter(|id| source(id) == file);
                same.next().filter(|_| same.next().is_none()).copied()
            }
        };
        if let Some(id) = id {
            let loops = loops(structure, function, program, id);
            let matches = matches(structure, function, program, id, &loops);
            out.push(MatchedFunction {
                index,
                id,
                matches,
                loops,
            });
        }
    }
    out
}

fn matches(
    structure: &ModuleStructure,
    function: &Function,
    program: &Program<'_>,
    id: FunctionId,
    loops: &Pairing<'_>,
) -> Vec<Match> {
    let mut by_key: FxHashMap<Key, Vec<u32>> = FxHashMap::default();
    let vertices = program.function(id).map_or(&[][..], |f| &f.vertices);
    for (number, v) in (0u32..).zip(vertices) {
        if v.at.line > 0 && v.kind != Kind::Loop {
            let key = compiler_key(program, id, v);
            by_key.entry(key).or_default().push(number);
        }
    }
    let mut out = Vec::new();
    for vertex in 0..function.vertices.len() as u32 {
        let Some(key) = binary_key(structure, function, vertex) else {
            continue;
        };
        let candidates = match key.kind {
            KeyKind::Loop => {
                let place = loops.machine.of(vertex);
                let partner = place.and_then(|m| loops.partners.get(m)?.as_ref());
                let places = partner.map_or(&[][..], |p| &p.places);
                let all = places.iter().filter_map(|c| loops.compiler.all.get(*c));
                all.flat_map(|c| c.vertices.iter().copied()).collect()
            }
            _ => {
                let all = by_key.get(&key).map_or(&[][..], Vec::as_slice);
                let around = loop_around(function, vertex);
                let ours = around.and_then(|v| loops.machine.of(v));
                let same = |c: &&u32| {
                    let theirs = compiler_loop_around(vertices, **c);
                    let theirs = theirs.and_then(|v| loops.compiler.of(v));
                    loops.is_same_loop(ours, theirs)
                };
                let mut candidates: Vec<u32> = all.iter().filter(same).copied().collect();
                if candidates.is_empty() {
                    candidates = all.to_vec();
                }
                candidates
            }
        };
        if !candidates.is_empty() {
            out.push(Match { vertex, candidates });
        }
    }
    out
}
