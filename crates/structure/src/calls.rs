//! Calls across the functions of a module: names, targets, who leads to MPI, who comes back to itself.

use crate::elf::Image;
use crate::flow::Callee;
use crate::functions::Function;
use crate::graph::NONE;
use crate::names;
use headwater_model::psg::VertexKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// What is known of calls across functions.
pub struct Calls<'a> {
    /// Name of the callee of each site, by function and site.
    pub names: Vec<Vec<Option<&'a str>>>,
    /// Function called by each site, where it is one of this module.
    targets: Vec<Vec<Option<usize>>>,
    /// Whether a function calls MPI, itself or through others.
    reaches_mpi: Vec<bool>,
    /// Number of the cycle of calls that a function is in; [`NONE`] for none.
    cycle: Vec<u32>,
}

impl<'a> Calls<'a> {
    /// Joins the call sites of all functions.
    pub fn new(
        functions: &'a [Function],
        image: &'a Image<'_>,
        stubs: &FxHashMap<u64, &'a str>,
    ) -> Self {
        let (mut index, mut by_name) = (FxHashMap::default(), FxHashMap::default());
        for (i, f) in functions.iter().enumerate() {
            index.insert(f.address(), i);
            if let Some(name) = f.name.as_deref() {
                by_name.insert(name, i);
            }
        }
        let name = |callee: Callee| match callee {
            Callee::Address(a) => match index.get(&a) {
                Some(i) => functions[*i].name.as_deref(),
                None => stubs.get(&a).copied(),
            },
            Callee::Slot(slot) => image.got.get(&slot).map(String::as_str),
            Callee::Pointer => None,
        };
        let target = |callee: Callee| match callee {
            Callee::Address(a) if index.contains_key(&a) => index.get(&a).copied(),
            _ => by_name.get(name(callee)?).copied(),
        };
        let sites = |f: &'a Function| f.flow.sites.iter();
        let names: Vec<Vec<Option<&str>>> = functions
            .par_iter()
            .map(|f| sites(f).map(|s| name(s.callee)).collect())
            .collect();
        let targets: Vec<Vec<Option<usize>>> = functions
            .par_iter()
            .map(|f| sites(f).map(|s| target(s.callee)).collect())
            .collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
        for (from, list) in targets.iter().enumerate() {
            list.iter().flatten().for_each(|to| callers[*to].push(from));
        }
        let mut reaches_mpi: Vec<bool> = names
            .iter()
            .map(|list| list.iter().flatten().any(|n| names::is_mpi_name(n)))
            .collect();
        let mut open: Vec<usize> = (0..functions.len()).filter(|i| reaches_mpi[*i]).collect();
        while let Some(at) = open.pop() {
            for &caller in &callers[at] {
                if !std::mem::replace(&mut reaches_mpi[caller], true) {
                    open.push(caller);
                }
            }
        }
        let cycle = cycles(&targets);
        Self {
            names,
            targets,
            reaches_mpi,
            cycle,
        }
    }

    /// What a site of a function is.
    pub fn kind(&self, function: usize, site: usize) -> VertexKind {
        let name = self.names[function][site];
        let target = self.targets[function][site];
        match (name, target) {
            (Some(n), _) if names::is_mpi_name(n) => VertexKind::MpiCall,
            (Some(n), _) if names::is_thread_name(n) => VertexKind::ThreadCall,
            (Some(n), _) if names::is_lock_name(n) => VertexKind::LockCall,
            (_, Some(t)) if self.cycle[t] != NONE && self.cycle[t] == self.cycle[function] => {
                VertexKind::RecursiveCall
            }
            (_, Some(_)) => VertexKind::Call,
            (Some(_), None) => VertexKind::ExternalCall,
            (None, None) => VertexKind::IndirectCall,
        }
    }

    /// Whether a site calls MPI, itself or through others.
    pub fn leads_to_mpi(&self, function: usize, site: usize) -> bool {
        self.kind(function, site) == VertexKind::MpiCall
            || self.targets[function][site].is_some_and(|t| self.reaches_mpi[t])
    }
}

/// Cycles of calls: strongly connected components with more than one function or a call of itself
/// (Tarjan 1972, without recursion).
fn cycles(targets: &[Vec<Option<usize>>]) -> Vec<u32> {
    let n = targets.len();
    let (mut number, mut low, mut on) = (vec![NONE; n], vec![NONE; n], vec![false; n]);
    let (mut out, mut stack, mut clock, mut cycle) = (vec![NONE; n], Vec::new(), 0, 0);
    for root in 0..n {
        if number[root] != NONE {
            continue;
        }
        let mut work = vec![(root, 0usize)];
        while let Some(&mut (at, ref mut next)) = work.last_mut() {
            if *next == 0 {
                (number[at], low[at], on[at]) = (clock, clock, true);
                clock += 1;
                stack.push(at);
            }
            let calls = &targets[at];
            let step = calls.get(*next).copied();
            *next += 1;
            match step {
                Some(Some(to)) if number[to] == NONE => work.push((to, 0)),
                Some(Some(to)) if on[to] => low[at] = low[at].min(number[to]),
                Some(_) => {}
                None => {
                    work.pop();
                    if let Some((caller, _)) = work.last() {
                        low[*caller] = low[*caller].min(low[at]);
                    }
                    if low[at] == number[at] {
                        let from = stack.iter().rposition(|s| *s == at).unwrap_or(0);
                        let members = stack.split_off(from);
                        let itself = targets[at].contains(&Some(at));
                        for m in &members {
                            on[*m] = false;
                            if members.len() > 1 || itself {
                                out[*m] = cycle;
                            }
                        }
                        cycle += 1;
                    }
                }
            }
        }
    }
    out
}
