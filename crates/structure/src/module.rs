//! The structure of a whole module, put together from its functions.

use crate::callees::Callees;
use crate::calls::Calls;
use crate::debug::Split;
use crate::draft::{Draft, Name};
use crate::dwarf::Info;
use crate::elf::Image;
use crate::flow::Flow;
use crate::inlines::Inlines;
use crate::no_return::NoReturn;
use crate::tree::Builder;
use crate::{Options, arithmetic, functions, parts, stubs};
use headwater_model::psg::{Arithmetic, Counts, Function, LineRow, ModuleStructure, Vertex};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Builds the structure of a module.
pub fn build(
    path: &Path,
    image: &Image<'_>,
    split: &Split,
    info: &Info,
    options: &Options,
) -> ModuleStructure {
    let stubs = stubs::names(image);
    let listed = functions::listed(image, split);
    let mut no_return = NoReturn::by_name(image, &stubs, &listed);
    let found = functions::find(image, listed, |callee| no_return.returns(callee));
    let mut functions = parts::join(found);
    no_return.settle(image, &stubs, &mut functions);
    let calls = Calls::new(&functions, Callees::new(&functions, image, &stubs));
    type Built<'a> = (Draft<'a>, Counts, Vec<Arithmetic>);
    let drafts: Vec<Built<'_>> = functions
        .par_iter_mut()
        .enumerate()
        .map(|(index, function)| {
            let inlines = Inlines::new(info, function.address());
            let (draft, counts) = Builder::new(index, function, &inlines, &calls, options).build();
            let arithmetic = arithmetic::by_vertex(index as u32, &function.flow, &draft.owners);
            // All flows of a big library take more room than all of the rest.
            function.flow = Flow {
                unresolved: function.flow.unresolved,
                ..Flow::default()
            };
            (draft, counts, arithmetic)
        })
        .collect();
    let mut out = ModuleStructure {
        path: path.to_string_lossy().into_owned(),
        build_id: image.build_id.clone(),
        strings: info.files.clone(),
        ..Default::default()
    };
    out.lines = info
        .rows
        .iter()
        .map(|r| LineRow {
            address: r.address,
            file: (r.file != u32::MAX).then_some(r.file),
            line: r.line,
        })
        .collect();
    let mut strings = Strings::new(std::mem::take(&mut out.strings), &calls.callees.readable);
    for (number, ((draft, counts, arithmetic), function)) in
        (0u32..).zip(drafts.into_iter().zip(&functions))
    {
        out.arithmetic.extend(arithmetic);
        let name = strings.callee(number);
        let symbol = function.name.as_deref().map(|n| strings.number(n));
        let mut vertices = Vec::with_capacity(draft.vertices.len());
        vertices.extend(draft.vertices.into_iter().map(|v| Vertex {
            kind: v.kind,
            parent: v.parent,
            name: v.name.map(|name| match name {
                Name::Callee(number) => strings.callee(number),
                Name::Inlined(name) => strings.number(name),
            }),
            file: (v.file != u32::MAX).then_some(v.file),
            first_line: v.first_line,
            last_line: v.last_line,
            address: v.address,
        }));
        out.functions.push(Function {
            name,
            symbol,
            ranges: function.ranges.clone(),
            vertices,
            owners: draft.owners,
        });
        let c = &mut out.counts;
        c.before += counts.before;
        c.after += counts.after;
        c.loops += counts.loops;
        c.branches += counts.branches;
        c.comps += counts.comps;
        c.mpi += counts.mpi;
    }
    out.strings = strings.all;
    out.problems.extend(split.problems.iter().cloned());
    if !info.present {
        out.problems.push("no debug information: places are named by function and address; compile with -g to see source lines".into());
    }
    if info.elsewhere > 0 {
        out.problems.push(format!(
            "inlined functions of {} compiled files are not known: compile without -gsplit-dwarf to see them",
            info.elsewhere
        ));
    }
    let unresolved: usize = functions.iter().map(|f| f.flow.unresolved).sum();
    if unresolved > 0 {
        out.problems.push(format!(
            "{unresolved} indirect jumps could not be followed; loops around them may be missing"
        ));
    }
    out
}

/// The strings of a module, each once.
struct Strings<'a> {
    all: Vec<String>,
    known: FxHashMap<&'a str, u32>,
    readable: &'a [String],
    of_callee: Vec<Option<u32>>,
}

impl<'a> Strings<'a> {
    /// Begins with some that have their numbers.
    fn new(all: Vec<String>, readable: &'a [String]) -> Self {
        Self {
            all,
            known: FxHashMap::default(),
            readable,
            of_callee: vec![None; readable.len()],
        }
    }

    fn number(&mut self, text: &'a str) -> u32 {
        *self.known.entry(text).or_insert_with(|| {
            self.all.push(text.to_string());
            self.all.len() as u32 - 1
        })
    }

    /// The name of a callee.
    fn callee(&mut self, number: u32) -> u32 {
        let index = number as usize;
        if let Some(known) = self.of_callee.get(index).copied().flatten() {
            return known;
        }
        let text = self.readable.get(index).map_or("", String::as_str);
        let new = self.number(text);
        self.of_callee[index] = Some(new);
        new
    }
}
