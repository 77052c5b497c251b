//! Problematic vertices before their causes are sought (ScalAna, section IV-A): vertices that scale
//! badly, and vertices that differ between ranks.
//!
//! Time over ranks is summed up in the paper's four ways (one rank, mean, median, groups of ranks);
//! the way in which a vertex loses most is the one it is listed with. Ranked by slope *and* by share
//! of the loss: listed by share, among those whose slope is worse than the program's.

use crate::fit::{log_log, select};
use crate::inclusive::Inclusive;
use crate::scale::Scale;
use crate::stats::{self, stands_out, two_groups};
use crate::work::ideal;
use headwater_graph::{Pag, VertexIx};
use headwater_model::diagnosis::{Marked, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;

/// Vertices listed at the most.
const MOST: usize = 20;

/// Smallest share of the run time, or of the loss, that is worth listing.
const LEAST: f64 = 0.01;

/// Ways to sum a vertex up over ranks.
const WAYS: [fn(&[f64]) -> f64; 4] = [
    |row| row.first().copied().unwrap_or(0.0),
    stats::mean,
    stats::median,
    |row| two_groups(row).map_or_else(|| stats::mean(row), |g| g.high),
];

/// What a vertex is measured by at one scale: computation inside it, or time in it if it is an MPI call.
pub struct Times {
    inclusive: Vec<Inclusive>,
}

impl Times {
    /// Inclusive times at every scale.
    pub fn new(pag: &Pag, scales: &[Scale<'_>]) -> Self {
        let one =
            |s: &Scale<'_>| Inclusive::new(pag, s.p, s.view.placed.iter(), |r| f64::from(r.busy));
        Self {
            inclusive: scales.iter().map(one).collect(),
        }
    }

    /// Computation inside `v` by rank at one scale, seconds; `None` where there is none.
    pub fn computation(&self, scale: usize, v: VertexIx) -> Option<&[f64]> {
        self.inclusive.get(scale)?.row(v)
    }

    /// Seconds in `v` by rank at one scale.
    pub fn row(&self, pag: &Pag, scales: &[Scale<'_>], scale: usize, v: VertexIx) -> Vec<f64> {
        let p = scales[scale].p;
        if pag.top.get(v).kind == VertexKind::MpiCall {
            return scales[scale].view.mpi.dense(v, p);
        }
        self.inclusive[scale]
            .row(v)
            .map_or_else(|| vec![0.0; p as usize], <[f64]>::to_vec)
    }
}

/// Whether a vertex is a place that people can act on.
fn listed(kind: VertexKind) -> bool {
    kind.is_loop() || kind == VertexKind::MpiCall || matches!(kind, VertexKind::ExternalCall)
}

fn marked(pag: &Pag, v: VertexIx, row: &[f64]) -> Marked {
    let middle = stats::median(row);
    Marked {
        place: pag.place(v),
        ranks: RankSet::default(),
        seconds: stats::mean(row),
        loss_share: 0.0,
        slope: None,
        r_squared: None,
        model: None,
        ratio: if middle > 0.0 {
            stats::max(row) / middle
        } else {
            0.0
        },
    }
}

/// Vertices whose time shrinks less than it should.
pub fn non_scalable(
    pag: &Pag,
    scales: &[Scale<'_>],
    times: &Times,
    scaling: Scaling,
) -> Vec<Marked> {
    let [first, .., last] = scales else {
        return Vec::new();
    };
    let end = scales.len() - 1;
    let total_loss =
        (last.model_seconds() - ideal(scaling, first.model_seconds(), first.p, last.p)).max(1e-9);
    let mut out = Vec::new();
    for v in 1..pag.top.vertices.len() as VertexIx {
        if !listed(pag.top.get(v).kind) {
            continue;
        }
        let rows: Vec<Vec<f64>> = (0..scales.len())
            .map(|i| times.row(pag, scales, i, v))
            .collect();
        let loss_by = |way: &fn(&[f64]) -> f64| {
            way(&rows[end]) - ideal(scaling, way(&rows[0]), first.p, last.p)
        };
        let Some(way) = WAYS
            .into_iter()
            .reduce(|a, b| if loss_by(&b) > loss_by(&a) { b } else { a })
        else {
            continue;
        };
        let share = (loss_by(&way) / total_loss).clamp(0.0, 1.0);
        let points: Vec<(f64, f64)> = scales
            .iter()
            .zip(&rows)
            .map(|(s, r)| (f64::from(s.p), way(r)))
            .collect();
        let line = log_log(&points);
        let unusual =
            line.is_none_or(|l| l.slope > if scaling == Scaling::Weak { 0.1 } else { -0.7 });
        if share < LEAST || !unusual {
            continue;
        }
        let mut mark = marked(pag, v, &rows[end]);
        mark.ranks = RankSet::all(last.p);
        mark.loss_share = share;
        mark.slope = line.map(|l| l.slope);
        mark.r_squared = line.map(|l| l.r_squared);
        mark.model = select(&points).map(|m| m.words());
        out.push(mark);
    }
    out.sort_by(|a, b| b.loss_share.total_cmp(&a.loss_share));
    out.truncate(MOST);
    out
}

/// Vertices in which some ranks take much longer than others at the largest scale.
pub fn abnormal(pag: &Pag, scales: &[Scale<'_>], times: &Times, threshold: f64) -> Vec<Marked> {
    let Some(last) = scales.last() else {
        return Vec::new();
    };
    let least = LEAST * last.model_seconds();
    let busy = stats::mean(&last.busy());
    let mut out = Vec::new();
    for v in 1..pag.top.vertices.len() as VertexIx {
        if !listed(pag.top.get(v).kind) {
            continue;
        }
        let row = times.row(pag, scales, scales.len() - 1, v);
        let Some(groups) = two_groups(&row) else {
            continue;
        };
        if groups.high - groups.low < least
            || !stands_out(
                &groups,
                threshold,
                last.sampling_noise(groups.high, busy.max(groups.high)),
            )
        {
            continue;
        }
        let mut mark = marked(pag, v, &row);
        mark.ranks = groups.upper.iter().copied().collect();
        mark.seconds = groups.high - groups.low;
        out.push(mark);
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    out.truncate(MOST);
    out
}
