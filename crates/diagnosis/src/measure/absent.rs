//! Ranks of which nothing is there: a rank that was killed before it wrote anything, or the missing file of a profile.
//!
//! Such a rank must not look as if it had nothing to do, because then all others would be late. So it is compared as if it
//! were the middle one of the others, and the report says so.

use headwater_model::rank::{Rank, RankSet};
use headwater_model::run::Run;
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};

/// Gives ranks without any row those of the middle rank. If more ranks are absent than there, nothing is known of the run as
/// a whole, and nothing is changed.
pub fn stand_in(run: &mut Run) {
    let mut busy: FxHashMap<Rank, u64> = run.ranks.iter().map(|r| (r.rank, 0)).collect();
    for s in &run.segments {
        let sum = busy.entry(s.rank).or_default();
        *sum = sum.saturating_add(s.busy_ns());
    }
    let there: FxHashSet<Rank> = busy.keys().copied().collect();
    let absent: Vec<Rank> = (run.header.incomplete.iter().copied())
        .filter(|r| *r < run.header.ranks && !there.contains(r))
        .collect();
    let mut by_time: Vec<(u64, Rank)> = busy.into_iter().map(|(r, ns)| (ns, r)).collect();
    by_time.sort_unstable();
    let middle = by_time
        .len()
        .checked_sub(1)
        .and_then(|last| by_time.get(last / 2));
    let Some(&(_, middle)) = middle.filter(|_| !absent.is_empty() && absent.len() <= there.len())
    else {
        return;
    };
    macro_rules! copy {
        ($($table:ident),*) => {$(
            let own: Vec<_> = run.$table.iter().filter(|r| r.rank == middle).cloned().collect();
            for rank in &absent {
                run.$table.extend(own.iter().cloned().map(|mut row| {
                    row.rank = *rank;
                    row
                }));
            }
            // Rows of a rank stay in their order.
            run.$table.sort_by_key(|r| r.rank);
        )*};
    }
    copy!(ranks, threads, samples, segments, teams, waits, calls);
    let (ranks, all) = (absent.len(), run.header.ranks);
    let absent: RankSet = absent.into_iter().collect();
    run.header.missing.push(format!(
        "At {all} ranks, nothing is there of {}. To compare the others, {} as if like rank {middle}, which has the middle time.",
        words::ranks(&absent, all, 40),
        if ranks == 1 { "it is taken" } else { "they are taken" },
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::run::{Header, RankInfo, Segment};

    fn run(busy: &[Option<u64>]) -> Run {
        let ranks = || {
            (0..)
                .zip(busy)
                .filter_map(|(rank, ns)| Some((rank, (*ns)?)))
        };
        let gone = (0..).zip(busy).filter(|(_, ns)| ns.is_none());
        Run {
            header: Header {
                ranks: busy.len() as u32,
                incomplete: gone.map(|(rank, _)| rank).collect(),
                ..Default::default()
            },
            ranks: ranks()
                .map(|(rank, _)| RankInfo {
                    rank,
                    ..Default::default()
                })
                .collect(),
            segments: ranks()
                .map(|(rank, cpu_ns)| Segment {
                    rank,
                    cpu_ns,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }
    }

    #[test]
    fn an_absent_rank_is_like_the_middle_one() {
        let mut one = run(&[Some(9), None, Some(5), Some(7)]);
        stand_in(&mut one);
        let busy: Vec<(u32, u64)> = one.segments.iter().map(|s| (s.rank, s.cpu_ns)).collect();
        assert_eq!(busy, [(0, 9), (1, 7), (2, 5), (3, 7)]);
        assert_eq!(one.ranks.len(), 4);
        let said = &one.header.missing[0];
        assert!(
            said.contains("nothing is there of rank 1") && said.contains("like rank 3"),
            "{said}"
        );
        // Of most ranks nothing is known, or of none too little.
        for busy in [&[Some(9), None, None][..], &[Some(9), Some(8)], &[None]] {
            let mut other = run(busy);
            let before = other.clone();
            stand_in(&mut other);
            assert_eq!(other, before);
        }
    }
}
