//! Holds both front ends against each other: which loops and MPI calls agree by line, and why the others do not.

use super::attach::{exported, openness};
use super::loops::{How, Pairing, Partner, Place};
use super::matching::{Key, KeyKind, MatchedFunction, binary_key, compiler_key, matched};
use super::merged::{Merged, merged};
use super::program::Program;
use super::{records, unreadable};
use crate::elf::Image;
use headwater_model::dependence::{Agreement, Comparison};
use headwater_model::psg::ModuleStructure;
use std::collections::{BTreeMap, BTreeSet};

/// Compares a structure with the section of its file.
pub fn compare(image: &Image<'_>, structure: &ModuleStructure) -> Option<Comparison> {
    let (records, problems) = records(image)?;
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
        problems: problems.iter().map(|p| unreadable(p)).collect(),
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
    function: &MatchedFunction<'_>,
    out: &mut Comparison,
) {
    let Some(own) = structure.functions.get(function.index as usize) else {
        return;
    };
    let name = structure.string(own.name);
    let all = loops(&function.loops, &mut out.loops);
    count(&all, &[], name, &mut out.loops);
    let mut places: Sides = Sides::new();
    let is_mpi = |k: &Key| k.kind == KeyKind::MpiCall;
    for vertex in 0..own.vertices.len() as u32 {
        if let Some(key) = binary_key(structure, own, vertex).filter(is_mpi) {
            places.entry(key).or_default().machine = true;
        }
    }
    let vertices = program.function(function.id);
    for v in vertices.map_or(&[][..], |f| &f.vertices) {
        let key = compiler_key(program, function.id, v);
        if is_mpi(&key) {
            places.entry(key).or_default().compiler = true;
        }
    }
    let merged = merged(structure, own, program, function.id);
    count(&places, &merged, name, &mut out.mpi);
}

/// Who has a place: the machine code, the compiler; and its last line.
#[derive(Default)]
struct Side {
    machine: bool,
    compiler: bool,
    /// Whether the machine code has a part of it.
    part: bool,
    last: u32,
}

type Sides = BTreeMap<Key, Side>;

impl Side {
    fn is_alone(&self) -> bool {
        self.machine != self.compiler
    }
}

/// Lines between two places that may be one.
const NEAR: u32 = 2;

/// The places of loops. A loop that is at two lines is at the compiler's; parts of loops are none.
fn loops(pairing: &Pairing<'_>, agreement: &mut Agreement) -> Sides {
    let key = |place: &Place<'_>| Key {
        kind: KeyKind::Loop,
        file: place.file.to_string(),
        line: place.first,
        callee: String::new(),
    };
    let mut out = Sides::new();
    for place in &pairing.compiler.all {
        let side = out.entry(key(place)).or_default();
        (side.compiler, side.last) = (true, side.last.max(place.last));
    }
    let mut elsewhere = BTreeSet::new();
    for (place, partner) in pairing.machine.all.iter().zip(&pairing.partners) {
        match partner {
            None => {
                let side = out.entry(key(place)).or_default();
                (side.machine, side.last) = (true, side.last.max(place.last));
            }
            Some(Partner {
                how: How::Part,
                places,
            }) => {
                agreement.parts += place.vertices.len();
                for place in places.iter().filter_map(|c| pairing.compiler.all.get(*c)) {
                    out.entry(key(place)).or_default().part = true;
                }
            }
            Some(Partner { how, places }) => {
                for place in places.iter().filter_map(|c| pairing.compiler.all.get(*c)) {
                    let key = key(place);
                    let known = out.entry(key.clone()).or_default();
                    if *how == How::Range && !known.machine {
                        elsewhere.insert(key.clone());
                    }
                    if *how == How::Line {
                        elsewhere.remove(&key);
                    }
                    known.machine = true;
                }
            }
        }
    }
    agreement.by_range += elsewhere.len();
    out
}

/// Counts the places of a function, with a sentence for each that one side has alone.
fn count(places: &Sides, merged: &[Merged], name: &str, agreement: &mut Agreement) {
    // Places without a line may be anywhere: they do not agree.
    let alone = |(k, side): &(&Key, &Side)| side.is_alone() || k.line == 0;
    let lines: Vec<(&Key, &Side)> = places.iter().filter(alone).collect();
    agreement.both += places.len() - lines.len();
    for &(key, side) in &lines {
        let binary = side.machine;
        let range = |k: &Key, s: &Side| (k.line, s.last.max(k.line).saturating_add(NEAR));
        let near = |(other, of): &(&Key, &Side)| {
            let (one, other_range) = (range(key, side), range(other, of));
            of.machine != binary
                && other.line > 0
                && other.file == key.file
                && one.0 <= other_range.1
                && other_range.0 <= one.1
        };
        let is_same_call = |callee: &str| key.kind == KeyKind::MpiCall && callee == key.callee;
        let of_machine =
            |(k, s): &(&Key, &Side)| is_same_call(&k.callee) && s.machine && k.line == 0;
        let is_without_line = lines.iter().any(of_machine);
        let of_compiler = merged.iter().find(|m| is_same_call(&m.callee));
        let why = match (binary, key.line, of_compiler) {
            (true, 0, Some(merged)) => &format!("has no line; it is {}", merged.words()),
            (_, 0, _) => "has no line",
            (false, _, Some(merged)) => {
                agreement.merged += 1;
                agreement.unclear += 1;
                match &merged.lines[..] {
                    [_] => "the machine code has it without a line",
                    _ => "merged after the plugin with an equal call, which then has no line",
                }
            }
            (false, _, _) if is_without_line => {
                agreement.unclear += 1;
                "the machine code has one without a line, which may be the same"
            }
            _ if side.part || lines.iter().any(near) => {
                agreement.unclear += 1;
                "the other has one in these lines or nearby, which may be the same"
            }
            (true, _, _) if key.kind == KeyKind::Loop => {
                "made of other code by the compiler after the plugin, or a library function's loop"
            }
            (true, _, _) => "called where the compiler has no call",
            (false, _, _) if key.kind == KeyKind::Loop => {
                "unrolled, removed or merged into straight code after the plugin"
            }
            (false, _, _) => "removed after the plugin",
        };
        let whose = match (side.machine, side.compiler) {
            (true, true) => "in both",
            (true, false) => "machine code only",
            (false, _) => "compiler only",
        };
        let what = match key.kind {
            KeyKind::Loop => "loop",
            _ => key.callee.as_str(),
        };
        agreement.others.push(format!(
            "{what} at {}:{} in {name}: {whose}; {why}",
            key.file, key.line
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of MPI that only one side has.
    fn call(callee: &str, line: u32, machine: bool) -> (Key, Side) {
        let key = Key {
            kind: KeyKind::MpiCall,
            file: "x.c".into(),
            line,
            callee: callee.into(),
        };
        let side = Side {
            machine,
            compiler: !machine,
            ..Side::default()
        };
        (key, side)
    }

    #[test]
    fn calls_that_were_merged_are_in_both_and_do_not_agree_by_line() {
        let mut places = Sides::from([
            call("MPI_Pack", 0, true),
            call("MPI_Pack", 10, false),
            call("MPI_Pack", 14, false),
            call("MPI_Send", 20, false),
            call("MPI_Recv", 0, true),
        ]);
        let (key, mut side) = call("MPI_Bcast", 30, true);
        side.compiler = true;
        places.insert(key, side);
        let mut out = Agreement::default();
        let merged = [Merged {
            callee: "MPI_Pack".into(),
            vertices: vec![7],
            file: "x.c".into(),
            lines: vec![10, 14],
        }];
        count(&places, &merged, "f", &mut out);
        assert_eq!((out.both, out.unclear, out.others.len()), (1, 2, 5));
        assert_eq!((out.merged, out.share_of_common()), (2, Some(1.0)));
        let has = |what: &str| out.others.iter().filter(|s| s.contains(what)).count();
        assert_eq!(has("merged"), 2, "{out:#?}");
        assert_eq!(has("has no line; it is one of lines 10, 14"), 1, "{out:#?}");
    }

    #[test]
    fn a_call_beside_one_that_may_be_another_is_not_called_merged() {
        let places = Sides::from([call("MPI_Pack", 0, true), call("MPI_Pack", 10, false)]);
        let mut out = Agreement::default();
        count(&places, &[], "f", &mut out);
        assert_eq!((out.both, out.unclear, out.others.len()), (0, 1, 2));
        assert_eq!((out.merged, out.share_of_common()), (0, Some(0.0)));
        assert!(!out.others.iter().any(|s| s.contains("merged")), "{out:#?}");
        assert!(out.others.iter().any(|s| s.contains("may be")), "{out:#?}");
    }

    #[test]
    fn a_call_without_a_line_on_both_sides_is_in_both() {
        let (key, mut side) = call("MPI_Pack", 0, true);
        side.compiler = true;
        let mut out = Agreement::default();
        count(&Sides::from([(key, side)]), &[], "f", &mut out);
        assert_eq!((out.both, out.others.len()), (0, 1));
        assert!(out.others[0].contains("in both; has no line"), "{out:#?}");
    }
}
