//! What is left of a phase if a cause is removed: the new times of its ranks.

use crate::find::uneven::Of;
use crate::measure::holder::Part;
use crate::measure::inclusive::Inclusive;
use crate::measure::late::Late;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};

/// What changes in a phase if a cause is removed.
pub struct Mended {
    /// The vertices of the place, and the share of their time (or sleep) there that each rank keeps.
    vertices: Vec<VertexIx>,
    shares: Vec<f64>,
    /// Seconds of the place that samples attribute to what encloses it, by rank.
    pub around: Vec<f64>,
    /// Seconds of work that ranks take over from others.
    more: Vec<f64>,
}

/// The time of one phase that is left after causes are taken off.
pub struct Left {
    /// All that ranks need: CPU time and sleep.
    pub busy: Inclusive,
    /// The part of it that is sleep, without sleep that waits for the rank's threads.
    pub asleep: Inclusive,
    /// Seconds of work that ranks take over where it is evened out.
    pub moved: Vec<f64>,
    /// Vertices of the causes that were taken off.
    pub taken: Vec<VertexIx>,
}

impl Left {
    /// What ranks need, or their sleep alone.
    pub fn column(&self, of: Of) -> &Inclusive {
        match of {
            Of::Sleep => &self.asleep,
            Of::All => &self.busy,
        }
    }

    /// Seconds of each rank in the whole phase.
    pub fn totals(&self) -> Option<Vec<f64>> {
        let own = self.busy.row(TopDown::ROOT)?.iter().zip(&self.moved);
        Some(own.map(|(own, more)| own + more).collect())
    }

    /// Takes off what changes if the cause at a place is removed.
    pub fn take(&mut self, pag: &Pag, of: Of, mended: &Mended) {
        for v in &mended.vertices {
            match of {
                Of::All => self.busy.scale(pag, *v, &mended.shares),
                Of::Sleep => {
                    self.busy.take_part(pag, *v, &self.asleep, &mended.shares);
                    self.asleep.scale(pag, *v, &mended.shares);
                }
            }
        }
        self.taken.extend(&mended.vertices);
        // Taken from what encloses the vertex with the most time.
        let time = |v: &&VertexIx| stats::ticks(self.busy.row(**v).map_or(0.0, stats::mean));
        let heaviest = mended.vertices.iter().max_by_key(time);
        if let Some(v) = heaviest.and_then(|v| pag.top.get(*v).parent) {
            self.busy.take(pag, v, &mended.around);
        }
        let more = self.moved.iter_mut().zip(&mended.more);
        more.for_each(|(moved, more)| *moved += more);
    }
}

/// Time that ranks which are not late need in a whole phase.
pub fn usual(totals: &[f64], late: &Late) -> f64 {
    if late.evens_out() {
        return stats::mean(totals);
    }
    let mask = late.mask(totals.len());
    let others = totals.iter().zip(mask).filter(|(_, late)| !late);
    stats::median(&others.map(|(total, _)| *total).collect::<Vec<f64>>())
}

/// What changes at a place, and the new totals of its phase, if late ranks need no more than the others there. No rank
/// becomes faster than ranks usually are: what it is late by beyond that is elsewhere. A rank that no longer sleeps may
/// become faster: its work may be less than usual by chance. `slack` is by how many seconds of a rank samples may
/// attribute too little to the place.
pub fn mend(
    of: Of,
    part: &Part,
    row: &[f64],
    totals: &[f64],
    late: &Late,
    slack: f64,
) -> (Mended, Vec<f64>) {
    let usual = usual(totals, late);
    let mut shares = vec![1.0; row.len()];
    let mut around = vec![0.0; row.len()];
    let mut after = totals.to_vec();
    let mut taken = 0.0;
    for rank in late.ranks.iter().map(|r| *r as usize) {
        let (Some(own), Some(total)) = (row.get(rank), totals.get(rank)) else {
            continue;
        };
        let most = (own - late.level).max(0.0);
        let beyond = match of {
            Of::All => (total - usual).clamp(0.0, most + slack),
            Of::Sleep => most,
        };
        let here = beyond.min(most);
        around[rank] = beyond - here;
        if *own > 0.0 {
            shares[rank] = 1.0 - here / own;
        }
        after[rank] -= beyond;
        taken += beyond;
    }
    let mut more = vec![0.0; row.len()];
    // The work that is evened out goes to ranks with less than the mean, which have room for all of it.
    let room: Vec<f64> = after.iter().map(|t| (usual - t).max(0.0)).collect();
    let all: f64 = room.iter().sum();
    if late.evens_out() && all > 0.0 {
        for ((more, after), room) in more.iter_mut().zip(&mut after).zip(room) {
            *more = room / all * taken;
            *after += *more;
        }
    }
    let vertices = part.vertices.clone();
    (
        Mended {
            vertices,
            shares,
            around,
            more,
        },
        after,
    )
}
