//! The structure of a whole module, put together from its functions.

use crate::calls::Calls;
use crate::draft::Draft;
use crate::dwarf::Info;
use crate::elf::Image;
use crate::flow::{Callee, Flow, analyse, stub_name};
use crate::functions::functions;
use crate::tree::Builder;
use crate::{Options, names};
use headwater_model::psg::{Counts, Function, LineRow, ModuleStructure, Vertex};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Builds the structure of a module.
pub fn build(path: &Path, image: &Image<'_>, info: &Info, options: &Options) -> ModuleStructure {
    let functions = functions(image);
    let by_address: FxHashMap<u64, &str> = functions
        .iter()
        .filter_map(|f| Some((f.address, f.name.as_deref()?)))
        .collect();
    let callee_name = |callee: Callee| -> Option<&str> {
        match callee {
            Callee::Address(a) => by_address.get(&a).copied().or_else(|| stub_name(image, a)),
            Callee::Slot(slot) => image.got.get(&slot).map(String::as_str),
            Callee::Pointer => None,
        }
    };
    let returns = |callee| !callee_name(callee).is_some_and(names::never_returns);
    let flows: Vec<Flow> = functions
        .par_iter()
        .map(|f| analyse(image, f.address, f.address + f.size, returns))
        .collect();
    let calls = Calls::new(&functions, &flows, callee_name);
    let drafts: Vec<(Draft, Counts)> = functions
        .par_iter()
        .zip(&flows)
        .enumerate()
        .map(|(index, (function, flow))| {
            Builder::new(index, function, flow, info, &calls, options).build()
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
        let name = function
            .name
            .as_deref()
            .map_or_else(|| format!("func@{:#x}", function.address), names::demangle);
        out.functions.push(Function {
            name: intern(&name, &mut out.strings),
            symbol: function
                .name
                .as_deref()
                .map(|n| intern(n, &mut out.strings)),
            ranges: vec![(function.address, function.address + function.size)],
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
    if !info.present {
        out.problems.push("no debug information: places are named by function and address; compile with -g to see source lines".into());
    }
    let unresolved: usize = flows.iter().map(|f| f.unresolved).sum();
    if unresolved > 0 {
        out.problems.push(format!(
            "{unresolved} indirect jumps could not be followed; loops around them may be missing"
        ));
    }
    out
}
