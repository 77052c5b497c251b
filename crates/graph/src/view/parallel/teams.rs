//! Which thread of a team the others waited for, at OpenMP's barriers and at those of threads that the program made.
//!
//! The threads of a team come together at the end of each stretch of their work. A run has the sum of what each thread
//! waited there. The thread with the smallest sum was last on balance, over all repetitions, and another thread was earlier
//! by the difference of the two sums: this much of its waiting is said to be for that thread. Others may have been almost as
//! late. The rest is as much as the last thread itself waited. It is for threads that change from one repetition to the
//! next, so nobody is named. Two teams of one region that work at the same time, as nested ones do, count as one, since
//! nothing in their rows tells them apart.

use super::{Builder, Edge, Spot, Unheld};
use crate::threads::TeamStretch;
use crate::topdown::VertexIx;
use crate::view::known::{EdgeKind, EdgeType};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What a thread waited at the end of a stretch, in all repetitions.
struct Arrival {
    thread: u16,
    count: u64,
    wait: f64,
    /// The call in which it waited.
    to: VertexIx,
}

/// A stretch of a team's work on one rank.
pub(super) struct Meeting {
    rank: u32,
    team: VertexIx,
    /// In the order of the threads.
    arrivals: Vec<Arrival>,
}

impl Meeting {
    /// By how often threads were there: the one of them that was last; of several the first.
    fn last(&self) -> FxHashMap<u64, &Arrival> {
        let mut out: FxHashMap<u64, &Arrival> = FxHashMap::default();
        for a in &self.arrivals {
            let last = out.entry(a.count).or_insert(a);
            if a.wait < last.wait {
                *last = a;
            }
        }
        out
    }
}

impl Builder<'_> {
    /// Where teams come together. Threads that a program makes itself end without waiting.
    pub(super) fn meetings(&self) -> Vec<Meeting> {
        let mut out = Vec::new();
        let teams = &self.view.parallel.teams;
        for rows in teams.chunk_by(|a, b| (a.team, a.rank) == (b.team, b.rank)) {
            let Some(&TeamStretch { team, rank, .. }) = rows.first() else {
                continue;
            };
            let is_own = self.pag.makes_threads(team);
            // A thread may come to several calls of a barrier.
            let mut stretches: BTreeMap<_, BTreeMap<u16, Arrival>> = BTreeMap::new();
            for t in rows.iter().filter(|t| !is_own || t.to != team) {
                let ends = (self.pag.barrier(team, t.from), self.pag.barrier(team, t.to));
                let own = stretches.entry(ends).or_default();
                let sum = own.entry(t.thread).or_insert(Arrival {
                    thread: t.thread,
                    count: 0,
                    wait: 0.0,
                    to: t.to,
                });
                sum.count = sum.count.saturating_add(t.count);
                sum.wait += t.wait;
            }
            out.extend(stretches.into_values().map(|own| Meeting {
                rank,
                team,
                arrivals: own.into_values().collect(),
            }));
        }
        out
    }

    /// The spot where a thread waits for its team: at a barrier, or at the end of the parallel region, whose spot is
    /// the call that began it.
    fn waits_at(&self, m: &Meeting, a: &Arrival) -> Option<Spot> {
        match a.to == m.team {
            true => self.spot(m.rank, 0, m.team),
            false => self.spot(m.rank, self.flow(m.rank, a.thread), a.to),
        }
    }

    /// The spots of threads that waited for their team, and of those that they waited for.
    pub(super) fn met(&self, m: &Meeting) -> Vec<Spot> {
        let last = m.last();
        let waiting = m.arrivals.iter().filter(|a| a.wait > 0.0);
        let both = waiting.flat_map(|a| [Some(a), last.get(&a.count).copied()]);
        both.flatten().filter_map(|a| self.waits_at(m, a)).collect()
    }

    /// What a thread did last in a parallel region.
    fn last_inside(&self, rank: u32, flow: u16, team: VertexIx) -> Option<u32> {
        let begin = self.spots.partition_point(|s| (s.0, s.1) < (rank, flow));
        let end = self.spots.partition_point(|s| (s.0, s.1) <= (rank, flow));
        let mut own = (begin as u32..end as u32).rev();
        own.find(|s| self.is_in(team, *s) && self.place_of(*s) != team)
    }

    /// Waiting of teams for their last thread.
    pub(super) fn team_waits(&mut self, meetings: &[Meeting]) {
        let (mut edges, mut unheld) = (Vec::new(), Vec::new());
        let mut ends: FxHashMap<(u32, u16, VertexIx), Option<u32>> = FxHashMap::default();
        for m in meetings {
            let last = m.last();
            for a in m.arrivals.iter().filter(|a| a.wait > 0.0) {
                let Some(at) = self.waits_at(m, a).and_then(|spot| self.number(spot)) else {
                    continue;
                };
                let for_thread = last.get(&a.count).filter(|l| l.wait < a.wait);
                let from = for_thread.and_then(|l| match l.to == m.team {
                    true => {
                        let of = (m.rank, self.flow(m.rank, l.thread), m.team);
                        let end = ends.entry(of);
                        *end.or_insert_with(|| self.last_inside(of.0, of.1, of.2))
                    }
                    false => self.number(self.waits_at(m, l)?),
                });
                let (rest, count) = match for_thread.zip(from).filter(|(_, from)| *from != at) {
                    Some((l, from)) => {
                        edges.push(Edge {
                            late_sender: Some(a.wait - l.wait),
                            ..Edge::new(from, at, EdgeType::InterThread, EdgeKind::Barrier, a.count)
                        });
                        // The edge counts the waits.
                        (l.wait, 0)
                    }
                    None => (a.wait, a.count),
                };
                if rest > 0.0 {
                    unheld.push(Unheld {
                        at,
                        kind: EdgeKind::Barrier,
                        wait: rest,
                        count,
                        collective: None,
                    });
                }
            }
        }
        self.edges.extend(edges);
        self.unheld.extend(unheld);
    }
}
