//! Holds both front ends against each other: which loops and MPI calls agree by line, and why the others do not.

use super::attach::{exported, openness};
use super::matching::{Key, KeyKind, MatchedFunction, binary_key, compiler_key, matched};
use super::program::Program;
use super::records;
use crate::elf::Image;
use headwater_model::dependence::Comparison;
use headwater_model::psg::ModuleStructure;
use std::collections::BTreeMap;

/// Compares a structure with the section of its file.
pub fn compare(image: &Image<'_>, structure: &ModuleStructure) -> Option<Comparison> {
    let (records, _) = records(image)?;
    let (open, others) = openness(image, structure, &records);
    let exported = exported(image);
    let program = Program::new(&records, open, &exported);
    let functions = matched(structure, &program);
    let all = program.functions();
    let (count, before, after) = all.fold((0, 0, 0), |(n, before, after), (_, f)| {
        (n + 1, before + f.before, after + 1 + f.vertices.len())
    });
    let mut out = Comparison {
        functions: functions.len(),
        functions_of_binary: others,
        functions_of_compiler: count - functions.len().min(count),
        before,
        after,
        ..Default::default()
    };
    for function in &functions {
        add(structure, &program, function, &mut out);
    }
    Some(out)
}

fn add(
    structure: &ModuleStructure,
    program: &Program<'_>,
    function: &MatchedFunction,
    out: &mut Comparison,
) {
    let Some(own) = structure.functions.get(function.index as usize) else {
        return;
    };
    // By place: whether the machine code has it, and the compiler.
    let mut places: BTreeMap<Key, (bool, bool)> = BTreeMap::new();
    let parts = function.matches.iter().filter(|m| m.part);
    let parts: Vec<u32> = parts.map(|m| m.vertex).collect();
    out.loops.parts += parts.len();
    for vertex in 0..own.vertices.len() as u32 {
        if parts.binary_search(&vertex).is_err()
            && let Some(key) = binary_key(structure, own, vertex)
        {
            places.entry(key).or_default().0 = true;
        }
    }
    for v in program
        .function(function.id)
        .map_or(&[][..], |f| &f.vertices)
    {
        places
            .entry(compiler_key(program, function.id, v))
            .or_default()
            .1 = true;
    }
    let name = structure.string(own.name);
    let lines: Vec<(Key, bool)> = places
        .iter()
        .filter(|(_, (binary, compiler))| binary != compiler)
        .map(|(k, (binary, _))| (k.clone(), *binary))
        .collect();
    for (key, (binary, compiler)) in &places {
        let agreement = match key.kind {
            KeyKind::Loop => &mut out.loops,
            KeyKind::MpiCall => &mut out.mpi,
            _ => continue,
        };
        if *binary && *compiler {
            agreement.both += 1;
            continue;
        }
        let near = |(other, of_binary): &(Key, bool)| {
            of_binary != binary
                && other.kind == key.kind
                && other.file == key.file
                && other.line.abs_diff(key.line) <= 2
        };
        let why = match (binary, key.line) {
            (_, 0) => "has no line",
            _ if lines.iter().any(near) => "the other has it at a line nearby",
            (true, _) if key.kind == KeyKind::Loop => {
                "made of other code by the compiler after the plugin, or a library function's loop"
            }
            (true, _) => "called where the compiler has no call",
            (false, _) if key.kind == KeyKind::Loop => {
                "unrolled, removed or merged into straight code after the plugin"
            }
            (false, _) => "removed after the plugin",
        };
        let side = if *binary { "machine code" } else { "compiler" };
        let what = match key.kind {
            KeyKind::Loop => "loop",
            _ => key.callee.as_str(),
        };
        agreement.others.push(format!(
            "{what} at {}:{} in {name}: {side} only; {why}",
            key.file, key.line
        ));
    }
}
