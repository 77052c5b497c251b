//! Offsets of the vertices of a tree, and the symbols that represent the program: the same function has the same offset
//! in every scale, and so has a part of it with the same lines, so that scales share vertices.

use super::extra::Extra;
use super::tree::Tree;
use super::types::{Functions, Type};
use crate::regions::hash;
use headwater_model::run::{OUTSIDE, Part, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bits of an offset that are the place in a function.
const INSIDE: u32 = 24;
/// Bits of those for the parts that begin on one line.
const ON_LINE: u32 = 8;

/// What a part of a function is known by: the part around it, what it is, its lines, and how many of its kind are before
/// it in the part around it.
type Key = (u64, Type, (u32, u32), u32);

/// Places of vertices.
pub struct Places {
    /// The offset of each vertex.
    pub of: Vec<u64>,
    /// The function for what is in no vertex.
    pub outside: u64,
    /// A call in it, for where the program ends if no vertex says so.
    pub end: u64,
    /// In the order of their offsets.
    pub symbols: Vec<Symbol>,
}

/// Gives offsets away.
#[derive(Default)]
struct Offsets {
    taken: FxHashSet<u64>,
    functions: FxHashMap<(String, String, u32, u32), u64>,
    parts: FxHashMap<Key, u64>,
    symbols: Vec<Symbol>,
}

impl Places {
    /// The places of a tree.
    pub fn new(tree: &Tree, functions: &Functions, extra: &Extra) -> Self {
        let mut offsets = Offsets::default();
        let outside = offsets.function(OUTSIDE, "", (0, 0));
        let end = offsets.part(
            outside,
            (0, Type::Call, (0, 0), 0),
            Part::Call,
            "MPI_Finalize",
            "",
        );
        let mut of = vec![0; tree.vertices.len()];
        // The function that each vertex is in.
        let mut function_of = vec![0_u64; tree.vertices.len()];
        // Parts of one kind with the same lines, by what they are in.
        let mut twins: FxHashMap<(usize, Type, (u32, u32)), u32> = FxHashMap::default();
        let mut open: Vec<usize> = tree.roots.iter().rev().copied().collect();
        while let Some(at) = open.pop() {
            let Some(vertex) = tree.vertices.get(at) else {
                continue;
            };
            let (file, lines) = (tree.file(vertex), vertex.lines);
            let is_function = vertex.kind == Type::Function;
            let around = vertex.parent.filter(|_| !is_function);
            let (offset, function) = match around {
                None => {
                    let name = function_name(tree, at, extra);
                    let offset = offsets.function(&name, &file, lines);
                    (offset, offset)
                }
                Some(around) => {
                    let of_around = of.get(around).copied().unwrap_or(outside);
                    let function = function_of.get(around).copied().unwrap_or(outside);
                    let twins = twins.entry((around, vertex.kind, lines)).or_default();
                    let key = (of_around, vertex.kind, lines, *twins);
                    *twins += 1;
                    let (part, name) = part(tree, at, functions, extra);
                    let offset = offsets.part(function, key, part, &name, &file);
                    (offset, function)
                }
            };
            if let (Some(place), Some(own)) = (of.get_mut(at), function_of.get_mut(at)) {
                (*place, *own) = (offset, function);
            }
            open.extend(vertex.children.iter().rev().copied());
        }
        let mut symbols = offsets.symbols;
        symbols.sort_by_key(|s| s.offset);
        Self {
            of,
            outside,
            end,
            symbols,
        }
    }
}

/// What a function is called. ScalAna's files have no names; the first tree is that of `main`.
fn function_name(tree: &Tree, at: usize, extra: &Extra) -> String {
    let Some(vertex) = tree.vertices.get(at) else {
        return String::new();
    };
    if let Some(name) = extra.names.get(&vertex.id) {
        return name.clone();
    }
    if tree.roots.first() == Some(&at) {
        return "main".to_string();
    }
    let file = tree.file(vertex);
    match (file.rsplit('/').next().unwrap_or(""), vertex.lines.0) {
        ("", _) | (_, 0) => format!("func@{}", vertex.id),
        (file, line) => format!("func@{file}:{line}"),
    }
}

/// What a vertex is, and the name of what it calls.
fn part(tree: &Tree, at: usize, functions: &Functions, extra: &Extra) -> (Part, String) {
    let Some(vertex) = tree.vertices.get(at) else {
        return (Part::Comp, String::new());
    };
    let called = || {
        let children = vertex.children.iter();
        let is_function = |c: &&usize| {
            let child = tree.vertices.get(**c);
            child.is_some_and(|c| c.kind == Type::Function)
        };
        let mut called = children.filter(is_function);
        match (called.next(), called.next()) {
            (Some(one), None) => function_name(tree, *one, extra),
            _ => String::new(),
        }
    };
    let known = extra.names.get(&vertex.id).cloned();
    match vertex.kind {
        Type::Mpi(id) => (Part::Call, functions.name(id)),
        Type::Loop => (Part::Loop, String::new()),
        Type::Branch => (Part::Branch, String::new()),
        Type::Call => (Part::Call, known.unwrap_or_else(called)),
        Type::Indirect => (Part::IndirectCall, known.unwrap_or_else(called)),
        Type::Recursive => (Part::RecursiveCall, known.unwrap_or_default()),
        Type::Function | Type::Comp | Type::Combined | Type::Unknown => (Part::Comp, String::new()),
    }
}

impl Offsets {
    fn function(&mut self, name: &str, file: &str, lines: (u32, u32)) -> u64 {
        let key = (name.to_string(), file.to_string(), lines.0, lines.1);
        if let Some(offset) = self.functions.get(&key) {
            return *offset;
        }
        let numbers = [lines.0.to_le_bytes(), lines.1.to_le_bytes()].concat();
        let own = hash(&[name.as_bytes(), file.as_bytes(), &numbers]);
        // From 1 on, and well below what offsets may be.
        let mut offset = (own >> (INSIDE + 2)).max(1) << INSIDE;
        while !self.taken.insert(offset) {
            offset += 1 << INSIDE;
        }
        self.functions.insert(key, offset);
        self.symbols.push(Symbol {
            offset,
            function: true,
            name: name.to_string(),
            file: file.to_string(),
            first_line: lines.0,
            last_line: lines.1,
            ..Default::default()
        });
        offset
    }

    /// A part of a function; behind the part that it is in, and in the order of lines where they allow it.
    fn part(&mut self, function: u64, key: Key, part: Part, name: &str, file: &str) -> u64 {
        if let Some(offset) = self.parts.get(&key) {
            return *offset;
        }
        let (around, _, lines, _) = key;
        let room = 1_u64 << INSIDE;
        let by_line = u64::from(lines.0) << ON_LINE;
        let least = around.saturating_sub(function) + 1;
        let mut inside = match by_line < room {
            true => by_line.max(least),
            false => least,
        };
        while inside < room && !self.taken.insert(function + inside) {
            inside += 1;
        }
        // So many parts that a function has no room for another one are no function.
        let offset = if inside < room {
            function + inside
        } else {
            around
        };
        self.parts.insert(key, offset);
        if offset != around {
            self.symbols.push(Symbol {
                offset,
                part,
                around: if around == function { 0 } else { around },
                name: name.to_string(),
                file: file.to_string(),
                first_line: lines.0,
                last_line: lines.1,
                ..Default::default()
            });
        }
        offset
    }
}
