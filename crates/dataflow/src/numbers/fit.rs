//! Models how a figure grows with the number of ranks: a log-log line, and models chosen by cross-validation.
//!
//! The line is ScalAna's (section IV-A, after Barnes et al.). A line alone does not show a constant part. Where there
//! are four scales or more it competes with `c + a·p^(i/j)·log2(p)^k`, one term of the performance model normal form
//! (Calotoiu et al. 2013, "Using automated performance modeling to find scalability bugs in complex codes"), under
//! leave-one-out cross-validation; the simpler model wins a tie of 5 %. Errors are relative; where a figure may be near
//! zero at one of the scales, they are symmetric, as Extra-P reports them: see [`Measure`].

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
    /// `c + a·p^(i/j)·log2(p)^k` with given i, j and k: a term of the performance model normal form.
    Term(i8, i8, i32),
}

/// Forms in the order of preference if they predict equally well: simple ones first. The terms are those that Extra-P
/// tries by default, and those that describe work that is divided over ranks.
const FORMS: [Form; 52] = {
    use Form::*;
    [
        Constant,
        Power,
        Term(-1, 1, 0),
        Term(0, 1, 1),
        Term(1, 1, 0),
        Term(-1, 2, 0),
        Term(1, 2, 0),
        Term(-2, 1, 0),
        Term(2, 1, 0),
        Term(3, 1, 0),
        Term(1, 1, 1),
        Term(0, 1, 2),
        Term(-1, 1, 1),
        Term(-1, 1, 2),
        Term(-1, 2, 1),
        Term(-1, 3, 0),
        Term(-2, 3, 0),
        Term(-1, 4, 0),
        Term(-3, 4, 0),
        Term(1, 3, 0),
        Term(2, 3, 0),
        Term(1, 4, 0),
        Term(3, 4, 0),
        Term(1, 2, 1),
        Term(1, 1, 2),
        Term(3, 2, 0),
        Term(2, 1, 1),
        Term(1, 4, 1),
        Term(1, 3, 1),
        Term(2, 3, 1),
        Term(3, 4, 1),
        Term(1, 4, 2),
        Term(1, 3, 2),
        Term(1, 2, 2),
        Term(2, 3, 2),
        Term(3, 4, 2),
        Term(4, 5, 0),
        Term(5, 4, 0),
        Term(5, 4, 1),
        Term(4, 3, 0),
        Term(4, 3, 1),
        Term(3, 2, 1),
        Term(3, 2, 2),
        Term(5, 3, 0),
        Term(7, 4, 0),
        Term(2, 1, 2),
        Term(9, 4, 0),
        Term(7, 3, 0),
        Term(5, 2, 0),
        Term(5, 2, 1),
        Term(5, 2, 2),
        Term(3, 1, 1),
    ]
};

impl Form {
    /// The term without its factor, at `p` ranks.
    fn of(self, p: f64) -> f64 {
        match self {
            Self::Term(i, j, k) => p.powf(f64::from(i) / f64::from(j)) * p.log2().powi(k),
            Self::Power | Self::Constant => 0.0,
        }
    }
}

/// A power of the ranks in words.
fn power(i: i8, j: i8) -> String {
    match (i, j) {
        (0, _) => String::new(),
        (1, 1) => "p".to_string(),
        (i, 1) => format!("p^{i}"),
        (i, j) => format!("p^({i}/{j})"),
    }
}

/// A term in words.
fn term(i: i8, j: i8, k: i32) -> String {
    let log = match k {
        0 => String::new(),
        1 => "log2 p".to_string(),
        k => format!("log2^{k} p"),
    };
    let parts = [power(i, j), log];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    parts.join(" · ")
}

/// A fitted model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Its form.
    pub form: Form,
    /// Constant term, or factor of a power law.
    pub c: f64,
    /// Factor of the growing term, or exponent of a power law.
    pub a: f64,
    /// Mean error by the [`Measure`] when each point in turn is predicted from the others.
    pub cross_error: f64,
}

impl Model {
    /// The value at `p` ranks.
    pub fn at(&self, p: f64) -> f64 {
        match self.form {
            Form::Power => self.c * p.powf(self.a),
            form => self.c + self.a * form.of(p),
        }
    }

    /// The model as a formula, its factors with three significant digits. A constant that is only rounding beside the
    /// rest is left out.
    pub fn words(&self) -> String {
        let (c, a) = (digits(self.c), digits(self.a));
        let growing = match self.form {
            Form::Power => return format!("{c} · p^{:.2}", self.a),
            Form::Constant => return c,
            Form::Term(-1, 1, 0) => format!("{a} / p"),
            Form::Term(i, j, k) => format!("{a} · {}", term(i, j, k)),
        };
        if self.c.abs() <= 1e-9 * self.a.abs() {
            return growing;
        }
        format!("{c} + {growing}")
    }
}

/// A figure with three digits after the point, or three that are not zero where it is smaller: `1.250`, `0.00125`, and
/// from there on `1.25e-5`.
fn digits(x: f64) -> String {
    let size = x.abs().log10().floor();
    match size {
        _ if x == 0.0 => "0".to_string(),
        -4.0..-1.0 => format!("{x:.*}", (2.0 - size) as usize),
        ..-4.0 => format!("{x:.2e}"),
        _ => format!("{x:.3}"),
    }
}

/// Fits a form to points; `x` is the term without its factor at each of them.
fn fit(form: Form, points: &[(f64, f64)], x: &[f64]) -> Option<Model> {
    let (c, a) = match form {
        Form::Power => log_log(points).map(|l| (l.factor, l.slope))?,
        Form::Constant => (
            points.iter().map(|p| p.1).sum::<f64>() / points.len().max(1) as f64,
            0.0,
        ),
        // A negative constant or factor is not a possible time of a program.
        Form::Term(..) => {
            let all: Vec<(f64, f64)> = x.iter().zip(points).map(|(x, p)| (*x, p.1)).collect();
            line(&all).filter(|(c, a)| *c >= 0.0 && *a >= 0.0)?
        }
    };
    Some(Model {
        form,
        c,
        a,
        cross_error: 0.0,
    })
}

/// How the error of a prediction is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// |predicted − true| / |true|: unbounded, so that one figure near zero can decide alone.
    Relative,
    /// |predicted − true| / ((|predicted| + |true|) / 2), from 0 to 2; its mean is the symmetric mean absolute
    /// percentage error, which Extra-P reports for its models.
    Symmetric,
}

impl Measure {
    fn error(self, predicted: f64, value: f64) -> f64 {
        let of = match self {
            Self::Relative => value.abs(),
            Self::Symmetric => (predicted.abs() + value.abs()) / 2.0,
        };
        (predicted - value).abs() / of.max(1e-12)
    }
}

/// The model that predicts left-out points best; `None` for fewer than four points.
pub fn select(points: &[(f64, f64)], measure: Measure) -> Option<Model> {
    if points.len() < 4 {
        return None;
    }
    let without = |all: &[(f64, f64)], i: usize| [&all[..i], &all[i + 1..]].concat();
    let left: Vec<Vec<(f64, f64)>> = (0..points.len()).map(|i| without(points, i)).collect();
    let mut best: Option<Model> = None;
    for form in FORMS {
        let x: Vec<f64> = points.iter().map(|p| form.of(p.0)).collect();
        let error = |i: usize| {
            let own = [&x[..i], &x[i + 1..]].concat();
            let (p, v) = points[i];
            fit(form, &left[i], &own).map(|m| measure.error(m.at(p), v))
        };
        let errors: Option<Vec<f64>> = (0..points.len()).map(error).collect();
        let (Some(errors), Some(mut model)) = (errors, fit(form, points, &x)) else {
            continue;
        };
        model.cross_error = errors.iter().sum::<f64>() / errors.len() as f64;
        if best.is_none_or(|b| model.cross_error < b.cross_error * 0.95 - 1e-9) {
            best = Some(model);
        }
    }
    best
}

/// How far values scatter around the form that describes them best: a standard deviation relative to the values,
/// because a disturbance of a run changes long times more. 0 for fewer than three points: a line passes through any
/// two.
pub fn scatter(points: &[(f64, f64)]) -> f64 {
    let free = points.len() as f64 - 2.0;
    if free <= 0.0 {
        return 0.0;
    }
    let of_form = |form: Form| {
        let x: Vec<f64> = points.iter().map(|p| form.of(p.0)).collect();
        let model = fit(form, points, &x)?;
        let off = |(p, v): &(f64, f64)| Measure::Symmetric.error(model.at(*p), *v);
        let squares: f64 = points.iter().map(|point| off(point).powi(2)).sum();
        Some((squares / free).sqrt())
    };
    let best = FORMS.into_iter().filter_map(of_form).reduce(f64::min);
    best.unwrap_or(0.0)
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
        let model = select(&data, Measure::Relative).unwrap();
        assert_eq!(model.form, Form::Term(-1, 1, 0));
        let truth = 1.0 + 8.0 / 1024.0;
        assert!((model.at(1024.0) - truth).abs() / truth < 0.02);
        let line = log_log(&data).unwrap();
        assert!((line.factor * 1024f64.powf(line.slope) - truth).abs() / truth > 0.5);
    }

    #[test]
    fn terms_of_the_normal_form_are_distinguished() {
        type Case = (Form, fn(f64) -> f64, &'static str);
        let cases: [Case; 4] = [
            (
                Form::Term(0, 1, 1),
                |p| 1.0 + 0.5 * p.log2(),
                "1.000 + 0.500 · log2 p",
            ),
            (
                Form::Term(1, 1, 1),
                |p| 3.0 + 0.2 * p * p.log2(),
                "3.000 + 0.200 · p · log2 p",
            ),
            (
                Form::Term(2, 3, 0),
                |p| 4.0 + p.powf(2.0 / 3.0),
                "4.000 + 1.000 · p^(2/3)",
            ),
            (
                Form::Term(2, 1, 0),
                |p| 1.0 + 0.1 * p * p,
                "1.000 + 0.100 · p^2",
            ),
        ];
        for (form, f, words) in cases {
            let model = select(&points(f), Measure::Relative).unwrap();
            assert_eq!((model.form, model.words().as_str()), (form, words));
        }
    }

    #[test]
    fn small_factors_have_digits_too() {
        let of = |form, c, a| {
            Model {
                form,
                c,
                a,
                cross_error: 0.0,
            }
            .words()
        };
        for (form, c, a, words) in [
            (Form::Power, 0.0000125, 0.5, "1.25e-5 · p^0.50"),
            (Form::Power, 0.000_125, 0.5, "0.000125 · p^0.50"),
            (Form::Constant, 0.012_345, 0.0, "0.0123"),
            (Form::Constant, 0.0, 0.0, "0"),
            (Form::Term(1, 1, 0), 123.456, 0.5, "123.456 + 0.500 · p"),
            (Form::Term(-1, 1, 0), 1e-17, 0.004, "0.00400 / p"),
        ] {
            assert_eq!(of(form, c, a), words);
        }
    }

    #[test]
    fn symmetric_errors_are_not_decided_by_a_figure_next_to_nothing() {
        let data = [(2.0, 0.000_25), (4.0, 0.083), (8.0, 0.253), (16.0, 0.25)];
        let errors = [Measure::Relative, Measure::Symmetric].map(|m| select(&data, m).unwrap());
        assert!(errors[0].cross_error > 2.0 && errors[1].cross_error <= 2.0);
        // Both measures find the model that describes the points.
        for measure in [Measure::Relative, Measure::Symmetric] {
            let model = select(&points(|p| 1.0 + 0.5 * p.log2()), measure).unwrap();
            assert_eq!(model.form, Form::Term(0, 1, 1));
            assert!(model.cross_error < 1e-6);
        }
    }

    #[test]
    fn values_scatter_around_what_describes_them() {
        assert!(scatter(&points(|p| 1.0 + 8.0 / p)) < 1e-9);
        assert_eq!(scatter(&[(2.0, 4.0), (16.0, 3.0)]), 0.0);
        let busy = [(2.0, 4.0), (4.0, 3.0), (8.0, 1.0), (16.0, 0.6)];
        assert!(scatter(&busy) > 0.1, "{}", scatter(&busy));
    }

    #[test]
    fn too_few_scales_choose_no_model() {
        assert!(select(&[(2.0, 1.0), (4.0, 0.5), (8.0, 0.25)], Measure::Relative).is_none());
    }
}
