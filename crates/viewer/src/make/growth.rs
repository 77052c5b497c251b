//! Seconds in a place over the scales, with fitted models and what they predict for larger runs.
//!
//! The models are those of the detection (ScalAna, section IV-A): a log-log line, and from four scales on the model that
//! cross-validation chooses.

use super::short;
use crate::model::causes::{FittedFigure, Growth, GrowthModel, GrowthPoint, ModelKind};
use headwater_dataflow::numbers::fit::{Measure, log_log, select};
use headwater_model::diagnosis::{Cause, Scaling};

/// Points of a curve between two scales.
const BETWEEN: usize = 4;

/// How many times the largest scale is doubled for predictions.
const DOUBLED: i32 = 4;

/// The growth of a cause.
pub fn growth(cause: &Cause, scaling: Scaling) -> Growth {
    let seen = |seconds: f64, most: f64| Some(seconds).filter(|_| most > 0.0);
    let points = cause
        .by_scale
        .iter()
        .map(|(ranks, mean, most)| GrowthPoint {
            ranks: *ranks,
            mean_seconds: seen(*mean, *most),
            most_seconds: seen(*most, *most),
        });
    let points: Vec<GrowthPoint> = points.collect();
    let of = |figure: fn(&GrowthPoint) -> Option<f64>| -> Vec<(f64, f64)> {
        let known = points
            .iter()
            .filter_map(|p| Some((f64::from(p.ranks), figure(p)?)));
        known.collect()
    };
    let (mean, most) = (of(|p| p.mean_seconds), of(|p| p.most_seconds));
    let mut models = models(FittedFigure::Mean, &mean);
    models.extend(self::models(FittedFigure::Most, &most));
    let ideal = match mean.first() {
        Some(first) if mean.len() > 1 => {
            let at = |p: f64| match scaling {
                Scaling::Strong => first.1 * first.0 / p,
                Scaling::Weak | Scaling::Single => first.1,
            };
            curve(&mean, at)
        }
        _ => Vec::new(),
    };
    Growth {
        models,
        ideal,
        points,
    }
}

fn models(of: FittedFigure, points: &[(f64, f64)]) -> Vec<GrowthModel> {
    let Some(last) = points.last() else {
        return Vec::new();
    };
    let line = log_log(points).map(|line| GrowthModel {
        of,
        kind: ModelKind::Line,
        words: format!("{:.3e} · p^{:.2}", line.factor, line.slope),
        slope: Some(short(line.slope)),
        // A line through two points always fits.
        r_squared: (points.len() > 2).then(|| short(line.r_squared)),
        error: None,
        curve: curve(points, |p| line.factor * p.powf(line.slope)),
        predicted_from: last.0,
    });
    let model = select(points, Measure::Relative).map(|model| GrowthModel {
        of,
        kind: ModelKind::Model,
        words: model.words(),
        slope: None,
        r_squared: None,
        error: Some(short(model.cross_error)),
        curve: curve(points, |p| model.at(p)),
        predicted_from: last.0,
    });
    line.into_iter().chain(model).collect()
}

/// Values at the scales, between them, and at some times the largest one.
fn curve(points: &[(f64, f64)], at: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut ranks: Vec<f64> = Vec::new();
    for two in points.windows(2) {
        let (from, to) = (two[0].0, two[1].0);
        let step = |i: usize| from * (to / from).powf(i as f64 / BETWEEN as f64);
        ranks.extend((0..BETWEEN).map(step));
    }
    if let Some(last) = points.last() {
        ranks.extend((0..=DOUBLED).map(|i| last.0 * 2f64.powi(i)));
    }
    let value = |p: f64| (short(p), short(at(p)));
    let all = ranks.into_iter().map(value);
    all.filter(|(_, seconds)| seconds.is_finite() && *seconds >= 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_the_scales_and_beyond() {
        let points = [(2.0, 8.0), (4.0, 4.0), (8.0, 2.0)];
        let curve = curve(&points, |p| 16.0 / p);
        for point in points {
            assert!(curve.contains(&point), "{point:?}");
        }
        assert_eq!(curve.last(), Some(&(128.0, 0.125)));
        let found = models(FittedFigure::Mean, &points);
        assert_eq!(found.len(), 1, "three scales do not suffice for a model");
        assert_eq!(found[0].slope, Some(-1.0));
    }
}
