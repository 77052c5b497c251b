//! Calls across the functions of a module: who leads to MPI, and who comes back to itself.

use crate::callees::Callees;
use crate::functions::Function;
use crate::graph::NONE;
use headwater_model::psg::VertexKind;
use rayon::prelude::*;

/// What is known of calls across functions.
pub struct Calls {
    /// Number of the callee of each site, by function and site.
    numbers: Vec<Vec<Option<u32>>>,
    /// All that can be called.
    pub callees: Callees,
    /// Whether a function calls MPI, itself or through others.
    reaches_mpi: Vec<bool>,
    /// Number of the cycle of calls that a function is in; [`NONE`] for none.
    cycle: Vec<u32>,
}

impl Calls {
    /// Joins the call sites of all functions.
    pub fn new(functions: &[Function], callees: Callees) -> Self {
        let numbers: Vec<Vec<Option<u32>>> = functions
            .par_iter()
            .map(|f| {
                f.flow
                    .sites
                    .iter()
                    .map(|s| callees.number(s.callee))
                    .collect()
            })
            .collect();
        let targets: Vec<Vec<usize>> = numbers
            .iter()
            .map(|list| {
                list.iter()
                    .flatten()
                    .filter_map(|n| callees.function(*n))
                    .collect()
            })
            .collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
        for (from, list) in targets.iter().enumerate() {
            list.iter().for_each(|to| callers[*to].push(from));
        }
        let is_mpi = |n: &u32| callees.kind(*n) == Some(VertexKind::MpiCall);
        let mut reaches_mpi: Vec<bool> = numbers
            .iter()
            .map(|list| list.iter().flatten().any(is_mpi))
            .collect();
        let mut open: Vec<usize> = (0..functions.len()).filter(|i| reaches_mpi[*i]).collect();
        while let Some(at) = open.pop() {
            for &caller in &callers[at] {
                if !std::mem::replace(&mut reaches_mpi[caller], true) {
                    open.push(caller);
                }
            }
        }
        Self {
            numbers,
            callees,
            reaches_mpi,
            cycle: cycles(&targets),
        }
    }

    /// The number of the callee of a site, where it is known.
    pub fn callee(&self, function: usize, site: usize) -> Option<u32> {
        self.numbers[function][site]
    }

    fn target(&self, function: usize, site: usize) -> Option<usize> {
        self.callees.function(self.callee(function, site)?)
    }

    /// What a site of a function is.
    pub fn kind(&self, function: usize, site: usize) -> VertexKind {
        let Some(callee) = self.callee(function, site) else {
            return VertexKind::IndirectCall;
        };
        let known = self.callees.kind(callee);
        known.unwrap_or_else(|| match self.target(function, site) {
            Some(t) if self.cycle[t] != NONE && self.cycle[t] == self.cycle[function] => {
                VertexKind::RecursiveCall
            }
            Some(_) => VertexKind::Call,
            None => VertexKind::ExternalCall,
        })
    }

    /// Whether a site calls MPI, itself or through others.
    pub fn leads_to_mpi(&self, function: usize, site: usize) -> bool {
        self.kind(function, site) == VertexKind::MpiCall
            || self
                .target(function, site)
                .is_some_and(|t| self.reaches_mpi[t])
    }
}

/// Cycles of calls: strongly connected components with more than one function or a call of itself
/// (Tarjan 1972, without recursion).
fn cycles(targets: &[Vec<usize>]) -> Vec<u32> {
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
                Some(to) if number[to] == NONE => work.push((to, 0)),
                Some(to) if on[to] => low[at] = low[at].min(number[to]),
                Some(_) => {}
                None => {
                    work.pop();
                    if let Some((caller, _)) = work.last() {
                        low[*caller] = low[*caller].min(low[at]);
                    }
                    if low[at] == number[at] {
                        let from = stack.iter().rposition(|s| *s == at).unwrap_or(0);
                        let members = stack.split_off(from);
                        let itself = targets[at].contains(&at);
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
