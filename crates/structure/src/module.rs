//! The structure of a whole module, put together from its functions.

use crate::calls::Calls;
use crate::debug::Split;
use crate::draft::Draft;
use crate::dwarf::Info;
use crate::elf::Image;
use crate::no_return::NoReturn;
use crate::tree::Builder;
use crate::{Options, functions, names, parts, stubs};
use headwater_model::psg::{Counts, Function, LineRow, ModuleStructure, Vertex};
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
    let told = functions::told(image, split);
    let mut no_return = NoReturn::by_name(image, &stubs, &told);
    let found = functions::find(image, told, |callee| no_return.returns(callee));
    let mut functions = parts::join(found);
    no_return.settle(image, &stubs, &mut functions);
    let calls = Calls::new(&functions, image, &stubs);
    let drafts: Vec<(Draft, Counts)> = functions
        .par_iter()
        .enumerate()
        .map(|(index, function)| Builder::new(index, function, info, &calls, options).build())
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
    let mut strings: FxHashMap<String, u32> = FxHashMap::default();
    let mut intern = |text: &str, all: &mut Vec<String>| {
        *strings.entry(text.to_string()).or_insert_with(|| {
            all.push(text.to_string());
            all.len() as u32 - 1
        })
    };
    for ((draft, counts), function) in drafts.into_iter().zip(&functions) {
        let vertices = draft.vertices.into_iter().map(|v| Vertex {
            kind: v.kind,
            parent: v.parent,
            name: v.name.map(|n| intern(&n, &mut out.strings)),
            file: (v.file != u32::MAX).then_some(v.file),
            first_line: v.first_line,
            last_line: v.last_line,
            address: v.address,
        });
        let vertices = vertices.collect();
        let name = function.name.as_deref().map_or_else(
            || format!("func@{:#x}", function.address()),
            names::demangle,
        );
        out.functions.push(Function {
            name: intern(&name, &mut out.strings),
            symbol: function
                .name
                .as_deref()
                .map(|n| intern(n, &mut out.strings)),
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
    out.problems.extend(split.problems.iter().cloned());
    if !info.present {
        out.problems.push("no debug information: places are named by function and address; compile with -g to see source lines".into());
    }
    let unresolved: usize = functions.iter().map(|f| f.flow.unresolved).sum();
    if unresolved > 0 {
        out.problems.push(format!(
            "{unresolved} indirect jumps could not be followed; loops around them may be missing"
        ));
    }
    out
}
