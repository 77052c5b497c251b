//! Strong or weak scaling: as the user says, or as guessed from the command lines and the measured work.
//!
//! The numbers in the arguments are compared between the scales. Numbers that are the number of ranks, or whose product
//! is (a process grid), do not show how the problem grows. The problem grows if a number, or the product of several,
//! grows in proportion to the ranks (or to their square or cube root, the side of a plane or cube).
//!
//! Measured work is the second witness: the computation of all ranks together stays constant under strong scaling and
//! grows in proportion to the ranks under weak scaling. Non-shrinking work makes it grow under strong scaling too; but
//! then other places shrink, which none does under weak scaling. If work grows in proportion to the ranks everywhere,
//! it is weak scaling or work that every rank repeats: if the arguments do not decide, both answers are reported. The
//! guess is certain if both witnesses agree or one shows nothing. If they contradict each other, the figures use the
//! scaling that the measured work shows; if the work is unclear, that of the arguments.

use crate::measure::counted::Counted;
use crate::measure::scale::{Scale, paused_alike};
use crate::measure::times::Times;
use crate::measure::useful;
use headwater_dataflow::numbers::stats;
use headwater_dataflow::run::threads;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::Scaling;
use headwater_model::run::Run;
use headwater_model::words::ScaleUnit;

/// How far growth may differ from that of the ranks, as a share: sizes are rounded.
const NEAR: f64 = 0.15;

/// Exponents of total work over ranks: up to the first it stays constant, from the second on it grows in proportion to
/// the ranks.
const STAYS: f64 = 0.25;
const GROWS: f64 = 0.75;

/// Exponent of a rank's time in a place up to which the place counts as divided: half way to the ideal, −1.
const DIVIDED: f64 = -0.5;

/// Least share of the computation in divided places that shows strong scaling.
const PART: f64 = 0.1;

/// Least share of computation in the run at the smallest scale that shows how the problem grows.
const COMPUTES: f64 = 0.1;

/// A place counts if it has at least this share of the computation and this many samples.
const DECISIVE: f64 = 0.05;
const SAMPLES: f64 = 20.0;

/// What `seconds` at `from` ranks should be at `to` ranks.
pub fn ideal(scaling: Scaling, seconds: f64, from: u32, to: u32) -> f64 {
    match scaling {
        Scaling::Strong => seconds * f64::from(from) / f64::from(to.max(1)),
        Scaling::Weak | Scaling::Single => seconds,
    }
}

/// How the problem grows, and how that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// Strong or weak.
    pub scaling: Scaling,
    /// The reason for it.
    pub reason: String,
    /// Whether the other kind can be excluded.
    pub certain: bool,
}

/// How measured work grows from the smallest to the largest scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Work of all ranks together at the largest scale over that at the smallest.
    pub factor: f64,
    /// The same for the number of ranks.
    pub ranks: f64,
    /// Share of the computation of the smallest scale that is in places which shrink as ranks are added.
    pub divided: f64,
    /// What is added: ranks, threads, or both.
    pub unit: &'static str,
}

/// What measured work shows.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Strong,
    Weak,
    Unclear,
}

/// Useful seconds of all threads of all ranks, for each of them.
fn useful_of_threads(scale: &Scale) -> f64 {
    useful::of_ranks(scale).into_iter().sum::<f64>() / f64::from(scale.size)
}

impl Growth {
    /// The growth over scales that can be compared; `None` if too little was computed to show anything.
    pub fn new(pag: &Pag, scales: &[Scale], times: &Times) -> Option<Self> {
        let [first, .., last] = scales else {
            return None;
        };
        if first.size == last.size || !paused_alike(scales) {
            return None;
        }
        let counted = |s: &Scale| {
            let all: Vec<u32> = (0..s.p).collect();
            Counted::new(s, &s.keys())?.instructions(&all)
        };
        let seconds = |s: &Scale| stats::mean(&s.busy());
        let ranks = f64::from(last.size) / f64::from(first.size);
        let (before, now) = match (counted(first), counted(last)) {
            // The time of a rank contains its waits for its threads, so work is what all of its threads computed.
            _ if last.threads_each != first.threads_each => {
                (useful_of_threads(first), useful_of_threads(last))
            }
            (Some(before), Some(now)) => (before, now),
            _ => (seconds(first), seconds(last)),
        };
        if seconds(first) < COMPUTES * first.model_seconds() {
            return None;
        }
        (before > 0.0 && now > 0.0).then(|| Self {
            factor: now / before * ranks,
            ranks,
            divided: divided(pag, scales, times, ranks),
            unit: last.unit(),
        })
    }

    fn says(&self) -> Work {
        match self.factor.ln() / self.ranks.ln() {
            e if e <= STAYS || self.divided >= PART => Work::Strong,
            e if e >= GROWS => Work::Weak,
            _ => Work::Unclear,
        }
    }

    fn words(&self) -> String {
        let all = format!(
            "computation of all {0} together grows {1:.2} times with {2:.0} times the {0}",
            self.unit, self.factor, self.ranks
        );
        match self.says() {
            Work::Strong if self.factor.ln() / self.ranks.ln() > STAYS => {
                format!("{all}, but {:.0} % of it is divided", self.divided * 100.0)
            }
            Work::Strong => format!(
                "computation of all {} together stays ({:.2} times)",
                self.unit, self.factor
            ),
            Work::Weak | Work::Unclear => all,
        }
    }
}

/// Share of the computation of the smallest scale that is in places which shrink as ranks are added.
fn divided(pag: &Pag, scales: &[Scale], times: &Times, ranks: f64) -> f64 {
    let own = |scale: usize, v: VertexIx| {
        let inside = pag.children.get(v as usize).into_iter().flatten();
        let inside: f64 = inside.map(|c| times.computation(scale, *c).usual).sum();
        (times.computation(scale, v).usual - inside).max(0.0)
    };
    let all = times.computation(0, TopDown::ROOT).usual;
    let least = scales.first().map_or(0.0, |s| SAMPLES * s.period);
    let end = scales.len().saturating_sub(1);
    let vertices = 0..pag.top.vertices.len() as VertexIx;
    let shrinks = |v: VertexIx| {
        let before = own(0, v);
        let decisive = before >= least.max(DECISIVE * all);
        (decisive && own(end, v) <= before * ranks.powf(DIVIDED)).then_some(before)
    };
    let sum: f64 = vertices.filter_map(shrinks).sum();
    if all > 0.0 { (sum / all).min(1.0) } else { 0.0 }
}

/// Strong or weak, and how that is known; `growth` is that of the measured work, if it is known.
pub fn scaling_of(runs: &[&Run], said: Option<Scaling>, growth: Option<Growth>) -> Guess {
    let certain = |scaling, reason: String| Guess {
        scaling,
        reason,
        certain: true,
    };
    match said {
        _ if runs.len() < 2 => return certain(Scaling::Single, "one scale was given".to_string()),
        Some(said) => return certain(said, "said by the user".to_string()),
        None => {}
    }
    let (argued, why) = by_arguments(runs);
    let Some(growth) = growth else {
        let scaling = argued.unwrap_or(Scaling::Weak);
        return certain(scaling, format!("guessed: {why}"));
    };
    let reason = format!("guessed: {why}; {}", growth.words());
    let (scaling, certain) = match (argued, growth.says()) {
        (Some(Scaling::Weak), Work::Weak) => (Scaling::Weak, true),
        // Work that grows in proportion to the ranks is weak scaling, even if a part of the program is divided.
        (Some(Scaling::Weak), Work::Strong) if growth.factor >= growth.ranks.powf(GROWS) => {
            (Scaling::Weak, true)
        }
        (Some(Scaling::Weak), Work::Strong) => (Scaling::Strong, false),
        (Some(argued), Work::Unclear) => (argued, false),
        (Some(_), Work::Strong) | (None, Work::Strong) => (Scaling::Strong, true),
        (Some(_), Work::Weak) => (Scaling::Weak, false),
        (None, Work::Weak) => (Scaling::Weak, true),
        (None, Work::Unclear) => (Scaling::Weak, false),
    };
    Guess {
        scaling,
        reason,
        certain,
    }
}

/// What the arguments show, and why; `None` if they change but do not show how.
fn by_arguments(runs: &[&Run]) -> (Option<Scaling>, String) {
    if runs
        .windows(2)
        .all(|w| w[0].header.command == w[1].header.command)
    {
        let why = "the arguments are the same at all scales";
        return (Some(Scaling::Strong), why.to_string());
    }
    let Some(columns) = changed_numbers(runs) else {
        return (None, "the arguments change with the scale".to_string());
    };
    let of = |count: fn(&Run) -> f64| runs.iter().map(|r| count(r)).collect::<Vec<f64>>();
    let ranks = of(|r| threads::scale(r).0 as f64);
    let [processes, of_each] = [
        of(|r| f64::from(r.header.ranks)),
        of(|r| f64::from(threads::of_scale(r).unwrap_or(0))),
    ];
    let product = |columns: &[Vec<f64>]| -> Vec<f64> {
        let at = |i: usize| columns.iter().filter_map(|c| c.get(i)).product();
        (0..runs.len()).map(at).collect()
    };
    let whole = product(&columns);
    let telling: Vec<Vec<f64>> = columns
        .into_iter()
        .filter(|c| ![&ranks, &processes, &of_each].contains(&c))
        .collect();
    let scales = runs
        .iter()
        .map(|run| (run.header.ranks, threads::of_scale(run)));
    let unit = ScaleUnit::of(scales).words();
    if telling.is_empty() || whole == ranks {
        let why = format!("what changes in the arguments is the number of {unit}");
        return (Some(Scaling::Strong), why);
    }
    let sizes = telling.iter().cloned().chain([product(&telling)]);
    for size in sizes.filter(|s| grows_with(s, &ranks)) {
        if let [first, .., last] = &size[..] {
            let why = format!("a number in the arguments grows with the {unit}, {first} to {last}");
            return (Some(Scaling::Weak), why);
        }
    }
    let why = format!("no number in the arguments grows as the {unit} do");
    (Some(Scaling::Strong), why)
}

/// Numbers in the arguments that are not the same at all scales, each over the scales; `None` if the arguments differ
/// in more than numbers.
fn changed_numbers(runs: &[&Run]) -> Option<Vec<Vec<f64>>> {
    let parts: Vec<(String, Vec<f64>)> = runs.iter().map(|r| split(&r.header.command)).collect();
    let (frame, first) = parts.first()?;
    if parts.iter().any(|p| p.0 != *frame) {
        return None;
    }
    let column =
        |i: usize| -> Vec<f64> { parts.iter().filter_map(|p| p.1.get(i).copied()).collect() };
    let all = (0..first.len()).map(column);
    Some(all.filter(|c| c.iter().any(|v| *v != c[0])).collect())
}

/// A command line as text with its whole numbers taken out, and the numbers.
fn split(command: &[String]) -> (String, Vec<f64>) {
    let (mut frame, mut numbers) = (String::new(), Vec::new());
    let line = command.join("\n");
    let mut rest = line.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        frame.push_str(&rest[..start]);
        frame.push('#');
        let digits = &rest[start..];
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        numbers.push(digits[..end].parse().unwrap_or(f64::MAX));
        rest = &digits[end..];
    }
    frame.push_str(rest);
    (frame, numbers)
}

/// Whether `values` grow in proportion to the ranks, or to their square or cube root.
fn grows_with(values: &[f64], ranks: &[f64]) -> bool {
    let (Some(v0), Some(p0)) = (values.first(), ranks.first()) else {
        return false;
    };
    [1, 2, 3].into_iter().any(|power| {
        values.iter().zip(ranks).all(|(v, p)| {
            let (growth, wanted) = ((v / v0).powi(power), p / p0);
            *v0 > 0.0 && (growth / wanted - 1.0).abs() <= NEAR
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_the_arguments_tell_the_problem_from_the_ranks() {
        let cases: [(&str, [&str; 3], Scaling); 8] = [
            ("the same", ["n=100", "n=100", "n=100"], Scaling::Strong),
            ("grows alike", ["-n 200", "-n 400", "-n 800"], Scaling::Weak),
            ("a cube's side", ["100", "126", "159"], Scaling::Weak),
            ("two sides", ["10 10", "10 20", "20 20"], Scaling::Weak),
            ("the ranks", ["out.2", "out.4", "out.8"], Scaling::Strong),
            ("a process grid", ["1 2", "2 2", "2 4"], Scaling::Strong),
            ("both", ["2 200", "4 400", "8 800"], Scaling::Weak),
            ("a seed", ["17", "3", "99"], Scaling::Strong),
        ];
        for (what, arguments, expected) in cases {
            let run = |(args, ranks): (&&str, u32)| {
                let mut run = Run::default();
                run.header.ranks = ranks;
                run.header.command = vec!["./app".into(), args.to_string()];
                run
            };
            let runs: Vec<Run> = arguments.iter().zip([2, 4, 8]).map(run).collect();
            let guess = scaling_of(&runs.iter().collect::<Vec<_>>(), None, None);
            assert_eq!(guess.scaling, expected, "{what}: {}", guess.reason);
        }
    }

    #[test]
    fn the_user_knows_better() {
        let runs = [&Run::default(), &Run::default()];
        let said = |runs| scaling_of(runs, Some(Scaling::Weak), None).scaling;
        assert_eq!(said(&runs), Scaling::Weak);
        assert_eq!(said(&runs[..1]), Scaling::Single);
    }

    #[test]
    fn arguments_and_measured_work_are_weighed() {
        use Scaling::{Strong, Weak};
        let (equal, sizes, files) = (["100", "100"], ["100", "400"], ["in.a", "in.long.b"]);
        let cases = [
            ("divided work", equal, 1.1, 1.0, Strong, true),
            ("a quarter does not shrink", equal, 2.0, 0.7, Strong, true),
            ("mostly work that stays", equal, 3.6, 0.15, Strong, true),
            ("each rank the same", equal, 4.0, 0.0, Weak, false),
            ("in between", equal, 2.0, 0.0, Strong, false),
            ("larger problem", sizes, 4.1, 0.0, Weak, true),
            (
                "larger problem, a divided table",
                sizes,
                3.9,
                0.2,
                Weak,
                true,
            ),
            (
                "more steps, say, on the same",
                sizes,
                1.0,
                1.0,
                Strong,
                false,
            ),
            ("another file", files, 4.0, 0.0, Weak, true),
            ("another file of the same", files, 1.0, 1.0, Strong, true),
            ("another file, in between", files, 2.0, 0.0, Weak, false),
        ];
        for (what, arguments, factor, divided, expected, certain) in cases {
            let run = |(args, ranks): (&&str, u32)| {
                let mut run = Run::default();
                run.header.ranks = ranks;
                run.header.command = vec!["./app".into(), args.to_string()];
                run
            };
            let runs: Vec<Run> = arguments.iter().zip([2, 8]).map(run).collect();
            let growth = Growth {
                factor,
                ranks: 4.0,
                divided,
                unit: "ranks",
            };
            let guess = scaling_of(&runs.iter().collect::<Vec<_>>(), None, Some(growth));
            let found = (guess.scaling, guess.certain);
            assert_eq!(found, (expected, certain), "{what}: {}", guess.reason);
        }
    }
}
