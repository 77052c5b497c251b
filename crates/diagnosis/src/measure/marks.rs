//! Marks problematic vertices before their causes are sought (ScalAna, section IV-A): vertices that scale badly, and
//! vertices that differ between ranks.
//!
//! Time over ranks is summed up in all of the paper's ways (one rank, mean, median, variance, clusters of ranks), and
//! each is fitted over the scales; a vertex is listed with the one in which it loses most. Vertices are ranked by the
//! product of their share of the loss and the distance of their slope from the ideal one. So neither a long loop that
//! shrinks almost as it should nor a small vertex that grows comes first.
//!
//! The pass `differential` compares two runs metric by metric, by the own time of places. Here, time with everything
//! inside is fitted over all scales. Ranks are compared by two natural groups (Jenks; Fisher 1958) and a robust test:
//! see [`stands_out`].

use crate::measure::scale::Scale;
use crate::measure::scaling::ideal;
use crate::measure::times::{Summary, Times};
use headwater_dataflow::flow::{Stage, StageResult, counted};
use headwater_dataflow::numbers::fit::{Measure, log_log, select};
use headwater_dataflow::numbers::stats::{stands_out, two_groups};
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{Aggregate, Aggregation, Marked, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;

/// At most this many vertices are listed.
const MOST: usize = 20;

/// Smallest share of the run time, or of the loss, that is worth listing.
const LEAST: f64 = 0.01;

/// Slope above which a vertex scales badly: where time should shrink as 1/p, and where it should stay constant.
const UNUSUAL: [f64; 2] = [-0.7, 0.1];

/// Excess slopes above this count as this one.
const STEEPEST: f64 = 2.0;

/// Places that were marked, the worst first.
pub struct Marks(pub Vec<(VertexIx, Marked)>);

impl StageResult for Marks {
    const STAGE: Stage = Stage::new(&["marks", "marked places"]);

    fn words(&self) -> String {
        counted(self.0.len(), "place", "places")
    }
}

type Way = fn(&Summary) -> f64;

/// BacktrackingPaths to sum a vertex up over ranks; of ways with equal losses the first is listed.
const WAYS: [(Aggregation, Way); 5] = [
    (Aggregation::Mean, |s| s.mean),
    (Aggregation::Median, |s| s.median),
    (Aggregation::Clusters, |s| s.cluster),
    (Aggregation::OneRank, |s| s.one),
    (Aggregation::Variance, |s| s.deviation),
];

/// Whether a vertex is a place that people can act on.
fn listed(pag: &Pag, v: VertexIx) -> bool {
    let kind = pag.top.get(v).kind;
    v == TopDown::STARTUP
        || v == TopDown::WINDDOWN
        || kind.is_loop()
        || kind == VertexKind::MpiCall
        || matches!(kind, VertexKind::ExternalCall)
}

fn marked(pag: &Pag, v: VertexIx, at_end: &Summary) -> Marked {
    Marked {
        place: pag.place(v),
        ranks: RankSet::default(),
        seconds: at_end.mean,
        loss_share: 0.0,
        aggregation: Aggregation::Mean,
        slope: None,
        r_squared: None,
        model: None,
        aggregates: Vec::new(),
        ratio: if at_end.median > 0.0 {
            at_end.most / at_end.median
        } else {
            0.0
        },
    }
}

/// One way of summing up, fitted over the scales.
fn aggregate(scales: &[Scale], over: &[Summary], aggregation: Aggregation, way: Way) -> Aggregate {
    let seconds: Vec<(u32, f64)> = scales
        .iter()
        .map(|s| s.size)
        .zip(over.iter().map(way))
        .collect();
    let points: Vec<(f64, f64)> = seconds.iter().map(|(p, v)| (f64::from(*p), *v)).collect();
    let line = log_log(&points);
    let model = select(&points, Measure::Relative);
    Aggregate {
        aggregation,
        seconds,
        slope: line.map(|l| l.slope),
        r_squared: line.map(|l| l.r_squared),
        model: model.map(|m| m.words()),
        model_error: model.map(|m| m.cross_error),
    }
}

/// Vertices whose time shrinks less than it should.
pub fn non_scalable(
    pag: &Pag,
    scales: &[Scale],
    times: &Times,
    scaling: Scaling,
) -> Vec<(VertexIx, Marked)> {
    let [first, .., last] = scales else {
        return Vec::new();
    };
    let total = last.model_seconds() - ideal(scaling, first.model_seconds(), first.size, last.size);
    if total < LEAST * last.model_seconds() {
        return Vec::new();
    }
    let (unusual, ideal_slope) = match scaling {
        Scaling::Weak => (UNUSUAL[1], 0.0),
        Scaling::Strong | Scaling::Single => (UNUSUAL[0], -1.0),
    };
    let mut out: Vec<(f64, (VertexIx, Marked))> = Vec::new();
    for v in 1..pag.top.vertices.len() as VertexIx {
        if !listed(pag, v) {
            continue;
        }
        let over: Vec<Summary> = (0..scales.len()).map(|i| times.shown(pag, i, v)).collect();
        let (Some(at_first), Some(at_end)) = (over.first(), over.last()) else {
            continue;
        };
        let loss = |way: Way| way(at_end) - ideal(scaling, way(at_first), first.size, last.size);
        let worst = WAYS
            .into_iter()
            .reduce(|a, b| if loss(b.1) > loss(a.1) { b } else { a });
        let Some((aggregation, way)) = worst.filter(|w| loss(w.1) >= LEAST * total) else {
            continue;
        };
        let listed = aggregate(scales, &over, aggregation, way);
        // A vertex that some scales do not have has no line, but its appearance is growth.
        let excess = listed.slope.map_or(1.0, |slope| slope - ideal_slope);
        if excess <= unusual - ideal_slope {
            continue;
        }
        let share = (loss(way) / total).clamp(0.0, 1.0);
        let mark = Marked {
            ranks: RankSet::all(last.p),
            loss_share: share,
            aggregation,
            slope: listed.slope,
            r_squared: listed.r_squared,
            model: listed.model,
            aggregates: WAYS
                .into_iter()
                .map(|(name, way)| aggregate(scales, &over, name, way))
                .collect(),
            ..marked(pag, v, at_end)
        };
        out.push((share * excess.min(STEEPEST), (v, mark)));
    }
    // Sorting is stable: equal ones stay in the order of the graph.
    out.sort_by(|a, b| b.0.total_cmp(&a.0));
    out.truncate(MOST);
    out.into_iter().map(|(_, mark)| mark).collect()
}

/// Vertices in which some ranks take much longer than others at the largest scale.
pub fn abnormal(
    pag: &Pag,
    scales: &[Scale],
    times: &Times,
    threshold: f64,
) -> Vec<(VertexIx, Marked)> {
    let Some(last) = scales.last() else {
        return Vec::new();
    };
    let least = LEAST * last.model_seconds();
    let mut out = Vec::new();
    for v in 1..pag.top.vertices.len() as VertexIx {
        if !listed(pag, v) {
            continue;
        }
        let at_end = times.shown(pag, scales.len() - 1, v);
        // The distance between the groups is at most that between the ranks.
        if at_end.most - at_end.least < least {
            continue;
        }
        let row = times.row(pag, scales, scales.len() - 1, v);
        let Some(groups) = two_groups(&row) else {
            continue;
        };
        let noise = last.sampling_noise(pag, &last.keys_inside(pag, v), &groups.upper);
        if groups.high - groups.low < least || !stands_out(&groups, threshold, noise) {
            continue;
        }
        let mut mark = marked(pag, v, &at_end);
        mark.ranks = groups.upper.iter().copied().collect();
        mark.seconds = groups.high - groups.low;
        out.push((v, mark));
    }
    out.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    out.truncate(MOST);
    out
}
