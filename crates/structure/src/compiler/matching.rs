//! Which vertices of the machine code the compiler has too: those of the same function, kind, source line and nest of
//! loops; calls also of the same callee.
//!
//! Inlining may put one loop of the source into a function several times. If the nest does not distinguish the
//! copies, a vertex has all of them as candidates.

use super::program::{FunctionId, Program};
use super::record::{CompilerVertex, Kind};
use crate::names::demangle;
use headwater_model::psg::{Function, ModuleStructure, VertexKind};
use rustc_hash::FxHashMap;

/// Loops around a vertex that count, the innermost ones.
const NEST: usize = 4;

/// Loops of a function that parts are looked for in.
const MOST_LOOPS: usize = 2000;

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
    /// Whether it is a loop that begins within the lines of the compiler's: a part that vectorising or unrolling made.
    pub part: bool,
}

/// A function of the machine code, and of a record.
pub struct MatchedFunction {
    /// Index in the structure.
    pub index: u32,
    pub id: FunctionId,
    pub matches: Vec<Match>,
}

fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_string()
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
        file: base(v.file.map_or("", |f| structure.string(f))),
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
        file: base(program.string(id.unit, v.at.file)),
        line: v.at.line,
        callee: demangle(symbol),
    }
}

/// Lines of the loops around a vertex, innermost first.
type Nest = Vec<(String, u32)>;

fn binary_nest(structure: &ModuleStructure, function: &Function, vertex: u32) -> Nest {
    let get = |v: u32| function.vertices.get(v as usize);
    let around = std::iter::successors(get(vertex), |v| v.parent.and_then(get)).skip(1);
    let loops = around.filter(|v| v.kind.is_loop());
    let line = |v: &headwater_model::psg::Vertex| {
        let file = base(v.file.map_or("", |f| structure.string(f)));
        (file, v.first_line)
    };
    loops.map(line).take(NEST).collect()
}

fn compiler_nest(program: &Program<'_>, id: FunctionId, vertex: u32) -> Nest {
    let Some(function) = program.function(id) else {
        return Nest::new();
    };
    let loops = function.around(Some(vertex)).skip(1);
    let loops = loops.filter(|v| v.kind == Kind::Loop);
    let line = |v: &CompilerVertex| (base(program.string(id.unit, v.at.file)), v.at.line);
    loops.map(line).take(NEST).collect()
}

/// Finds the functions and vertices that both have.
pub fn matched(structure: &ModuleStructure, program: &Program<'_>) -> Vec<MatchedFunction> {
    let mut out = Vec::new();
    for (index, function) in (0u32..).zip(&structure.functions) {
        let symbol = function.symbol.map_or("", |s| structure.string(s));
        let file = function.vertices.first().and_then(|v| v.file);
        let file = base(file.map_or("", |f| structure.string(f)));
        let all: Vec<FunctionId> = program.of_symbol(symbol).collect();
        // Several static functions of one name: that of the same source file.
        let source = |id: &FunctionId| {
            let record = program.records.get(id.unit as usize);
            record.map_or(String::new(), |r| base(r.string(r.source)))
        };
        let id = match &all[..] {
            [one] => Some(*one),
            several => {
                let mut same = several.iter().filter(|id| source(id) == file);
                same.next().filter(|_| same.next().is_none()).copied()
            }
        };
        if let Some(id) = id {
            let matches = matches(structure, function, program, id);
            out.push(MatchedFunction { index, id, matches });
        }
    }
    out
}

fn matches(
    structure: &ModuleStructure,
    function: &Function,
    program: &Program<'_>,
    id: FunctionId,
) -> Vec<Match> {
    let mut by_key: FxHashMap<Key, Vec<u32>> = FxHashMap::default();
    let vertices = program.function(id).map_or(&[][..], |f| &f.vertices);
    for (number, v) in (0u32..).zip(vertices) {
        if v.at.line > 0 {
            let key = compiler_key(program, id, v);
            by_key.entry(key).or_default().push(number);
        }
    }
    let loops: Vec<(u32, &CompilerVertex)> = (0u32..)
        .zip(vertices)
        .filter(|(_, v)| v.kind == Kind::Loop)
        .take(MOST_LOOPS)
        .collect();
    let mut out = Vec::new();
    for vertex in 0..function.vertices.len() as u32 {
        let Some(key) = binary_key(structure, function, vertex) else {
            continue;
        };
        let nest = binary_nest(structure, function, vertex);
        let Some(all) = by_key.get(&key) else {
            let last = function.vertices.get(vertex as usize).map(|v| v.last_line);
            let around = |&(number, v): &(u32, &CompilerVertex)| {
                let lines = v.at.line..=v.last;
                let fits = key.kind == KeyKind::Loop
                    && lines.contains(&key.line)
                    && last.is_some_and(|l| lines.contains(&l))
                    && base(program.string(id.unit, v.at.file)) == key.file
                    && compiler_nest(program, id, number) == nest;
                fits.then_some((v.at.line, number))
            };
            let found = loops.iter().filter_map(around).max();
            out.extend(found.map(|(_, number)| Match {
                vertex,
                candidates: vec![number],
                part: true,
            }));
            continue;
        };
        let mut candidates = all.clone();
        candidates.retain(|c| all.len() == 1 || compiler_nest(program, id, *c) == nest);
        if candidates.is_empty() {
            candidates.clone_from(all);
        }
        out.push(Match {
            vertex,
            candidates,
            part: false,
        });
    }
    out
}
