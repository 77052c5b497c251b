//! Clusters ranks by what they spend where (the fourth of ScalAna's ways to sum up over ranks, section IV-A).

use crate::algorithm::{Interrupted, clusters};
use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::graph::whole;
use crate::set::Set;
use headwater_model::rank::RankSet;
use headwater_model::report::{Section, Unit};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "cluster-ranks",
            "Ranks that behave alike, by a metric of the set's vertices; and the vertices with the mean of each cluster, those in which the clusters differ most first.",
            |call| {
                let (metric, most) = (call.text("metric"), call.count("most"));
                let (table, set) = cluster_ranks(call.vertices(0)?, metric, most, call.number("least"), call.interrupted)?;
                Ok(vec![table.into(), set.into()])
            },
        )
        .takes_some("V", Kind::TOP_DOWN)
        .with("metric", "time", "metric of the vectors; time is seconds")
        .with("most", 8.0, "clusters at the most")
        .whole_from(1.0)
        .with(
            "least",
            0.05,
            "how far from the mean some rank must be, as a share of the mean vector's length",
        )
        .figure_from(0.0)
        .gives(Gives::Kind(Kind::Section))
        .gives(Gives::AsArgument(0)),
    ]
}

/// The vectors consist of at most this many vertices: those with the most of the metric.
const DIMENSIONS: usize = 256;

/// Clusters of ranks by a metric of the vertices, and the vertices with `cluster_N`, the mean over the cluster's ranks,
/// and `spread`, the difference between the largest and the smallest of these means; the largest spread comes first.
/// Figures are not normalised, so that large ones distinguish ranks most. If there are many vertices, only the 256 with
/// the most of the metric are used.
///
/// # Errors
/// If vertices have no such metric, it is not known by rank, or it is interrupted.
pub fn cluster_ranks(
    set: &Set,
    metric: &str,
    most: usize,
    least: f64,
    interrupted: Interrupted<'_>,
) -> Result<(Section, Set), PassError> {
    let set = super::hotspot(set, metric, DIMENSIONS)?;
    let view = set.view();
    let rows = super::by_rank(view, metric)?;
    let ranks = view.header.ranks;
    let mut vectors = vec![Vec::new(); ranks as usize];
    for v in set.vertices() {
        let values = rows.dense(*v, ranks).into_iter();
        vectors.iter_mut().zip(values).for_each(|(o, x)| o.push(x));
    }
    let found = clusters(&vectors, most, least, interrupted);
    let found = whole(found, interrupted)?;
    let mean = super::table::heading_as(&view.vertices, metric, "mean");
    let columns = [
        ("cluster", "cluster", Unit::None),
        ("ranks", "ranks", Unit::None),
        ("size", "number of ranks", Unit::Count),
        (&mean.name, "mean of a rank", mean.unit),
        ("typical_rank", "most typical", Unit::None),
    ];
    let title = format!("Ranks that are alike in {metric}");
    let mut section = Section::new("clusters", &title, &columns);
    section.note = Some(match found.silhouette {
        Some(s) => format!(
            "The silhouette is {s:.2}: 1 is clusters that are far apart, and from 0.5 on ranks are divided."
        ),
        None => "Ranks do not differ enough to form clusters.".to_string(),
    });
    for (c, centre) in (0u32..).zip(&found.centres) {
        let own = || {
            (0u32..)
                .zip(&found.of_rank)
                .filter(|o| *o.1 == c)
                .map(|o| o.0)
        };
        let far = |r: u32| {
            let all = vectors[r as usize].iter().zip(centre);
            all.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let typical = own().reduce(|a, b| if far(b) < far(a) { b } else { a });
        section.rows.push(vec![
            f64::from(c).into(),
            own().collect::<RankSet>().to_string().as_str().into(),
            (own().count() as f64).into(),
            centre.iter().sum::<f64>().into(),
            typical.map(f64::from).into(),
        ]);
    }
    let mut out = set.clone();
    let column = |i: usize| -> Vec<Option<f64>> {
        (0..set.vertices().len())
            .map(|d| found.centres[i].get(d).copied())
            .collect()
    };
    let all: Vec<Vec<Option<f64>>> = (0..found.centres.len()).map(column).collect();
    for (i, values) in all.iter().enumerate() {
        out = out.with_metric_like(&format!("cluster_{i}"), metric, values)?;
    }
    let spread = |d: usize| {
        let values = || all.iter().filter_map(|c| c[d]);
        Some(values().reduce(f64::max)? - values().reduce(f64::min)?)
    };
    let spread: Vec<Option<f64>> = (0..set.vertices().len()).map(spread).collect();
    Ok((
        section,
        out.with_metric_like("spread", metric, &spread)?
            .sort_by("spread")?,
    ))
}
