//! What decides how much a vertex does: the conditions that a compiler's structure has for it, for what is inside it, and
//! for the calls that lead to it (ScalAna, section III-A).

use crate::pag::Pag;
use crate::topdown::VertexIx;
use headwater_model::dependence::{Condition, Dependence, Dependences, Origin, Source};
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
        // The conditions around `v` itself: those of what is inside it go up to these.
        let mut around: Option<FxHashSet<*const Condition>> = None;
        for inner in self.inside(v) {
            let kind = self.top.get(inner).kind;
            match self.compiled(inner) {
                Some((all, dependence)) => {
                    for (i, condition) in all.conditions(dependence).enumerate() {
                        let is_around =
                            |k: &FxHashSet<_>| k.contains(&std::ptr::from_ref(condition));
                        if around.as_ref().is_some_and(is_around) {
                            break;
                        }
                        let place = match (i, inner == v) {
                            (0, true) if dependence.own => Where::Own,
                            (_, true) => Where::Around,
                            // Without those of `v`, it is not known which ones are around it.
                            (0, false) if dependence.own => Where::Inside,
                            (_, false) if around.is_some() => Where::Inside,
                            _ => Where::Around,
                        };
                        out.add(&mut seen, place, condition);
                    }
                    if inner == v {
                        around = Some(all.conditions(dependence).map(std::ptr::from_ref).collect());
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

    /// Whether each source of each condition fits.
    pub fn all(&self, fits: impl Fn(&Source) -> bool) -> bool {
        let mut sources = self.conditions.iter().flat_map(|(_, c)| &c.sources);
        sources.all(fits)
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
