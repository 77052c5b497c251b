//! What decides how much a vertex does: the conditions that a compiler's structure has for it, for what is inside it, and
//! for the calls that lead to it (ScalAna, section III-A).

use crate::pag::Pag;
use crate::topdown::VertexIx;
use headwater_model::dependence::{Condition, Dependence, Dependences, Origin};
use rustc_hash::FxHashSet;

/// How a condition belongs to a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// It is the vertex's own.
    Own,
    /// It is in the vertex.
    Inside,
    /// The vertex is in it, or is called from it.
    Around,
}

/// The conditions of a vertex, and whether all that could decide is among them.
#[derive(Debug, Default)]
pub struct Deciding<'a> {
    /// Each once, the vertex's own first, then those inside and around it.
    pub conditions: Vec<(Where, &'a Condition)>,
    /// Whether the compiler has all loops and calls on the way and inside.
    pub complete: bool,
}

impl Pag {
    /// What decides how much `v` does.
    pub fn deciding(&self, v: VertexIx) -> Deciding<'_> {
        let mut out = Deciding {
            conditions: Vec::new(),
            complete: true,
        };
        let mut seen = FxHashSet::default();
        let mut known_here = false;
        for inner in self.inside(v) {
            let kind = self.top.get(inner).kind;
            match self.compiled(inner) {
                Some((all, dependence)) => {
                    // A loop inside an inlined function knows what is around both.
                    let whole = inner == v || !known_here;
                    known_here = true;
                    let take = if whole {
                        usize::MAX
                    } else {
                        usize::from(dependence.own)
                    };
                    for (i, condition) in all.conditions(dependence).take(take).enumerate() {
                        let place = match (i, inner == v) {
                            (0, true) if dependence.own => Where::Own,
                            (0, false) if dependence.own => Where::Inside,
                            _ => Where::Around,
                        };
                        out.add(&mut seen, place, condition);
                    }
                }
                None => out.complete &= !kind.is_loop() && !kind.is_call(),
            }
        }
        for outer in self.top.ancestors(v).skip(1) {
            let kind = self.top.get(outer).kind;
            match self.compiled(outer) {
                Some((all, dependence)) => {
                    for condition in all.conditions(dependence) {
                        out.add(&mut seen, Where::Around, condition);
                    }
                }
                None => out.complete &= !kind.is_loop() && !kind.is_call(),
            }
        }
        out.conditions.sort_by_key(|(place, _)| *place);
        out.complete &= !out.conditions.is_empty();
        out
    }

    /// What the compiler says of a vertex.
    fn compiled(&self, v: VertexIx) -> Option<(&Dependences, &Dependence)> {
        let vertex = self.top.get(v);
        let (_, structure) = self.structures.get(vertex.module)?;
        let all = &structure.dependences;
        Some((all, all.of(vertex.function, vertex.psg)?))
    }
}

impl<'a> Deciding<'a> {
    /// Whether one of the conditions comes from `origin`.
    pub fn depends_on(&self, origin: Origin) -> bool {
        self.conditions
            .iter()
            .any(|(_, c)| c.source(origin).is_some())
    }

    fn add(
        &mut self,
        seen: &mut FxHashSet<*const Condition>,
        place: Where,
        condition: &'a Condition,
    ) {
        if seen.insert(std::ptr::from_ref(condition)) {
            self.conditions.push((place, condition));
        }
    }
}
