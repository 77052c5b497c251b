//! How a figure grows with the number of ranks: a log-log line, and models chosen by cross-validation.
//!
//! The line is ScalAna's (section IV-A, after Barnes et al.). A line alone does not see a floor, so
//! where the scales suffice (four or more) it competes with `c + a·p^e` and `c + a·log2(p)` under
//! leave-one-out cross-validation on relative errors; the simpler model wins a tie of 5 %.

/// A straight line through the logarithms: `value ≈ factor · p^slope`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLog {
    /// Exponent: −1 for work that is divided, 0 for work that stays, positive for growth.
    pub slope: f64,
    /// Value at one rank.
    pub factor: f64,
    /// Coefficient of determination in the logarithms, 0 to 1.
    pub r_squared: f64,
}

/// Fits a log-log line; `None` for fewer than two positive points with different `p`.
pub fn log_log(points: &[(f64, f64)]) -> Option<LogLog> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(p, v)| *p > 0.0 && *v > 0.0)
        .map(|(p, v)| (p.ln(), v.ln()))
        .collect();
    let (a, slope) = line(&logs)?;
    let mean_y = logs.iter().map(|l| l.1).sum::<f64>() / logs.len() as f64;
    let total: f64 = logs.iter().map(|l| (l.1 - mean_y).powi(2)).sum();
    let rest: f64 = logs.iter().map(|l| (l.1 - a - slope * l.0).powi(2)).sum();
    let r_squared = if total > 0.0 {
        (1.0 - rest / total).clamp(0.0, 1.0)
    } else {
        1.0
    };
    Some(LogLog {
        slope,
        factor: a.exp(),
        r_squared,
    })
}

/// Least squares `y = a + b·x`; `None` where x does not vary.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (sx, sy) = points
        .iter()
        .fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let sxx: f64 = points.iter().map(|p| (p.0 - sx / n).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - sx / n) * (p.1 - sy / n)).sum();
    (points.len() >= 2 && sxx > 0.0).then(|| {
        let b = sxy / sxx;
        (sy / n - b * sx / n, b)
    })
}

/// A form that a model may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// `a·p^b`, fitted in the logarithms.
    Power,
    /// `c`.
    Constant,
    /// `c + a·p^e` with a given exponent.
    Floor(f64),
    /// `c + a·log2(p)`.
    Logarithm,
}

/// Forms in the order of preference where they do equally well.
const FORMS: [Form; 10] = [
    Form::Constant,
    Form::Power,
    Form::Floor(-1.0),
    Form::Logarithm,
    Form::Floor(1.0),
    Form::Floor(-0.5),
    Form::Floor(0.5),
    Form::Floor(-2.0),
    Form::Floor(2.0),
    Form::Floor(3.0),
];

/// A fitted model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Its form.
    pub form: Form,
    /// Constant term, or factor of a power law.
    pub c: f64,
    /// Factor of the growing term, or exponent of a power law.
    pub a: f64,
    /// Mean relative error when each point in turn is predicted from the others.
    pub cross_error: f64,
}

impl Model {
    /// The value at `p` ranks.
    pub fn at(&self, p: f64) -> f64 {
        match self.form {
            Form::Power => self.c * p.powf(self.a),
            Form::Constant => self.c,
            Form::Floor(e) => self.c + self.a * p.powf(e),
            Form::Logarithm => self.c + self.a * p.log2(),
        }
    }

    /// The model as a formula.
    pub fn words(&self) -> String {
        let (c, a) = (self.c, self.a);
        match self.form {
            Form::Power => format!("{c:.3} · p^{a:.2}"),
            Form::Constant => format!("{c:.3}"),
            Form::Floor(-1.0) => format!("{c:.3} + {a:.3} / p"),
            Form::Floor(e) => format!("{c:.3} + {a:.3} · p^{e}"),
            Form::Logarithm => format!("{c:.3} + {a:.3} · log2 p"),
        }
    }
}

fn fit(form: Form, points: &[(f64, f64)]) -> Option<Model> {
    let linear =
        |f: &dyn Fn(f64) -> f64| line(&points.iter().map(|(p, v)| (f(*p), *v)).collect::<Vec<_>>());
    let (c, a) = match form {
        Form::Power => log_log(points).map(|l| (l.factor, l.slope))?,
        Form::Constant => (
            points.iter().map(|p| p.1).sum::<f64>() / points.len().max(1) as f64,
            0.0,
        ),
        // A negative floor or amount is no time that a program could take.
        Form::Floor(e) => linear(&|p| p.powf(e)).filter(|(c, a)| *c >= 0.0 && *a >= 0.0)?,
        Form::Logarithm => linear(&f64::log2).filter(|(c, a)| *c >= 0.0 && *a >= 0.0)?,
    };
    Some(Model {
        form,
        c,
        a,
        cross_error: 0.0,
    })
}

/// The model that predicts left-out points best; `None` for fewer than four points.
pub fn select(points: &[(f64, f64)]) -> Option<Model> {
    if points.len() < 4 {
        return None;
    }
    let mut best: Option<Model> = None;
    for form in FORMS {
        let errors: Option<Vec<f64>> = (0..points.len())
            .map(|left_out| {
                let rest: Vec<_> = points
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != left_out)
                    .map(|(_, p)| *p)
                    .collect();
                let (p, v) = points[left_out];
                fit(form, &rest).map(|m| (m.at(p) - v).abs() / v.abs().max(1e-12))
            })
            .collect();
        let (Some(errors), Some(mut model)) = (errors, fit(form, points)) else {
            continue;
        };
        model.cross_error = errors.iter().sum::<f64>() / errors.len() as f64;
        if best.is_none_or(|b| model.cross_error < b.cross_error * 0.95 - 1e-9) {
            best = Some(model);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [2.0, 4.0, 8.0, 16.0, 32.0]
            .into_iter()
            .map(|p| (p, f(p)))
            .collect()
    }

    #[test]
    fn a_divided_loop_has_slope_minus_one() {
        let line = log_log(&points(|p| 8.0 / p)).unwrap();
        assert!((line.slope + 1.0).abs() < 1e-9 && (line.r_squared - 1.0).abs() < 1e-9);
        assert!(log_log(&[(2.0, 0.0), (4.0, 1.0)]).is_none());
    }

    #[test]
    fn a_floor_is_seen_where_a_line_does_not_see_it() {
        let data = points(|p| 1.0 + 8.0 / p);
        let model = select(&data).unwrap();
        assert_eq!(model.form, Form::Floor(-1.0));
        let truth = 1.0 + 8.0 / 1024.0;
        assert!((model.at(1024.0) - truth).abs() / truth < 0.02);
        let line = log_log(&data).unwrap();
        assert!((line.factor * 1024f64.powf(line.slope) - truth).abs() / truth > 0.5);
    }

    #[test]
    fn too_few_scales_choose_no_model() {
        assert!(select(&[(2.0, 1.0), (4.0, 0.5), (8.0, 0.25)]).is_none());
    }
}
