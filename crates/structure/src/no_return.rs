//! Callees that do not come back: those known by name, and functions that only lead to others that
//! do not.

use crate::elf::{Image, Symbol};
use crate::flow::{Callee, Site};
use crate::functions::Function;
use crate::names::never_returns;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Callees that do not come back.
#[derive(Debug, Default)]
pub struct NoReturn {
    /// Functions and stubs.
    addresses: FxHashSet<u64>,
    /// GOT slots.
    slots: FxHashSet<u64>,
}

/// Longest chain of calls along which not coming back is passed on.
const ROUNDS: usize = 32;

impl NoReturn {
    /// Those that are known by name.
    pub fn by_name(image: &Image<'_>, stubs: &FxHashMap<u64, &str>, listed: &[Symbol]) -> Self {
        let mut this = Self::default();
        this.add(image, stubs, never_returns);
        // A program may call something else `err`; what its own function does, its flow shows.
        let sure =
            |name: &str| never_returns(name) && !name.trim_start_matches('v').starts_with("err");
        let named = listed
            .iter()
            .filter(|s| s.name.as_deref().is_some_and(sure));
        this.addresses.extend(named.map(|s| s.address));
        this
    }

    /// Adds the stubs and slots of functions by name.
    fn add(
        &mut self,
        image: &Image<'_>,
        stubs: &FxHashMap<u64, &str>,
        named: impl Fn(&str) -> bool,
    ) {
        let stubs = stubs.iter().filter(|(_, name)| named(name));
        self.addresses.extend(stubs.map(|(at, _)| *at));
        let slots = image.got.iter().filter(|(_, name)| named(name));
        self.slots.extend(slots.map(|(at, _)| *at));
    }

    /// Whether a callee comes back, as far as is known.
    pub fn returns(&self, callee: Callee) -> bool {
        match callee {
            Callee::Address(at) => !self.addresses.contains(&at),
            Callee::Slot(at) => !self.slots.contains(&at),
            Callee::Pointer => true,
        }
    }

    /// Analyses functions that have no flow, and passes on which functions never return until nothing changes.
    pub fn settle(
        &mut self,
        image: &Image<'_>,
        stubs: &FxHashMap<u64, &str>,
        functions: &mut [Function],
    ) {
        for _ in 0..ROUNDS {
            let open = functions.par_iter_mut().filter(|f| !f.analysed);
            open.for_each(|f| f.analyse(image, |c| self.returns(c)));
            let ends = |f: &&Function| !self.addresses.contains(&f.address()) && !f.flow.returns();
            let new: Vec<&Function> = functions.iter().filter(ends).collect();
            if new.is_empty() {
                return;
            }
            let names: FxHashSet<&str> = new.iter().filter_map(|f| f.name.as_deref()).collect();
            let mut added = Self {
                addresses: new.iter().map(|f| f.address()).collect(),
                ..Self::default()
            };
            added.add(image, stubs, |name| names.contains(name));
            self.addresses.extend(&added.addresses);
            self.slots.extend(&added.slots);
            for function in functions.iter_mut() {
                let calls = |s: &Site| !added.returns(s.callee);
                function.analysed &= !function.flow.sites.iter().any(calls);
            }
        }
        let open = functions.par_iter_mut().filter(|f| !f.analysed);
        open.for_each(|f| f.analyse(image, |c| self.returns(c)));
    }
}
