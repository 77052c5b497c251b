//! A structure as an indented tree for people.

use headwater_model::dependence::{Dependence, Source};
use headwater_model::psg::{Function, ModuleStructure, VertexKind};
use std::fmt::Write;

/// Whether the name of `function`, or of one that is inlined into it, contains `text`.
pub fn names(structure: &ModuleStructure, function: &Function, text: &str) -> bool {
    let inlined = function.vertices.iter();
    let inlined = inlined.filter(|v| v.kind == VertexKind::Inlined);
    let mut all = inlined.filter_map(|v| v.name).chain([function.name]);
    all.any(|name| structure.string(name).contains(text))
}

/// The tree of all functions.
pub fn tree(structure: &ModuleStructure) -> String {
    let mut out = String::new();
    for (number, function) in (0u32..).zip(&structure.functions) {
        let name = structure.string(function.name);
        let mut depth = vec![0usize; function.vertices.len()];
        for (i, v) in function.vertices.iter().enumerate() {
            depth[i] = v
                .parent
                .and_then(|p| depth.get(p as usize))
                .map_or(0, |d| d + 1);
            if v.kind == VertexKind::Comp {
                continue;
            }
            let label = match v.kind {
                VertexKind::Function => name.to_string(),
                VertexKind::Loop => "loop".into(),
                VertexKind::IrreducibleLoop => "irreducible loop".into(),
                VertexKind::Branch => "branch".into(),
                VertexKind::Inlined => {
                    format!("inlined {}", v.name.map_or("", |n| structure.string(n)))
                }
                _ => format!(
                    "call {}",
                    v.name.map_or("through a pointer", |n| structure.string(n))
                ),
            };
            let at = match v.file {
                Some(file) if v.first_line > 0 => {
                    let base = structure.string(file).rsplit('/').next().unwrap_or("");
                    if v.last_line > v.first_line {
                        format!("{base}:{}-{}", v.first_line, v.last_line)
                    } else {
                        format!("{base}:{}", v.first_line)
                    }
                }
                _ => format!("{:#x}", v.address),
            };
            let why = match structure.dependences.of(number, i as u32) {
                Some(dependence) => why(structure, dependence),
                None => String::new(),
            };
            let _ = writeln!(
                out,
                "{:indent$}{label}  {at}{why}",
                "",
                indent = 2 * depth[i]
            );
        }
    }
    out
}

/// What the compiler says of a vertex: where its own bound or condition comes from, or parameters of a call.
fn why(structure: &ModuleStructure, dependence: &Dependence) -> String {
    let list = |sources: &[Source]| {
        let words = sources.iter().map(|s| match s.variable() {
            Some(variable) => format!("{variable} from {}", s.words()),
            None => s.words(),
        });
        let mut words: Vec<String> = words.collect();
        words.dedup();
        words.join(", ")
    };
    let mut out = "  [compiler".to_string();
    if dependence.own
        && let Some(own) = structure.dependences.conditions(dependence).next()
    {
        out += &format!(": {}", list(&own.sources));
    }
    for parameter in &dependence.parameters {
        let all = list(&parameter.sources);
        out += &format!("; argument {}: {all}", parameter.position);
    }
    out + "]"
}
