//! Finds work that does not shrink as ranks are added, without what causes between threads explain.

use super::candidate::Candidate;
use super::finder::{Does, Finder, Look};
use super::work;

/// If causes between threads explain more than this share of the cost at a place, only they are reported.
const EXPLAINED: f64 = 0.5;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "non-shrinking-work",
    about: "Computation that does not shrink as ranks are added, beside what threads explain.",
    needs_alike: false,
    needs_charged: true,
    does: Does::Finds(find),
};

fn find(l: &Look<'_>) -> Vec<Candidate> {
    let rest = |mut c: Candidate| {
        let explained = l.charged.inside(l.pag, l.last, c.vertex, &c.ranks);
        (c.cost, c.gain) = (c.cost - explained, (c.gain - explained).max(0.0));
        let rest = explained <= EXPLAINED * (c.cost + explained) && c.cost >= l.least;
        rest.then_some(c)
    };
    let (scales, times) = (l.scales.compared(), &l.scales.times);
    let found = work::find(
        l.pag,
        scales,
        times,
        l.scales.scaling,
        l.scales.pace,
        l.least,
    );
    found.into_iter().filter_map(rest).collect()
}
