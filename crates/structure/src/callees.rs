//! Whom call sites can call, numbered: the functions of the module, then those that it imports.

use crate::elf::Image;
use crate::flow::Callee;
use crate::functions::Function;
use crate::names;
use headwater_model::psg::VertexKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// All callees of a module.
pub struct Callees {
    /// How many of them are functions of the module.
    functions: u32,
    by_address: FxHashMap<u64, u32>,
    by_slot: FxHashMap<u64, u32>,
    /// Names for people.
    pub readable: Vec<String>,
    /// Kinds of calls that names show.
    kinds: Vec<Option<VertexKind>>,
}

impl Callees {
    /// Numbers the functions of a module and what its stubs and slots name.
    pub fn new(functions: &[Function], image: &Image<'_>, stubs: &FxHashMap<u64, &str>) -> Self {
        let mut symbols: Vec<Option<&str>> = functions.iter().map(|f| f.name.as_deref()).collect();
        let (mut by_address, mut by_name) = (FxHashMap::default(), FxHashMap::default());
        for (i, function) in (0u32..).zip(functions) {
            by_address.insert(function.address(), i);
            function.name.as_deref().map(|n| by_name.insert(n, i));
        }
        let mut number = |name| {
            *by_name.entry(name).or_insert_with(|| {
                symbols.push(Some(name));
                symbols.len() as u32 - 1
            })
        };
        // In the order of addresses, so that the numbers are the same every time.
        let mut imported: Vec<(u64, &str)> = stubs.iter().map(|(a, n)| (*a, *n)).collect();
        imported.sort_unstable();
        for (stub, name) in imported {
            by_address.entry(stub).or_insert_with(|| number(name));
        }
        let mut slots: Vec<(u64, &str)> = image.got.iter().map(|(a, n)| (*a, &n[..])).collect();
        slots.sort_unstable();
        let by_slot = slots.into_iter().map(|(a, n)| (a, number(n))).collect();
        let readable = |(i, symbol): (usize, &Option<&str>)| match (symbol, functions.get(i)) {
            (Some(name), _) => names::demangle(name),
            (None, function) => format!("func@{:#x}", function.map_or(0, Function::address)),
        };
        Self {
            functions: functions.len() as u32,
            by_address,
            by_slot,
            readable: symbols.par_iter().enumerate().map(readable).collect(),
            kinds: symbols.iter().map(|s| names::call_kind((*s)?)).collect(),
        }
    }

    /// The number of a callee that is known.
    pub fn number(&self, callee: Callee) -> Option<u32> {
        match callee {
            Callee::Address(a) => self.by_address.get(&a).copied(),
            Callee::Slot(slot) => self.by_slot.get(&slot).copied(),
            Callee::Pointer => None,
        }
    }

    /// The function of this module with a number.
    pub fn function(&self, number: u32) -> Option<usize> {
        (number < self.functions).then_some(number as usize)
    }

    /// What a call of it is, as far as its name shows.
    pub fn kind(&self, number: u32) -> Option<VertexKind> {
        self.kinds.get(number as usize).copied().flatten()
    }
}
