//! The calling-context tree with the figures of each run.
//!
//! Figures are those of the top-down view. A figure of a vertex that has no frame of its own is in the frame around it.

use super::frames::{Frames, Onto};
use super::short;
use crate::model::contexts::{
    ContextMetric, ContextScale, Contexts, Metric, MetricUnit, OtherBuild,
};
use headwater_dataflow::Recorded;
use headwater_model::diagnosis::Place;
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Metrics of every run: name, title, unit.
const METRICS: [(&str, &str, MetricUnit); 8] = [
    ("time", "time", MetricUnit::Seconds),
    ("busy", "computation", MetricUnit::Seconds),
    ("mpi", "time in MPI", MetricUnit::Seconds),
    ("wait", "waiting for other ranks", MetricUnit::Seconds),
    ("blocked", "asleep outside MPI", MetricUnit::Seconds),
    ("runq", "without a core", MetricUnit::Seconds),
    ("count", "MPI calls", MetricUnit::Count),
    ("bytes", "bytes", MetricUnit::Bytes),
];

/// Numbers texts.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    known: FxHashMap<String, i32>,
}

impl Strings {
    fn number(&mut self, text: &str) -> i32 {
        if text.is_empty() {
            return -1;
        }
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.all.len() as i32;
        self.all.push(text.to_string());
        self.known.insert(text.to_string(), number);
        number
    }
}

/// What people call a place.
pub fn name(place: &Place) -> String {
    match place.kind {
        kind if kind.is_loop() => {
            format!("loop {}", headwater_model::words::location(place))
        }
        VertexKind::Branch => format!("branch {}", headwater_model::words::location(place)),
        _ => place.name.clone(),
    }
}

/// The metrics of runs, the counters of all of them last.
fn metrics(runs: &[Recorded]) -> Vec<Metric> {
    let known = METRICS.iter().map(|(name, title, unit)| Metric {
        name: (*name).to_string(),
        title: (*title).to_string(),
        unit: *unit,
    });
    let mut all: Vec<Metric> = known.collect();
    // Time in nanoseconds is also a metric in seconds.
    let counters = runs.iter().flat_map(|r| &r.run().header.counters);
    for counter in counters.filter(|c| !c.ends_with("_ns")) {
        if !all.iter().any(|m| m.name == *counter) {
            all.push(Metric {
                name: counter.clone(),
                title: counter.replace(['_', '-'], " "),
                unit: MetricUnit::Count,
            });
        }
    }
    all
}

/// The tree of all runs, and the figures of runs of other builds on it.
pub fn contexts(runs: &[Recorded], others: &[Recorded], frames: &Frames) -> Contexts {
    let mut strings = Strings::default();
    let mut out = Contexts {
        metrics: metrics(runs),
        ..Contexts::default()
    };
    let view = runs.first().map(|r| r.top_down());
    let class = view.and_then(|v| v.vertices.get("class"));
    let site = view.and_then(|v| v.vertices.get("site"));
    for (frame, (place, v)) in (0..).zip(frames.places().iter().zip(frames.vertices())) {
        out.parent
            .push(frames.parent(frame).map_or(-1, |p| p as i32));
        out.kind.push(place.kind);
        out.name.push(strings.number(&name(place)));
        out.function.push(strings.number(&place.function));
        let file = place.file.as_deref().unwrap_or("");
        out.file.push(strings.number(file));
        out.module.push(strings.number(&place.module));
        out.first_line.push(place.first_line);
        out.last_line.push(place.last_line);
        out.hot_line.push(place.hot_line);
        let class = class.and_then(|c| c.text(*v as usize)).unwrap_or("");
        out.mpi_class.push(strings.number(class));
        let site = site.and_then(|s| s.number(*v as usize));
        out.site.push(site.unwrap_or(f64::from(*v)) as u32);
    }
    if let (Some(name), Some(run)) = (out.name.first_mut(), runs.first()) {
        let path = &run.run().header.program;
        *name = strings.number(path.rsplit('/').next().unwrap_or(path));
    }
    out.strings = strings.all;
    let own = frames.own();
    let of = |run: &Recorded| scale(run, frames, &own, &out.metrics).0;
    out.scales = runs.iter().map(of).collect();
    let of = |run: &Recorded| {
        let onto = frames.of_other(runs.first()?, run);
        let (scale, elsewhere) = scale(run, frames, &onto, &out.metrics);
        let name = run.run().header.name.clone();
        Some(OtherBuild {
            name,
            scale,
            elsewhere,
        })
    };
    out.others = others.iter().filter_map(of).collect();
    out
}

/// The metrics of a run whose vertices are `onto` the frames, and what of each is at vertices without a frame.
fn scale(
    run: &Recorded,
    frames: &Frames,
    onto: &Onto,
    metrics: &[Metric],
) -> (ContextScale, BTreeMap<String, f64>) {
    let mut out = BTreeMap::new();
    let mut elsewhere = BTreeMap::new();
    for m in metrics {
        if let Some((metric, rest)) = metric(run, frames, onto, &m.name) {
            out.insert(m.name.clone(), metric);
            elsewhere.insert(m.name.clone(), short(rest));
        }
    }
    let scale = ContextScale {
        ranks: run.run().header.ranks,
        metrics: out,
    };
    (scale, elsewhere)
}

/// A metric of a run, and the sum at vertices without a frame; `None` where it has none.
fn metric(
    run: &Recorded,
    frames: &Frames,
    onto: &Onto,
    name: &str,
) -> Option<(ContextMetric, f64)> {
    let view = run.top_down();
    let column = view.vertices.get(name)?;
    let rows = view.rows.get(name);
    let n = frames.len();
    let mut own: Vec<Option<f64>> = vec![None; n];
    let mut most: Vec<Option<(f64, u32)>> = vec![None; n];
    // Figures of vertices without a frame, by the frame around them.
    let mut inside: Vec<f64> = vec![0.0; n];
    for v in 0..column.len() as u32 {
        let Some(figure) = column.number(v as usize).filter(|x| *x != 0.0) else {
            continue;
        };
        let frame = match onto.frame(v) {
            Ok(frame) => frame as usize,
            Err(around) => {
                if let Some(slot) = inside.get_mut(around as usize) {
                    *slot += figure;
                }
                continue;
            }
        };
        if let Some(slot) = own.get_mut(frame) {
            *slot = Some(slot.unwrap_or(0.0) + figure);
        }
        let row = rows
            .and_then(|r| r.row(v))
            .into_iter()
            .flat_map(|r| r.iter());
        let largest = row
            .map(|(rank, x)| (x, rank))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        if let (Some(slot), Some(new)) = (most.get_mut(frame), largest) {
            *slot = Some(slot.filter(|old| old.0 >= new.0).unwrap_or(new));
        }
    }
    if own.iter().all(Option::is_none) {
        return None;
    }
    let mut with_inside = own.clone();
    for (slot, more) in with_inside.iter_mut().zip(&inside) {
        if *more != 0.0 {
            *slot = Some(slot.unwrap_or(0.0) + more);
        }
    }
    // In program order, what is inside a frame comes after it.
    for frame in (1..n).rev() {
        if let (Some(inside), Some(around)) = (with_inside[frame], frames.parent(frame as u32)) {
            let slot = &mut with_inside[around as usize];
            *slot = Some(slot.unwrap_or(0.0) + inside);
        }
    }
    let shortened = |all: Vec<Option<f64>>| all.into_iter().map(|x| x.map(short)).collect();
    let metric = ContextMetric {
        largest: shortened(most.iter().map(|m| m.map(|m| m.0)).collect()),
        largest_rank: most.iter().map(|m| m.map_or(-1, |m| m.1 as i32)).collect(),
        exclusive: shortened(own),
        inclusive: shortened(with_inside),
    };
    Some((metric, inside.iter().sum()))
}
