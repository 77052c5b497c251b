//! Adds to a structure from machine code what the compiler says of its vertices.

use super::matching::{Match, base, matched};
use super::merged::{Merged, merged};
use super::program::{FunctionId, Program};
use super::record::{Kind, Record};
use super::{follow, meaning, records, unreadable};
use crate::elf::Image;
use headwater_model::dependence::{Condition, Dependence, Dependences, Origin, Parameter, Source};
use headwater_model::psg::{Function, ModuleStructure};
use object::{Object, ObjectSection, ObjectSymbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// Conditions around a vertex that are kept, the innermost ones.
const AROUND: usize = 64;

/// Functions that linking adds.
const START: [&str; 10] = [
    "_start",
    "_init",
    "_fini",
    "deregister_tm_clones",
    "register_tm_clones",
    "__do_global_dtors_aux",
    "frame_dummy",
    "_dl_relocate_static_pie",
    "__libc_csu_init",
    "__libc_csu_fini",
];

/// Beginnings of symbols of language runtimes that are linked statically: they call and write only what they are given.
/// A user's function may have such a name, too; but runtimes come without debug information.
const RUNTIME: [&str; 13] = [
    "_ZL21CloseAll",
    "_ZL30Describe",
    "_Fortran",
    "_ZN7Fortran",
    "_ZNK7Fortran",
    "_ZTh",
    "_ZTv",
    "_ZSt",
    "_ZNSt",
    "_ZNKSt",
    "_ZN9__gnu_cxx",
    "_GLOBAL__sub_I_external_unit",
    "__",
];

/// Symbols of language runtimes whose names users could have chosen, too, so that only these are meant.
const RUNTIME_NAMES: [&str; 17] = [
    "AllocateValidatedPointerPayload",
    "CFI_address",
    "CFI_allocate",
    "CFI_deallocate",
    "CFI_establish",
    "CFI_is_contiguous",
    "CFI_section",
    "CFI_select_part",
    "CFI_setpointer",
    "ConvertDecimalToDouble",
    "ConvertDecimalToFloat",
    "ConvertDecimalToLongDouble",
    "ConvertDoubleToDecimal",
    "ConvertFloatToDecimal",
    "ConvertLongDoubleToDecimal",
    "ValidatePointerPayload",
    "atexit",
];

/// Whether a symbol is the language runtime's.
fn is_runtime(symbol: &str) -> bool {
    // Procedures of Fortran modules begin with `__`, too, as gfortran names them.
    RUNTIME.iter().any(|p| symbol.starts_with(p)) && !symbol.contains("_MOD_")
        || symbol.starts_with("_Z") && symbol.contains("Fortran")
        || RUNTIME_NAMES.contains(&symbol)
}

/// Whether debug information has a function.
fn has_lines(function: &Function) -> bool {
    function.vertices.iter().any(|v| v.first_line > 0)
}

/// Reads the compiler's section of a file, if it has one.
pub fn attach(image: &Image<'_>, structure: &mut ModuleStructure) {
    let Some((records, problems)) = records(image) else {
        return;
    };
    for problem in problems {
        structure.problems.push(format!(
            "{}; that of the machine code is used in its place",
            unreadable(&problem)
        ));
    }
    if records.is_empty() {
        return;
    }
    let (open, others) = openness(image, structure, &records);
    if others > 0 {
        structure.problems.push(format!(
            "{others} functions were compiled without headwater's plugin, so what they may change is unknown to it"
        ));
    }
    let exported = exported(image);
    let program = Program::new(&records, open, &exported);
    let mut all = Builder {
        program: &program,
        known: FxHashMap::default(),
        out: Dependences::default(),
    };
    let mut calls = Vec::new();
    for function in matched(structure, &program) {
        for found in &function.matches {
            let dependence = all.dependence(function.index, function.id, found);
            all.out.vertices.push(dependence);
        }
        if let Some(own) = structure.functions.get(function.index as usize) {
            let found = merged(structure, own, &program, function.id);
            calls.extend(found.into_iter().map(|m| (function.index, m)));
        }
    }
    let makers = records.iter().map(|r| r.string(r.maker).to_string());
    let mut out = all.out;
    out.makers = makers.collect();
    out.makers.sort();
    out.makers.dedup();
    structure.dependences = out;
    for (function, merged) in &calls {
        give_lines(structure, *function, merged);
    }
}

/// Gives calls that were merged the lines that they stand for, and the file as other places of the function have it.
fn give_lines(structure: &mut ModuleStructure, function: u32, merged: &Merged) {
    let Some(own) = structure.functions.get(function as usize) else {
        return;
    };
    let mut files = own.vertices.iter().filter_map(|v| v.file);
    let file = files.find(|f| base(structure.string(*f)) == merged.file);
    let lines = merged.lines.first().zip(merged.lines.last());
    let (Some(file), Some((first, last))) = (file, lines) else {
        return;
    };
    let own = structure.functions.get_mut(function as usize);
    let vertices = own.map_or(&mut [][..], |f| &mut f.vertices);
    for vertex in &merged.vertices {
        if let Some(vertex) = vertices.get_mut(*vertex as usize) {
            vertex.file = Some(file);
            (vertex.first_line, vertex.last_line) = (*first, *last);
        }
    }
}

/// Symbols of a program that shared libraries see: they may call these functions and write these variables.
pub fn exported(image: &Image<'_>) -> FxHashSet<String> {
    let defined = image.file.dynamic_symbols().filter(|s| !s.is_undefined());
    let names = defined.filter_map(|s| Some(s.name().ok()?.to_string()));
    names.collect()
}

/// Whether code that no record describes may call functions of the module or write its globals, and how many functions
/// of the module have no record.
pub fn openness(
    image: &Image<'_>,
    structure: &ModuleStructure,
    records: &[Record],
) -> (bool, usize) {
    let symbols = records.iter().flat_map(|r| {
        let functions = r.functions.iter().map(|f| f.symbol);
        let aliases = r.aliases.iter().map(|(alias, _)| *alias);
        functions.chain(aliases).map(|s| r.string(s))
    });
    let described: FxHashSet<&str> = symbols.collect();
    let others = structure.functions.iter().filter(|f| {
        let symbol = f.symbol.map(|s| structure.string(s));
        let runtime = |s| is_runtime(s) && !has_lines(f);
        symbol.is_some_and(|s| !START.contains(&s) && !runtime(s) && !described.contains(s))
    });
    let others = others.count();
    let program = image.file.sections().any(|s| s.name() == Ok(".interp"));
    (!program || others > 0, others)
}

struct Builder<'p, 'a> {
    program: &'p Program<'a>,
    /// Conditions by the compiler's vertices.
    known: FxHashMap<(FunctionId, Vec<u32>), u32>,
    out: Dependences,
}

impl Builder<'_, '_> {
    fn dependence(&mut self, function: u32, id: FunctionId, found: &Match) -> Dependence {
        let Some(of) = self.program.function(id) else {
            return empty(function, found.vertex);
        };
        // The vertices around each candidate that have a condition, from the innermost.
        let chains: Vec<Vec<u32>> = found
            .candidates
            .iter()
            .map(|c| {
                let next = |v: &u32| of.vertices.get(*v as usize)?.parent;
                let around = std::iter::successors(Some(*c), next);
                let conditional = |v: &u32| {
                    let vertex = of.vertices.get(*v as usize);
                    vertex.is_some_and(|v| v.kind != Kind::Call)
                };
                around.filter(conditional).take(AROUND + 1).collect()
            })
            .collect();
        let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
        let mut conditions = Vec::new();
        for depth in 0..longest.min(AROUND) {
            let mut level: Vec<u32> = chains
                .iter()
                .filter_map(|c| c.get(depth).copied())
                .collect();
            level.sort_unstable();
            level.dedup();
            conditions.push(self.condition(id, level));
        }
        // What is left out is not known.
        if longest > AROUND {
            conditions.push(self.unknown());
        }
        let first = found.candidates.first();
        let vertex = first.and_then(|c| of.vertices.get(*c as usize));
        let own = vertex.is_some_and(|v| v.kind != Kind::Call);
        let parameters = match (vertex, &found.candidates[..]) {
            (Some(v), [_]) if v.kind == Kind::Call => self.parameters(id, v.call),
            _ => Vec::new(),
        };
        Dependence {
            function,
            vertex: found.vertex,
            conditions,
            own,
            parameters,
        }
    }

    /// A condition that is not known.
    fn unknown(&mut self) -> u32 {
        let sources = vec![Source {
            origin: Origin::Unknown,
            chain: Vec::new(),
        }];
        self.out.conditions.push(Condition {
            bound: false,
            file: None,
            line: 0,
            sources,
        });
        self.out.conditions.len() as u32 - 1
    }

    /// The condition of some vertices that cannot be distinguished: if they differ, it is not known.
    fn condition(&mut self, id: FunctionId, vertices: Vec<u32>) -> u32 {
        if let Some(known) = self.known.get(&(id, vertices.clone())) {
            return *known;
        }
        let number = self.out.conditions.len() as u32;
        let of = self.program.function(id);
        let all = vertices
            .iter()
            .filter_map(|v| of?.vertices.get(*v as usize));
        let mut condition = Condition {
            bound: false,
            file: None,
            line: 0,
            sources: Vec::new(),
        };
        for (i, v) in all.enumerate() {
            let file = self.program.string(id.unit, v.at.file);
            condition.bound |= v.kind == Kind::Loop;
            condition.file = (!file.is_empty()).then(|| file.to_string());
            condition.line = v.at.line;
            let sources = follow::origins(self.program, id, &v.conditions);
            let origins = |s: &[Source]| s.iter().map(|s| s.origin).collect::<Vec<Origin>>();
            if i == 0 {
                condition.sources = sources;
            } else if origins(&sources) != origins(&condition.sources) {
                condition.sources = vec![Source {
                    origin: Origin::Unknown,
                    chain: Vec::new(),
                }];
                break;
            }
        }
        self.out.conditions.push(condition);
        self.known.insert((id, vertices), number);
        number
    }

    /// Parameters of a call of MPI that differ between ranks or scales.
    fn parameters(&self, id: FunctionId, call: u32) -> Vec<Parameter> {
        let Some(call) = self
            .program
            .function(id)
            .and_then(|f| f.calls.get(call as usize))
        else {
            return Vec::new();
        };
        let Some(function) = meaning::mpi(self.program.string(id.unit, call.callee)) else {
            return Vec::new();
        };
        let matters = |i: &usize| {
            function
                .roles
                .get(*i)
                .is_some_and(|r| meaning::says_how_much(*r))
        };
        let positions = (0..call.arguments.len()).filter(matters);
        let found = positions.filter_map(|i| {
            let argument = &call.arguments[i];
            let mut sources = follow::given(self.program, id, argument);
            sources.retain(|s| !matches!(s.origin, Origin::Constant | Origin::Unknown));
            (!sources.is_empty()).then_some(Parameter {
                position: i as u32 + 1,
                sources,
            })
        });
        found.collect()
    }
}

fn empty(function: u32, vertex: u32) -> Dependence {
    Dependence {
        function,
        vertex,
        conditions: Vec::new(),
        own: false,
        parameters: Vec::new(),
    }
}
