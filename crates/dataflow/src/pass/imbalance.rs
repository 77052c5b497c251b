//! Imbalance analysis: vertices on which some ranks spend much longer than others.
//!
//! Ranks are two natural groups (Jenks; Fisher 1958) if the slower one stands out by the threshold, by the spread
//! within the groups and by the noise of sampling; see [`stats::stands_out`](crate::numbers::stats::stands_out). In a
//! top-down view, a vertex has a row over ranks. In a parallel view, the vertices of the set at one place are compared,
//! with zero for each rank on which the view has no vertex of that place, and the late ones are returned.
//!
//! Nothing is priced here. How long others wait for late ranks is a question for a diagnosis.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::numbers::stats::{stands_out, two_groups};
use crate::set::Set;
use headwater_graph::view::{Cell, ViewKind};
use headwater_model::rank::RankSet;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "imbalance",
            "Vertices on which some ranks have much more of a metric than others; late_ranks and excess are added.",
            |call| {
                let least = call.number("least");
                let threshold = call.number("threshold");
                let found = imbalance(call.vertices(0)?, call.text("metric"), threshold, least)?;
                Ok(vec![found.into()])
            },
        )
        .takes("V", Kind::SET)
        .with("metric", "time", "metric; time is seconds")
        .with("threshold", 1.3, "how many times as much the late ranks must have")
        .figure_from(1.0)
        .with(
            "least",
            0.001,
            "how much more they must have, as a share of the run time for seconds, of what a rank of the set has of the metric on the mean otherwise",
        )
        .figure_from(0.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// Replaces the number of an unknown place.
const NO_PLACE: u64 = u64::MAX;

/// The late ranks of one place.
struct Uneven {
    /// Indices of the late values.
    upper: Vec<u32>,
    /// By how much their mean exceeds that of the others.
    excess: f64,
}

/// Standard error of one rank's time from sampling, seconds.
fn noise(set: &Set, metric: &str, vertex: u32, values: &[f64]) -> f64 {
    // The sampling rate falls in long runs; a set of a made view may have only the rate that was asked for.
    let sampling = set.view().table("sampling");
    let every = match sampling.map(|t| t.cell("sampled_every", 0)) {
        Some(Cell::Number(seconds)) => seconds,
        _ => set.view().header.sampling_hz.recip(),
    };
    let exact = set.view().vertices.cell("class", vertex as usize);
    let sampled = matches!(metric, "time" | "busy" | "workers" | "runq");
    // Calls are timed at both ends.
    if !every.is_finite() || every <= 0.0 || !sampled || !matches!(exact, Cell::Missing) {
        return 0.0;
    }
    (values.iter().copied().fold(0.0, f64::max) * every).sqrt()
}

fn uneven(values: &[f64], threshold: f64, least: f64, noise: f64) -> Option<Uneven> {
    let groups = two_groups(values)?;
    let excess = groups.high - groups.low;
    (excess >= least && stands_out(&groups, threshold, noise)).then_some(Uneven {
        upper: groups.upper,
        excess,
    })
}

/// Vertices of `set` on which some ranks have more of `metric` than others, the largest excess first.
///
/// The result has `excess`, the mean excess of the late ranks, and in a top-down view `late_ranks`. In a parallel view
/// the vertices on late ranks are returned, and `excess` is that of their place.
///
/// # Errors
/// If vertices have no such metric, or none over ranks.
pub fn imbalance(set: &Set, metric: &str, threshold: f64, least: f64) -> Result<Set, PassError> {
    let view = set.view();
    let seconds = view.vertices.unit(metric) == Some("s");
    let least = if seconds {
        least * view.header.wall_seconds
    } else {
        let all = set.numbers(metric)?;
        least * all.into_iter().flatten().sum::<f64>() / f64::from(view.header.ranks.max(1))
    };
    if view.kind == ViewKind::Parallel {
        return on_ranks(set, metric, threshold, least);
    }
    set.column(metric)?;
    let rows = super::by_rank(view, metric)?;
    let ranks = view.header.ranks;
    let mut found: Vec<(u32, Uneven)> = set
        .vertices()
        .par_iter()
        .filter_map(|v| {
            // A vertex without a row has zero on all ranks.
            rows.row(*v)?;
            let values = rows.dense(*v, ranks);
            let noise = noise(set, metric, *v, &values);
            Some((*v, uneven(&values, threshold, least, noise)?))
        })
        .collect();
    found.sort_by(|a, b| b.1.excess.total_cmp(&a.1.excess));
    let vertices = found.iter().map(|f| f.0).collect();
    let late = |f: &(u32, Uneven)| Some(f.1.upper.iter().copied().collect::<RankSet>().to_string());
    let excess: Vec<Option<f64>> = found.iter().map(|f| Some(f.1.excess)).collect();
    let late: Vec<Option<String>> = found.iter().map(late).collect();
    let set = Set::of(view, vertices, Vec::new());
    Ok(set
        .with_metric_like("excess", metric, &excess)?
        .with_words("late_ranks", &late)?)
}

/// By place: the number of ranks on which the view has no vertex of it; these spent nothing there. A vertex that is in
/// the view but not in the set does not say anything about its rank.
///
/// `groups` are the set's vertices by place. For places that the set has on all ranks, the view is not examined.
fn absent(set: &Set, groups: &[&[(u64, u32)]]) -> FxHashMap<u64, usize> {
    let view = set.view();
    let ranks = view.header.ranks as usize;
    let on_all = |group: &[(u64, u32)]| {
        let vertices = group
            .iter()
            .filter_map(|g| set.vertices().get(g.1 as usize));
        let rank = |v: &u32| view.vertices.get("rank")?.number(*v as usize);
        let mut present: Vec<u32> = vertices.filter_map(rank).map(|r| r as u32).collect();
        present.sort_unstable();
        present.dedup();
        present.len() >= ranks
    };
    let some = groups.par_iter().filter(|group| !on_all(group));
    // The number of missing ranks, and the rank seen last: vertices are in the order of ranks.
    let mut found: FxHashMap<u64, (usize, Option<u64>)> = some
        .filter_map(|group| Some((group.first()?.0, (ranks, None))))
        .collect();
    if found.is_empty() {
        return FxHashMap::default();
    }
    if let (Some(places), Some(of_ranks)) = (view.vertices.get("vertex"), view.vertices.get("rank"))
    {
        for v in 0..view.graph.vertices() {
            let place = places.number(v).map_or(NO_PLACE, |p| p as u64);
            if let Some((absent, last)) = found.get_mut(&place) {
                let rank = of_ranks.number(v).map(|r| r as u64);
                *absent = absent.saturating_sub(usize::from(rank.is_some() && *last != rank));
                *last = rank.or(*last);
            }
        }
    }
    found
        .into_iter()
        .map(|(p, (absent, _))| (p, absent))
        .collect()
}

fn on_ranks(set: &Set, metric: &str, threshold: f64, least: f64) -> Result<Set, PassError> {
    let values = set.numbers(metric)?;
    let places = set.numbers("vertex")?;
    let mut of_place: Vec<(u64, u32)> = (0..)
        .zip(&places)
        .map(|(i, p)| (p.map_or(NO_PLACE, |p| p as u64), i))
        .collect();
    of_place.par_sort_unstable();
    let groups: Vec<&[(u64, u32)]> = of_place.chunk_by(|a, b| a.0 == b.0).collect();
    let absent = absent(set, &groups);
    let mut found: Vec<(f64, Vec<u32>)> = groups
        .into_par_iter()
        .filter_map(|group| {
            let value = |i: u32| values.get(i as usize).copied().flatten().unwrap_or(0.0);
            let mut all: Vec<f64> = group.iter().map(|g| value(g.1)).collect();
            let first = *set.vertices().get(group.first()?.1 as usize)?;
            let spent_nothing = absent.get(&group.first()?.0).copied().unwrap_or(0);
            all.resize(all.len() + spent_nothing, 0.0);
            let noise = noise(set, metric, first, &all);
            let uneven = uneven(&all, threshold, least, noise)?;
            let late = uneven.upper.iter().filter_map(|u| group.get(*u as usize));
            Some((uneven.excess, late.map(|g| g.1).collect()))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut vertices = Vec::new();
    let mut excess = Vec::new();
    for (seconds, late) in found {
        excess.extend(late.iter().map(|_| Some(seconds)));
        vertices.extend(late.iter().filter_map(|i| set.vertices().get(*i as usize)));
    }
    let set = Set::of(set.view(), vertices, Vec::new());
    Ok(set.with_metric_like("excess", metric, &excess)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::view::{Column, Table, View};
    use std::sync::Arc;

    /// A parallel view of four ranks, two threads each: place 0 is even, and place 1 is on ranks 0 and 1 alone.
    fn on_four_ranks() -> Arc<View> {
        let mut rows = Vec::new();
        for rank in 0..4 {
            rows.extend([(0.0, f64::from(rank)); 2]);
            if rank < 2 {
                rows.extend([(1.0, f64::from(rank)); 2]);
            }
        }
        let column = |of: fn(&(f64, f64)) -> f64| Column::known(rows.iter().map(of).collect());
        let table = Table::new(rows.len())
            .with("vertex", column(|r| r.0))
            .with("rank", column(|r| r.1))
            .with("time", column(|_| 1.0));
        let mut view = View::made(table, vec![], vec![], Table::new(0)).expect("a graph");
        view.kind = ViewKind::Parallel;
        Arc::make_mut(&mut view.header).ranks = 4;
        Arc::new(view)
    }

    #[test]
    fn what_the_set_leaves_out_is_not_taken_for_nothing() {
        let view = on_four_ranks();
        let all = Set::vertices_of(&view);
        let late = |where_: &str| {
            let some = all
                .filter(&crate::set::Expr::parse(where_).expect("reads"))
                .expect("filters");
            let late = imbalance(&some, "time", 1.3, 0.0).expect("known by rank");
            late.vertices().to_vec()
        };
        assert_eq!(late("vertex == 0 and rank < 2"), [0u32; 0], "it is even");
        assert_eq!(late("vertex == 0 and rank == 3"), [0u32; 0]);
        let at_1 = [2, 3, 6, 7];
        assert_eq!(
            late("vertex == 1"),
            at_1,
            "two ranks have no such place at all"
        );
        assert_eq!(late("rank >= 0"), at_1);
    }

    #[test]
    fn noise_is_that_of_the_samples_that_came() {
        let mut view = View::made(Table::new(1), vec![], vec![], Table::new(0)).expect("a graph");
        let noise = |view: &View| {
            noise(
                &Set::vertices_of(&Arc::new(view.clone())),
                "time",
                0,
                &[1.0],
            )
        };
        assert_eq!(noise(&view), 0.0, "nothing was sampled");
        Arc::make_mut(&mut view.header).sampling_hz = 100.0;
        assert!((noise(&view) - 0.1).abs() < 1e-12);
        let every = Table::new(1).with("sampled_every", Column::known(vec![0.04]));
        view.tables.insert("sampling", Arc::new(every));
        assert!((noise(&view) - 0.2).abs() < 1e-12);
    }
}
