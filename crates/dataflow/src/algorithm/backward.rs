//! The walk of backtracking (ScalAna, Algorithm 1; PerFlow, Listing 7) on any graph that says what a place waited for
//! and what happened before it.
//!
//! The walk goes backward from a problematic place: along the edge that was waited for, if there was a wait, and
//! otherwise along program order, until the beginning, a collective, or a place that it passed before. A place that is
//! reached along such an edge did not wait for its own message: there the walk continues in program order.

/// The dependences that lead backward from the places of a graph.
pub trait Dependences {
    /// A place.
    type At: Copy;
    /// What leads from one place to another.
    type Edge;

    /// The edge that a place waited for longest, if a delay can pass along it, and the place that it leads to.
    fn waited(&self, at: Self::At) -> Option<(Self::Edge, Self::At)>;

    /// What happened before a place, and where that leads. It leads nowhere at the beginning, or at a collective: a
    /// collective lets all ranks go on at the same time, so a delay behind it did not come from before it.
    fn before(&self, at: Self::At) -> Option<(Self::Edge, Option<Self::At>)>;
}

/// How the walk left a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Left<E> {
    /// Along the edge that was waited for.
    Waited(E),
    /// In program order.
    Before(E),
    /// The walk ends here.
    Ends,
}

/// Walks back from `start`; returns the places and how the walk left each. `is_new` is called for every place that is
/// reached, and returns whether the walk passed it for the first time. The walk ends at a place that it passed before,
/// unless it came there along a wait: then it continues in program order, which may be another way than the first time.
pub fn backward<'g, G: Dependences>(
    graph: &'g G,
    start: G::At,
    mut is_new: impl FnMut(G::At) -> bool + 'g,
) -> impl Iterator<Item = (G::At, Left<G::Edge>)> + 'g {
    let mut next = Some((start, false));
    std::iter::from_fn(move || {
        let (at, arrived) = next
            .take()
            .filter(|(at, arrived)| is_new(*at) || *arrived)?;
        let waited = if arrived { None } else { graph.waited(at) };
        if let Some((edge, on)) = waited {
            next = Some((on, true));
            return Some((at, Left::Waited(edge)));
        }
        let Some((edge, to)) = graph.before(at) else {
            return Some((at, Left::Ends));
        };
        next = to.map(|to| (to, false));
        Some((at, Left::Before(edge)))
    })
}
