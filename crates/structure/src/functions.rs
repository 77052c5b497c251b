//! Where a module's functions lie: symbols, unwind tables, targets of calls, and what these leave out.
//!
//! Symbols and unwind tables list nearly all functions of nearly all files. In what they leave out,
//! functions begin where calls lead, and at code that nothing before it leads to.

use crate::debug::Split;
use crate::decode::decode;
use crate::elf::{Image, Machine, Symbol, symbols};
use crate::flow::{Callee, Flow, analyse};
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::Object;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A function of the module.
#[derive(Debug, Default)]
pub struct Function {
    /// Its code; the first range holds the entry, the others are sorted.
    pub ranges: Vec<(u64, u64)>,
    /// Its name in the symbol table, or `None`.
    pub name: Option<String>,
    /// Whether the file contains its end; otherwise it is guessed from where the next function begins.
    pub exact: bool,
    /// Its flow.
    pub flow: Flow,
    /// Whether the flow is that of these ranges and of what is known of callees.
    pub analysed: bool,
}

impl Function {
    /// Finds its flow; `returns` says of a callee whether it comes back.
    pub fn analyse(&mut self, image: &Image<'_>, returns: impl Fn(Callee) -> bool) {
        self.flow = analyse(image, &self.ranges, returns);
        self.analysed = true;
    }

    /// Where it is entered.
    pub fn address(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0)
    }
}

/// Times that newly found functions are searched for others.
const ROUNDS: u32 = 32;

/// All functions with their flows, sorted by entry, without overlap, from the `starts` that the file
/// [lists](listed); `returns` says of a callee whether it comes back.
pub fn find(
    image: &Image<'_>,
    mut starts: Vec<Symbol>,
    returns: impl Fn(Callee) -> bool + Sync,
) -> Vec<Function> {
    let mut known: BTreeMap<u64, Function> = BTreeMap::new();
    for round in 0.. {
        lay_out(image, &starts, &mut known);
        let open: Vec<&mut Function> = known.values_mut().filter(|f| !f.analysed).collect();
        let changed: Vec<u64> = open.iter().map(|f| f.address()).collect();
        open.into_par_iter()
            .for_each(|f| f.analyse(image, &returns));
        let mut more = led_to(image, &known, &changed);
        if more.is_empty() {
            more = left_out(image, &known);
        }
        if more.is_empty() || round == ROUNDS {
            break;
        }
        starts.extend(more);
        tidy(&mut starts);
    }
    known.into_values().collect()
}

/// Functions that the file or its split debug information lists, sorted.
pub fn listed(image: &Image<'_>, split: &Split) -> Vec<Symbol> {
    let mut all = symbols(&image.file);
    let own = split.own.as_ref();
    if let Some(file) = own.and_then(|bytes| object::File::parse(&bytes[..]).ok()) {
        all.extend(symbols(&file));
    }
    all.extend(unwind_functions(image));
    all.push(Symbol {
        address: image.file.entry(),
        size: 0,
        name: None,
    });
    all.retain(|f| image.code_at(f.address).is_some());
    tidy(&mut all);
    all
}

/// Sorts symbols, one for each address.
fn tidy(all: &mut Vec<Symbol>) {
    // Of names for one address, the one that a linker would show: with a size, then the shortest.
    all.sort_by(|a, b| {
        let key = |s: &Symbol| {
            let length = s.name.as_ref().map_or(0, String::len);
            (s.address, s.name.is_none(), s.size == 0, length)
        };
        key(a).cmp(&key(b)).then(a.name.cmp(&b.name))
    });
    all.dedup_by(|next, kept| {
        let same = next.address == kept.address;
        if same {
            kept.size = kept.size.max(next.size);
        }
        same
    });
}

fn unwind_functions(image: &Image<'_>) -> Vec<Symbol> {
    let Some(section) = image.sections.iter().find(|s| s.name == ".eh_frame") else {
        return Vec::new();
    };
    let frames = EhFrame::new(&section.data, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address);
    let mut entries = frames.entries(&bases);
    let mut out = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(|f, b, o| f.cie_from_offset(b, o)) else {
            continue;
        };
        out.push(Symbol {
            address: fde.initial_address(),
            size: fde.len(),
            name: None,
        });
    }
    out
}

/// Gives each start its range up to the next; functions whose range changes lose their flow.
fn lay_out(image: &Image<'_>, starts: &[Symbol], known: &mut BTreeMap<u64, Function>) {
    let next = starts.iter().skip(1).map(|s| s.address).chain([u64::MAX]);
    for (start, next) in starts.iter().zip(next) {
        let Some(section) = image.code_at(start.address) else {
            continue;
        };
        let room = next.min(section.end()) - start.address;
        let exact = start.size > 0;
        let size = if exact { start.size.min(room) } else { room };
        let range = (start.address, start.address + size);
        let function = known.entry(start.address).or_default();
        if function.ranges != [range] {
            *function = Function {
                ranges: vec![range],
                name: start.name.clone(),
                exact,
                ..Function::default()
            };
        }
    }
}

/// Starts that calls and jumps of the functions at `changed` lead to, and that are behind code that
/// leads nowhere, where the end of a function is not known.
fn led_to(image: &Image<'_>, known: &BTreeMap<u64, Function>, changed: &[u64]) -> Vec<Symbol> {
    let free = |address: &u64| {
        let before = known.range(..=*address).next_back();
        image.code_at(*address).is_some()
            && before.is_none_or(|(start, f)| {
                start != address && (!f.exact || f.ranges.iter().all(|r| r.1 <= *address))
            })
    };
    let found = changed.par_iter().flat_map_iter(|start| {
        let function = known.get(start);
        let sites = function.map_or(&[][..], |f| &f.flow.sites);
        let called = sites.iter().filter_map(|s| match s.callee {
            Callee::Address(to) => Some(to),
            _ => None,
        });
        let orphans = function
            .filter(|f| !f.exact)
            .map_or(Vec::new(), |f| orphans(image, f));
        called.chain(orphans).filter(free)
    });
    let mut found: Vec<u64> = found.collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(unnamed).collect()
}

fn unnamed(address: u64) -> Symbol {
    Symbol {
        address,
        size: 0,
        name: None,
    }
}

/// Code of a function without a known end that nothing in it leads to: another function.
fn orphans(image: &Image<'_>, function: &Function) -> Vec<u64> {
    let flow = &function.flow;
    if flow.unresolved > 0 {
        return Vec::new();
    }
    let mut led = vec![false; flow.blocks.len()];
    for to in flow.successors.iter().flatten() {
        led[*to as usize] = true;
    }
    let alone = (0u32..)
        .zip(&flow.blocks)
        .filter(|(i, _)| *i != flow.entry && !led[*i as usize]);
    alone
        .filter_map(|(_, b)| behind_padding(image, b.start, b.end))
        .collect()
}

/// Starts in stretches of code that no function holds.
fn left_out(image: &Image<'_>, known: &BTreeMap<u64, Function>) -> Vec<Symbol> {
    let mut out = Vec::new();
    let sections = image.sections.iter().filter(|s| s.code && !s.is_stubs());
    for section in sections {
        let mut at = section.address;
        let inside = known.range(section.address..section.end());
        let ends = inside.flat_map(|(_, f)| &f.ranges).copied();
        for (start, end) in ends.chain([(section.end(), section.end())]) {
            if at < start {
                out.extend(behind_padding(image, at, start).map(unnamed));
            }
            at = at.max(end);
        }
    }
    out
}

/// The first address in `[start, end)` that holds more than padding.
fn behind_padding(image: &Image<'_>, start: u64, end: u64) -> Option<u64> {
    let bytes = image.bytes_at(start)?;
    let length = usize::try_from(end - start).ok()?.min(bytes.len());
    let bytes = bytes.get(..length)?;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|r| !r.is_empty()) {
        match padding(image.machine, rest) {
            0 => {
                let begin = start + at as u64;
                // What is too short for any function, or cannot be decoded, is padding too.
                let ops = decode(image.machine, rest.get(..rest.len().min(16))?, begin);
                return (!ops.is_empty()).then_some(begin);
            }
            length => at += length,
        }
    }
    None
}

/// Bytes of padding that `bytes` begin with.
fn padding(machine: Machine, bytes: &[u8]) -> usize {
    match (machine, bytes) {
        (Machine::X86, [0, ..]) => 1,
        (Machine::Arm, [0, 0, 0, 0, ..]) => 4,
        (Machine::Arm, [0x1f, 0x20, 0x03, 0xd5, ..]) => 4,
        (Machine::X86, _) => crate::x86::padding(bytes),
        _ => 0,
    }
}
