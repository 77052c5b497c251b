//! Completes the tree of `out.txt` as ScalAna does after a run: functions that calls through pointers reached are put
//! below these calls, and computation between the vertices of functions and loops becomes vertices (ScalAna, sections
//! III-B and III-C).

use super::log::Reached;
use super::tree::{DEEPEST, MOST, Tree, Vertex};
use super::types::Type;
use crate::ImportError;
use rustc_hash::{FxHashMap, FxHashSet};

impl Tree {
    /// Puts functions below the calls that reached them. A function that is around its call is recursion, and stays out.
    ///
    /// # Errors
    /// A function that is not in the tree; a tree that becomes too large.
    pub fn attach(&mut self, reached: &[Reached]) -> Result<(), ImportError> {
        let mut functions: FxHashMap<i64, usize> = FxHashMap::default();
        for (at, vertex) in self.vertices.iter().enumerate() {
            if vertex.kind == Type::Function {
                functions.entry(vertex.id).or_insert(at);
            }
        }
        let mut by_call: FxHashMap<i64, Vec<(usize, &Reached)>> = FxHashMap::default();
        let mut known: FxHashSet<(i64, i64)> = FxHashSet::default();
        for one in reached {
            let wrong = |why: String| ImportError::line(&one.file, one.line, why);
            let Some(function) = functions.get(&one.function) else {
                let id = one.function;
                return Err(wrong(format!("function {id} is in no tree of out.txt")));
            };
            if known.insert((one.call, one.function)) {
                let all = by_call.entry(one.call).or_default();
                all.push((*function, one));
            }
        }
        // What is copied has calls of its own, which come later in the list and have their turn.
        let mut at = 0;
        while let Some(vertex) = self.vertices.get(at) {
            let calls = by_call.get(&vertex.id);
            let calls = calls.filter(|_| vertex.kind == Type::Indirect && self.depth(at) < DEEPEST);
            let own = match calls {
                Some(_) => self.functions_in_and_around(at),
                None => FxHashSet::default(),
            };
            for (function, one) in calls.into_iter().flatten() {
                if !own.contains(&one.function) {
                    self.copy_below(*function, at).map_err(|()| {
                        let why = format!("with the functions that calls through pointers reached, the tree has more than {MOST} vertices");
                        ImportError::line(&one.file, one.line, why)
                    })?;
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// The vertices around a vertex, itself first.
    pub fn around(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let up = |at: &usize| self.vertices.get(*at).and_then(|v| v.parent);
        std::iter::successors(Some(at), up)
    }

    fn depth(&self, at: usize) -> usize {
        self.around(at).count()
    }

    /// Ids of the functions around a call, and of those below it.
    fn functions_in_and_around(&self, at: usize) -> FxHashSet<i64> {
        let children = self.vertices.get(at).into_iter().flat_map(|v| &v.children);
        let all = children.copied().chain(self.around(at));
        all.filter_map(|a| self.vertices.get(a))
            .filter(|v| v.kind == Type::Function)
            .map(|v| v.id)
            .collect()
    }

    /// Copies the tree below `from` to a new child of `to`.
    fn copy_below(&mut self, from: usize, to: usize) -> Result<(), ()> {
        let mut open = vec![(from, to)];
        while let Some((from, to)) = open.pop() {
            let Some(vertex) = self.vertices.get(from).cloned() else {
                continue;
            };
            let at = self.vertices.len();
            if at >= MOST {
                return Err(());
            }
            if let Some(around) = self.vertices.get_mut(to) {
                around.children.push(at);
            }
            // Of a call through a pointer, what was put below it so far is found anew.
            let own = match vertex.kind {
                Type::Indirect => Vec::new(),
                _ => vertex.children.clone(),
            };
            open.extend(own.into_iter().rev().map(|c| (c, at)));
            self.vertices.push(Vertex {
                children: Vec::new(),
                parent: Some(to),
                ..vertex
            });
        }
        Ok(())
    }

    /// Adds the computation between the vertices of each function and loop, by their lines. Copies of a vertex get the
    /// same ids.
    pub fn add_computation(&mut self) {
        let mut next = self.vertices.iter().map(|v| v.id).max().unwrap_or(0);
        let mut ids: FxHashMap<(i64, u32, u32), i64> = FxHashMap::default();
        for at in 0..self.vertices.len() {
            let Some(vertex) = self.vertices.get(at) else {
                continue;
            };
            if !matches!(vertex.kind, Type::Function | Type::Loop) || vertex.lines.0 == 0 {
                continue;
            }
            let (id, place, kind) = (vertex.id, vertex.place, Type::Comp);
            for lines in self.gaps(vertex) {
                if self.vertices.len() >= MOST {
                    return;
                }
                let id = *ids.entry((id, lines.0, lines.1)).or_insert_with(|| {
                    next = next.saturating_add(1);
                    next
                });
                let new = self.vertices.len();
                self.vertices.push(Vertex {
                    id,
                    kind,
                    merged: (0, 0),
                    children: Vec::new(),
                    parent: Some(at),
                    place,
                    lines,
                    at: 0,
                });
                if let Some(vertex) = self.vertices.get_mut(at) {
                    vertex.children.push(new);
                }
            }
        }
    }

    /// Lines of a vertex that none of its children has: runs of them, in order.
    fn gaps(&self, vertex: &Vertex) -> Vec<(u32, u32)> {
        let children = vertex.children.iter().filter_map(|c| self.vertices.get(*c));
        let mut inside: Vec<(u32, u32)> = children
            .filter(|c| c.place == vertex.place && c.lines.0 > 0)
            .map(|c| c.lines)
            .collect();
        inside.sort_unstable();
        let (mut from, mut gaps) = (vertex.lines.0, Vec::new());
        for (first, last) in inside {
            if first > from {
                gaps.push((from, (first - 1).min(vertex.lines.1)));
            }
            from = from.max(last.saturating_add(1));
        }
        if vertex.lines.1 >= from {
            gaps.push((from, vertex.lines.1));
        }
        gaps.retain(|(first, last)| first <= last);
        gaps
    }
}
