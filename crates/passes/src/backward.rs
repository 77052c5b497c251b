//! The walk of backtracking (ScalAna, Algorithm 1; PerFlow, Listing 7), on whatever says what a place waited for and
//! what was done before it.
//!
//! From a problematic place backward: along the edge that was waited for, if there was a wait, and otherwise along
//! program order, until the beginning, a collective, or a place that was passed before. Who is come to along an edge
//! that was waited for did not wait for its own message: there the walk goes on in program order.

/// What leads backward from the places of a graph.
pub trait Dependences {
    /// A place.
    type At: Copy;
    /// What leads from one to another.
    type Edge;

    /// What a place waited for longest, if that lets a delay pass, and where that leads.
    fn waited(&self, at: Self::At) -> Option<(Self::Edge, Self::At)>;

    /// What was done before a place, and where that leads: nowhere at the beginning, or at a collective, as what that
    /// lets go on at the same time on all ranks did not come from before it.
    fn before(&self, at: Self::At) -> Option<(Self::Edge, Option<Self::At>)>;
}

/// How a place was left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Left<E> {
    /// Along what was waited for.
    Waited(E),
    /// In program order.
    Before(E),
    /// It is where the walk ends.
    Ends,
}

/// Goes back from `start`: places with how each was left. `is_new` is told of every place that is come to, and
/// says whether it was not passed before: the walk ends at one that was, but for who is come to by a wait, as that one
/// goes on otherwise than it may have done.
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
