//! Strong or weak scaling, as the user says or as the command lines let guess.
//!
//! The numbers in the arguments are compared between the scales. Numbers that are the number of ranks,
//! or whose product is (a process grid), say nothing of the problem; a number, or the product of
//! several, that grows as the ranks do (or as their square or cube root, the side of a plane or cube)
//! makes the problem grow.

use headwater_model::diagnosis::Scaling;
use headwater_model::run::Run;

/// How far growth may be from that of the ranks, as a share: sizes are rounded.
const NEAR: f64 = 0.15;

/// Strong or weak, and how that is known.
pub fn scaling_of(runs: &[&Run], said: Option<Scaling>) -> (Scaling, String) {
    let guessed = |scaling, why: String| (scaling, format!("guessed: {why}"));
    match said {
        _ if runs.len() < 2 => return (Scaling::Single, "one scale was given".to_string()),
        Some(said) => return (said, "said by the user".to_string()),
        None => {}
    }
    if runs
        .windows(2)
        .all(|w| w[0].header.command == w[1].header.command)
    {
        let why = "the arguments are the same at all scales";
        return guessed(Scaling::Strong, why.to_string());
    }
    let Some(columns) = changed_numbers(runs) else {
        let why = "the arguments change with the scale";
        return guessed(Scaling::Weak, why.to_string());
    };
    let ranks: Vec<f64> = runs.iter().map(|r| f64::from(r.header.ranks)).collect();
    let product = |columns: &[Vec<f64>]| -> Vec<f64> {
        let at = |i: usize| columns.iter().filter_map(|c| c.get(i)).product();
        (0..runs.len()).map(at).collect()
    };
    let whole = product(&columns);
    let telling: Vec<Vec<f64>> = columns.into_iter().filter(|c| *c != ranks).collect();
    if telling.is_empty() || whole == ranks {
        let why = "what changes in the arguments is the number of ranks";
        return guessed(Scaling::Strong, why.to_string());
    }
    let sizes = telling.iter().cloned().chain([product(&telling)]);
    for size in sizes.filter(|s| grows_with(s, &ranks)) {
        if let [first, .., last] = &size[..] {
            let why = format!("a number in the arguments grows with the ranks, {first} to {last}");
            return guessed(Scaling::Weak, why);
        }
    }
    let why = "no number in the arguments grows as the ranks do";
    guessed(Scaling::Strong, why.to_string())
}

/// Numbers in the arguments that are not the same at all scales, each over the scales; `None` where
/// the arguments differ in more than numbers.
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

/// Whether `values` grow as the ranks, or as their square or cube root.
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
            let (scaling, why) = scaling_of(&runs.iter().collect::<Vec<_>>(), None);
            assert_eq!(scaling, expected, "{what}: {why}");
        }
    }

    #[test]
    fn the_user_knows_better() {
        let runs = [&Run::default(), &Run::default()];
        assert_eq!(scaling_of(&runs, Some(Scaling::Weak)).0, Scaling::Weak);
        assert_eq!(
            scaling_of(&runs[..1], Some(Scaling::Weak)).0,
            Scaling::Single
        );
    }
}
