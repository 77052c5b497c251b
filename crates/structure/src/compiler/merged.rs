//! Calls of MPI that the compiler merged after the plugin had seen them. Equal calls of several branches become one call, and
//! this has no line. The record still has the lines of all of them.

use super::matching::{Key, KeyKind, binary_key, compiler_key};
use super::program::{FunctionId, Program};
use super::record::Kind;
use headwater_model::psg::{Function, ModuleStructure};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The calls of one function of MPI that the compiler merged in one function of the program.
pub struct Merged {
    /// The function of MPI.
    pub callee: String,
    /// The calls that are left in the machine code, without a line.
    pub vertices: Vec<u32>,
    /// The file and the lines where the record has calls, and the machine code has none.
    pub file: String,
    pub lines: Vec<u32>,
}

impl Merged {
    /// "that of line 10", "one of lines 10, 14".
    pub fn words(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(u32::to_string).collect();
        match &lines[..] {
            [line] => format!("that of line {line}"),
            lines => format!("one of lines {}", lines.join(", ")),
        }
    }
}

/// What one function of MPI is called from in one function.
#[derive(Default)]
struct Calls {
    without_line: Vec<u32>,
    /// Places that the compiler has.
    places: FxHashSet<(String, u32)>,
    /// Those that it has alone.
    alone: Vec<(String, u32)>,
    /// Whether the compiler has one without a line, too, or one twice.
    is_unclear: bool,
}

/// The merged calls of a function, by callee. Merging takes calls away, so there are none where the machine code has more
/// calls without a line than the compiler has places left; nor where these are in several files. If inlining has put one
/// place into the function several times, one copy may have been merged while another one has its line still: then
/// nothing is known.
pub fn merged(
    structure: &ModuleStructure,
    function: &Function,
    program: &Program<'_>,
    id: FunctionId,
) -> Vec<Merged> {
    let is_mpi = |k: &Key| k.kind == KeyKind::MpiCall;
    let vertices = 0..function.vertices.len() as u32;
    let of_machine: Vec<(u32, Key)> = vertices
        .filter_map(|v| Some((v, binary_key(structure, function, v).filter(is_mpi)?)))
        .collect();
    let in_machine_code: FxHashSet<&Key> = of_machine.iter().map(|(_, key)| key).collect();
    let mut by_callee: BTreeMap<&str, Calls> = BTreeMap::new();
    for (vertex, key) in of_machine.iter().filter(|(_, k)| k.line == 0) {
        let calls = by_callee.entry(&key.callee).or_default();
        calls.without_line.push(*vertex);
    }
    let of_compiler = program.function(id).map_or(&[][..], |f| &f.vertices);
    for v in of_compiler.iter().filter(|v| v.kind == Kind::Call) {
        let key = compiler_key(program, id, v);
        let Some(calls) = by_callee.get_mut(key.callee.as_str()) else {
            continue;
        };
        let is_new = calls.places.insert((key.file.clone(), key.line));
        calls.is_unclear |= key.line == 0 || !is_new;
        if !in_machine_code.contains(&key) {
            calls.alone.push((key.file, key.line));
        }
    }
    let all = by_callee.into_iter().filter_map(|(callee, mut calls)| {
        calls.alone.sort();
        let (file, _) = calls.alone.first()?.clone();
        let is_known = !calls.is_unclear
            && calls.without_line.len() <= calls.alone.len()
            && calls.alone.iter().all(|(other, _)| *other == file);
        is_known.then(|| Merged {
            vertices: calls.without_line,
            file,
            callee: callee.to_string(),
            lines: calls.alone.into_iter().map(|(_, line)| line).collect(),
        })
    });
    all.collect()
}
