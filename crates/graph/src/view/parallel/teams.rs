//! Which thread of an OpenMP team the others waited for.
//!
//! The threads of a team come together at the end of each stretch of their work. A run has the sum of what each thread
//! waited there. The thread with the smallest sum was last, over all repetitions, and another thread was earlier by the
//! difference of the two sums: so long it waited for that thread. The rest is as much as the last thread itself waited. It
//! is for threads that change from one repetition to the next, so nobody is named. Two teams of one region that work at the
//! same time, as nested ones do, count as one, since nothing in their rows tells them apart.

use super::{Builder, Edge, Spot, Unheld};
use crate::threads::TeamStretch;
use crate::view::known::{EdgeKind, EdgeType};

/// The rows of each stretch: by team, rank, and both of its ends.
fn by_stretch(teams: &[TeamStretch]) -> impl Iterator<Item = &[TeamStretch]> {
    let of = |t: &TeamStretch| (t.team, t.rank, t.from, t.to);
    teams.chunk_by(move |a, b| of(a) == of(b))
}

/// The thread that `t` waited for, of those that were in as many repetitions; of several the first.
fn last<'a>(stretch: &'a [TeamStretch], t: &TeamStretch) -> Option<&'a TeamStretch> {
    let with = stretch.iter().filter(|other| other.count == t.count);
    let last = with.min_by(|a, b| a.wait.total_cmp(&b.wait))?;
    (last.wait < t.wait).then_some(last)
}

impl Builder<'_> {
    /// The spot where a thread meets its team at the end of a stretch: at a barrier, or at the end of the parallel
    /// region, whose spot is the call that began it. Threads that a program makes itself end without waiting.
    fn meeting(&self, t: &TeamStretch) -> Option<Spot> {
        let maker = &self.pag.place(t.team).name;
        if ["pthread_", "thrd_"].iter().any(|p| maker.starts_with(p)) {
            return None;
        }
        match t.to == t.team {
            true => self.spot(t.rank, 0, t.team),
            false => self.spot(t.rank, self.flow(t.rank, t.thread), t.to),
        }
    }

    /// The spots of threads that waited for their team, and of those that they waited for.
    pub(super) fn meetings<'a>(
        &'a self,
        teams: &'a [TeamStretch],
    ) -> impl Iterator<Item = Spot> + 'a {
        by_stretch(teams).flat_map(move |stretch| {
            let waiting = stretch.iter().filter(|t| t.wait > 0.0);
            let both = waiting.flat_map(move |t| [Some(t), last(stretch, t)]);
            both.flatten().filter_map(|t| self.meeting(t))
        })
    }

    /// Where the last thread of a stretch came from: its barrier, or what it did last in the parallel region.
    fn came_from(&self, t: &TeamStretch) -> Option<u32> {
        if t.to != t.team {
            return self.number(self.meeting(t)?);
        }
        let flow = (t.rank, self.flow(t.rank, t.thread));
        let begin = self.spots.partition_point(|s| (s.0, s.1) < flow);
        let end = self.spots.partition_point(|s| (s.0, s.1) <= flow);
        let own = (begin as u32..end as u32).rev();
        let mut inside = own.filter(|s| self.is_in(t.team, *s) && self.place_of(*s) != t.team);
        inside.next()
    }

    /// Waiting of teams for their last thread.
    pub(super) fn team_waits(&mut self) {
        let (mut edges, mut unheld) = (Vec::new(), Vec::new());
        for stretch in by_stretch(&self.view.parallel.teams) {
            for t in stretch.iter().filter(|t| t.wait > 0.0) {
                let Some(at) = self.meeting(t).and_then(|spot| self.number(spot)) else {
                    continue;
                };
                let last = last(stretch, t).and_then(|l| Some((l.wait, self.came_from(l)?)));
                let (rest, count) = match last.filter(|(_, from)| *from != at) {
                    Some((rest, from)) => {
                        edges.push(Edge {
                            late_sender: Some(t.wait - rest),
                            ..Edge::new(from, at, EdgeType::InterThread, EdgeKind::Barrier, t.count)
                        });
                        // The edge counts the waits.
                        (rest, 0)
                    }
                    None => (t.wait, t.count),
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
