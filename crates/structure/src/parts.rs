//! Parts of functions that the compiler put elsewhere (`f.cold`, `f.part.0`), joined to the function.
//!
//! In a stripped file they have no names; then code that jumps into the middle of other code, or is
//! jumped into the middle of, belongs to it, if nothing calls it.

use crate::flow::Callee;
use crate::functions::Function;
use rustc_hash::{FxHashMap, FxHashSet};

/// A jump from one function into another.
struct Jump {
    from: usize,
    to: usize,
    at: u64,
}

/// Joins parts to their functions, which are then to be analysed again.
pub fn join(functions: Vec<Function>) -> Vec<Function> {
    let parents = Parents::new(&functions).all();
    let mut slots: Vec<Option<Function>> = functions.into_iter().map(Some).collect();
    for (part, parent) in parents {
        let ranges = slots[part].take().map_or(Vec::new(), |p| p.ranges);
        if let Some(parent) = &mut slots[parent] {
            parent.ranges.extend(ranges);
            parent.ranges[1..].sort_unstable();
            parent.analysed = false;
        }
    }
    slots.into_iter().flatten().collect()
}

struct Parents<'a> {
    functions: &'a [Function],
    jumps: Vec<Jump>,
    called: FxHashSet<u64>,
    named: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> Parents<'a> {
    fn new(functions: &'a [Function]) -> Self {
        let (mut jumps, mut called) = (Vec::new(), FxHashSet::default());
        for (from, function) in functions.iter().enumerate() {
            for site in &function.flow.sites {
                let Callee::Address(at) = site.callee else {
                    continue;
                };
                if !site.jump {
                    called.insert(at);
                } else if let Some(to) = holder(functions, at) {
                    jumps.push(Jump { from, to, at });
                }
            }
        }
        let mut named: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (i, function) in functions.iter().enumerate() {
            if let Some(name) = function.name.as_deref() {
                named.entry(name).or_default().push(i);
            }
        }
        Self {
            functions,
            jumps,
            called,
            named,
        }
    }

    /// Parts, each with the function that it belongs to, which is none itself.
    fn all(&self) -> Vec<(usize, usize)> {
        let mut parents: FxHashMap<usize, usize> = self.by_evidence();
        for (i, function) in self.functions.iter().enumerate() {
            if let Some(parent) = function.name.as_deref().and_then(|n| self.by_name(i, n)) {
                parents.insert(i, parent);
            }
        }
        let mut out: Vec<(usize, usize)> = parents
            .iter()
            .filter_map(|(part, parent)| {
                // A part of a part; not of each other.
                let mut root = *parent;
                for _ in 0..4 {
                    root = parents.get(&root).copied().unwrap_or(root);
                }
                (root != *part && !parents.contains_key(&root)).then_some((*part, root))
            })
            .collect();
        out.sort_unstable();
        out
    }

    fn by_name(&self, part: usize, name: &str) -> Option<usize> {
        let cold = name.rfind(".cold");
        let base = &name[..cold.or_else(|| name.rfind(".part."))?];
        let candidates = self.named.get(base)?;
        let jumped = |i: &&usize| self.jumps.iter().any(|j| j.from == **i && j.to == part);
        if cold.is_some() {
            return match candidates[..] {
                [one] => Some(one),
                _ => candidates.iter().find(jumped).copied(),
            };
        }
        let parent = *candidates.iter().find(jumped)?;
        let alone = self.jumps.iter().all(|j| j.to != part || j.from == parent);
        (alone && !self.is_called(part)).then_some(parent)
    }

    fn is_called(&self, function: usize) -> bool {
        self.called.contains(&self.functions[function].address())
    }

    /// Functions without a name that share the inside of others.
    fn by_evidence(&self) -> FxHashMap<usize, usize> {
        let mut out: FxHashMap<usize, usize> = FxHashMap::default();
        for jump in &self.jumps {
            if jump.at == self.functions[jump.to].address() {
                continue;
            }
            for (part, parent) in [(jump.from, jump.to), (jump.to, jump.from)] {
                let [p, q] = [part, parent].map(|i| &self.functions[i]);
                let size = |f: &Function| f.ranges.iter().map(|r| r.1 - r.0).sum::<u64>();
                let free = p.name.is_none() && !self.is_called(part);
                let whole = q.name.is_some() || self.is_called(parent) || size(q) > size(p);
                if free && whole {
                    let kept = out.entry(part).or_insert(parent);
                    *kept = parent.min(*kept);
                }
            }
        }
        out
    }
}

/// The function that holds `address`.
fn holder(functions: &[Function], address: u64) -> Option<usize> {
    let after = functions.partition_point(|f| f.address() <= address);
    let at = after.checked_sub(1)?;
    let holds = functions[at]
        .ranges
        .iter()
        .any(|r| (r.0..r.1).contains(&address));
    holds.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Flow, Site};

    /// A function of 0x40 bytes that jumps (`true`) or calls to addresses.
    fn function(at: u64, name: Option<&str>, sites: &[(bool, u64)]) -> Function {
        let site = |(i, (jump, to)): (usize, &(bool, u64))| Site {
            at: at + i as u64,
            end: at + i as u64 + 1,
            block: 0,
            callee: Callee::Address(*to),
            jump: *jump,
        };
        Function {
            ranges: vec![(at, at + 0x40)],
            name: name.map(str::to_string),
            exact: true,
            flow: Flow {
                sites: sites.iter().enumerate().map(site).collect(),
                ..Flow::default()
            },
            analysed: true,
        }
    }

    fn joined(functions: Vec<Function>) -> Vec<Vec<u64>> {
        let starts = |f: Function| f.ranges.iter().map(|r| r.0).collect();
        join(functions).into_iter().map(starts).collect()
    }

    #[test]
    fn a_named_part_is_joined_unless_others_call_it() {
        let f = || function(0x100, Some("f"), &[(true, 0x200)]);
        let part = || function(0x200, Some("f.part.0"), &[]);
        assert_eq!(joined(vec![f(), part()]), [[0x100, 0x200]]);
        let g = function(0x300, Some("g"), &[(false, 0x200)]);
        assert_eq!(joined(vec![f(), part(), g]).len(), 3);
    }

    #[test]
    fn a_cold_part_of_a_part_goes_to_the_whole() {
        let functions = vec![
            function(0x100, Some("f"), &[(true, 0x200)]),
            function(0x200, Some("f.part.0"), &[]),
            function(0x300, Some("f.part.0.cold"), &[]),
        ];
        assert_eq!(joined(functions), [[0x100, 0x200, 0x300]]);
    }

    #[test]
    fn without_names_only_shared_insides_join() {
        let functions = vec![
            // Goes back into the middle of what jumped to it.
            function(0x100, None, &[(true, 0x220)]),
            function(0x200, Some("f"), &[(true, 0x100), (true, 0x300)]),
            // Jumped to, but only at its beginning: a call in the last place.
            function(0x300, None, &[]),
        ];
        assert_eq!(joined(functions), [vec![0x200, 0x100], vec![0x300]]);
    }
}
