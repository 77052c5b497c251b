//! Tests whether the late ranks are exactly those of some nodes or cores: then the machine may be slow there.
//!
//! Work may be divided that way too, so where ranks are bound this is only a hint. Where the scheduler chose the cores,
//! and several ranks shared each, a division of work along them would be chance, so the lateness is set aside: of two
//! hardware threads of a core, or of two virtual cores, one may run slower for a while than the other.

use crate::find::candidate::Candidate;
use crate::find::class;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::Pag;
use headwater_model::rank::RankSet;
use headwater_model::run::{RankInfo, Run};
use headwater_model::words;
use std::collections::BTreeSet;

/// A node or set of cores must have this many ranks: a single rank with a place of its own proves nothing.
const SHARED: usize = 2;

/// Late ranks may take at most this many times as long for the core to be the reason: of two threads that share a core,
/// none needs to run at less than half its speed.
const SLOWEST: f64 = 2.0;

/// Why a cause is set aside, as a sentence: the late ranks are exactly those that the scheduler ran on some of the
/// cores. `None` if it is not set aside.
pub fn chance(pag: &Pag, scale: &Scale, c: &Candidate) -> Option<String> {
    let even = class::of(c.class).may_be_core && !c.in_turn;
    let free = |i: &RankInfo| i.cpus_allowed > 1;
    // Each recording has a placement of its own.
    let is_pooled = scale.run().header.recordings > 1;
    if !even || is_pooled || !scale.is_crowded() || !scale.run().ranks.iter().all(free) {
        return None;
    }
    let row = c.row(pag, scale, &scale.view().computation.busy);
    // A rank that ran on several cores shows nothing about any of them.
    let ranks = scale.run().ranks.iter();
    let on_one: Vec<u32> = ranks.filter(|i| i.core.is_some()).map(|i| i.rank).collect();
    let known = |ranks: &mut dyn Iterator<Item = u32>| -> Vec<u32> {
        ranks.filter(|r| on_one.contains(r)).collect()
    };
    let of_late = known(&mut c.ranks.iter().copied());
    let others = known(&mut (0..scale.p).filter(|r| !c.ranks.contains(r)));
    if of_late.len() * 2 < c.ranks.len() {
        return None;
    }
    let core = |i: &RankInfo| i.core.map(|core| format!("core {core} of node {}", i.node));
    own_places(scale.run(), &of_late, &others, core)?;
    let (late, usual) = (
        stats::mean_of(&row, &of_late),
        stats::mean_of(&row, &others),
    );
    let ranks: RankSet = c.ranks.iter().copied().collect();
    let who = words::ranks(&ranks, scale.p, 40);
    (late < SLOWEST * usual).then(|| {
        format!(
            "At {} ranks, {who} computed more slowly at {}, {} instead of {}. They are exactly the ranks that the scheduler ran on some of the cores, and those cores were slower meanwhile, so no cause is reported for this; bind ranks to cores to be sure.",
            scale.p,
            words::location(&pag.place(c.vertex)),
            words::seconds(late),
            words::seconds(usual),
        )
    })
}

/// A sentence that names the nodes, or else the cores, that only the ranks of `late` use.
pub fn shared_by(run: &Run, late: &[u32]) -> Option<String> {
    let node = |i: &RankInfo| {
        let name = run.header.nodes.get(i.node as usize);
        name.map(|name| format!("node {name}"))
    };
    let bound = |i: &RankInfo| {
        let cores = *run.header.cores.get(i.node as usize)?;
        let set: RankSet = i.cpus.parse().ok()?;
        let some = !set.is_empty() && (set.len() as u32) < cores;
        some.then(|| Some(format!("core {} of {}", i.cpus, node(i)?)))?
    };
    let all = run.ranks.iter().map(|i| i.rank);
    let others: Vec<u32> = all.filter(|r| !late.contains(r)).collect();
    let (places, on) = own_places(run, late, &others, node)
        .map(|places| (places, "on"))
        .or_else(|| own_places(run, late, &others, bound).map(|places| (places, "bound to")))?;
    Some(format!(
        "these are all the ranks {on} {}, which may be slower than the rest of the machine",
        places.join(" and ")
    ))
}

/// The places of `late` ranks, if none of the `others` has one of them.
fn own_places(
    run: &Run,
    late: &[u32],
    others: &[u32],
    place: impl Fn(&RankInfo) -> Option<String>,
) -> Option<Vec<String>> {
    let of = |wanted: &[u32]| -> Option<BTreeSet<String>> {
        let ranks = run.ranks.iter().filter(|i| wanted.contains(&i.rank));
        ranks.map(&place).collect()
    };
    let (own, others) = (of(late)?, of(others)?);
    let separate = !own.is_empty() && !others.is_empty() && own.is_disjoint(&others);
    (separate && late.len() >= SHARED * own.len()).then(|| own.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on two nodes of four cores; each is bound to two cores, in turn.
    fn run() -> Run {
        let mut run = Run::default();
        run.header.nodes = vec!["a".into(), "b".into()];
        run.header.cores = vec![4, 4];
        run.ranks = (0..8)
            .map(|rank| RankInfo {
                rank,
                node: rank / 4,
                cpus: ["0-1", "2-3"][rank as usize % 2].into(),
                ..Default::default()
            })
            .collect();
        run
    }

    #[test]
    fn ranks_of_a_node_or_of_some_cores_are_named() {
        let sentence = |late: &[u32]| shared_by(&run(), late).unwrap_or_default();
        assert!(sentence(&[4, 5, 6, 7]).starts_with("these are all the ranks on node b,"));
        assert!(
            sentence(&[1, 3]).starts_with("these are all the ranks bound to core 2-3 of node a,")
        );
        for others in [&[0, 1][..], &[4, 5, 6], &[], &[0, 1, 2, 3, 4, 5, 6, 7]] {
            assert_eq!(sentence(others), "", "{others:?}");
        }
    }

    #[test]
    fn ranks_of_a_core_are_distinguished_from_others() {
        let mut run = run();
        let core = |i: &RankInfo| i.core;
        for rank in &mut run.ranks {
            rank.core = Some(u64::from(rank.rank % 3 == 0));
        }
        let own = |run: &Run, late: &[u32]| {
            let others: Vec<u32> = (0..8).filter(|r| !late.contains(r)).collect();
            let name = |i: &RankInfo| core(i).map(|c| c.to_string());
            own_places(run, late, &others, name).unwrap_or_default()
        };
        assert_eq!(own(&run, &[0, 3, 6]), ["1"]);
        assert!(own(&run, &[0, 3]).is_empty(), "another one is there too");
        run.ranks[5].core = None;
        assert!(
            own(&run, &[0, 3, 6]).is_empty(),
            "one may have been anywhere"
        );
    }

    #[test]
    fn a_rank_for_itself_says_nothing() {
        let mut run = run();
        run.ranks.truncate(2);
        assert_eq!(shared_by(&run, &[1]), None);
    }
}
