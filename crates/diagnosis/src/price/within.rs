//! Finds the functions that hold a good part of many small losses each: a step of the program whose work is in many
//! small functions, such as those of a library.

use std::collections::{BTreeMap, BTreeSet};

/// A function counts if this share of the losses is in it and in what it calls, and in no function that counts already.
const PART: f64 = 0.2;

/// A function with this share of the losses is no step of the program: it is what all of them are called from.
pub const ALL: f64 = 0.8;

/// Less than this share of the losses is not worth a word.
const NOTABLE: f64 = 0.01;

/// A loss of a place in one call path.
#[derive(Clone, Debug)]
pub struct Loss<F> {
    /// The place, by number.
    pub place: usize,
    /// What it loses.
    pub seconds: f64,
    /// The functions around it, the outermost last; one that calls itself may be there several times.
    pub around: Vec<F>,
}

/// A function and what it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Within<F> {
    /// The function.
    pub function: F,
    /// The share of the losses that is in it and in no function before it in the list.
    pub share: f64,
    /// The functions before it in the list that hold a part of what is in it.
    pub without: Vec<F>,
}

/// What is known of a function.
#[derive(Default)]
struct Function {
    seconds: f64,
    /// Functions around it, itself included, the most.
    depth: usize,
    /// Its losses, by number.
    losses: Vec<usize>,
}

/// The functions that hold a good part of the losses. The function with the smallest part comes first: what is always
/// inside another function holds less than that one, or the same. The outermost function, and one with losses of a
/// single place, say nothing.
pub fn within<F: Ord + Copy>(losses: &[Loss<F>]) -> Vec<Within<F>> {
    let sum: f64 = losses.iter().map(|loss| loss.seconds).sum();
    let mut functions = functions(losses);
    functions.retain(|(_, of)| of.depth > 1 && of.seconds >= PART * sum && of.seconds < ALL * sum);
    functions.sort_by(|(f, a), (g, b)| {
        let by_loss = a.seconds.total_cmp(&b.seconds);
        by_loss.then(b.depth.cmp(&a.depth)).then(f.cmp(g))
    });
    let mut found: Vec<Within<F>> = Vec::new();
    // The function that a loss is counted in.
    let mut taken: Vec<Option<F>> = vec![None; losses.len()];
    for (function, of) in functions {
        let mut own = 0.0;
        let mut places = BTreeSet::new();
        let mut before: BTreeMap<F, f64> = BTreeMap::new();
        for number in &of.losses {
            let Some((loss, taken)) = losses.get(*number).zip(taken.get(*number)) else {
                continue;
            };
            match taken {
                Some(other) => *before.entry(*other).or_default() += loss.seconds,
                None if loss.seconds > 0.0 => {
                    own += loss.seconds;
                    places.insert(loss.place);
                }
                None => {}
            }
        }
        if own < PART * sum || places.len() < 2 {
            continue;
        }
        for number in of.losses {
            if let Some(taken) = taken.get_mut(number) {
                taken.get_or_insert(function);
            }
        }
        let is_notable = |other: &F| before.get(other).is_some_and(|s| *s >= NOTABLE * sum);
        let without = found.iter().map(|of| of.function).filter(is_notable);
        found.push(Within {
            function,
            share: own / sum,
            without: without.collect(),
        });
    }
    found
}

fn functions<F: Ord + Copy>(losses: &[Loss<F>]) -> Vec<(F, Function)> {
    let mut functions: BTreeMap<F, Function> = BTreeMap::new();
    for (number, loss) in losses.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for (inside, function) in loss.around.iter().enumerate() {
            // Once for a function that calls itself: where it is innermost.
            if seen.insert(*function) {
                let of = functions.entry(*function).or_default();
                of.seconds += loss.seconds;
                of.depth = of.depth.max(loss.around.len() - inside);
                of.losses.push(number);
            }
        }
    }
    functions.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses of this many places each, with the functions around them.
    fn losses(rows: &[(usize, f64, &[&'static str])]) -> Vec<Loss<&'static str>> {
        let each = |(places, seconds, around): &(usize, f64, &[&'static str])| {
            vec![(*seconds, around.iter().rev().copied().collect()); *places]
        };
        let all = rows.iter().flat_map(each).enumerate();
        let of = |(place, (seconds, around))| Loss {
            place,
            seconds,
            around,
        };
        all.map(of).collect()
    }

    fn names(losses: &[Loss<&'static str>]) -> Vec<(&'static str, Vec<&'static str>)> {
        let found = within(losses).into_iter();
        found.map(|of| (of.function, of.without)).collect()
    }

    #[test]
    fn steps_with_many_small_functions_are_found() {
        let losses = losses(&[
            (30, 0.01, &["main", "iterate", "diagonalize"]),
            (40, 0.01, &["main", "iterate", "transform"]),
            (20, 0.005, &["main", "iterate"]),
            (20, 0.01, &["main"]),
        ]);
        // What else is in "iterate" is a tenth, and "main" holds all.
        assert_eq!(
            names(&losses),
            [("diagonalize", vec![]), ("transform", vec![])]
        );
        let found = within(&losses);
        assert!((found[0].share - 0.3).abs() < 1e-9 && (found[1].share - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_function_around_others_is_counted_without_them() {
        let found = names(&losses(&[
            (25, 0.01, &["main", "iterate", "transform", "clock"]),
            (25, 0.01, &["main", "iterate", "transform"]),
            (50, 0.01, &["main", "write"]),
        ]));
        assert_eq!(
            found,
            [
                ("clock", vec![]),
                ("transform", vec!["clock"]),
                ("write", vec![])
            ]
        );
    }

    #[test]
    fn of_a_function_with_several_callers_the_smaller_one_comes_first() {
        let found = names(&losses(&[
            (25, 0.01, &["main", "iterate", "norm"]),
            (30, 0.01, &["main", "write", "norm"]),
            (10, 0.01, &["main", "iterate"]),
            (35, 0.01, &["main"]),
        ]));
        assert_eq!(found, [("write", vec![]), ("iterate", vec![])]);
    }

    #[test]
    fn a_function_with_a_single_place_left_is_no_step() {
        let mut found = losses(&[
            (30, 0.01, &["main", "solve", "norm"]),
            (1, 0.25, &["main", "solve"]),
            (45, 0.01, &["main"]),
        ]);
        assert_eq!(names(&found), [("norm", vec![])]);
        found.push(Loss {
            place: 90,
            seconds: 0.01,
            around: vec!["solve", "main"],
        });
        assert_eq!(names(&found), [("norm", vec![]), ("solve", vec!["norm"])]);
    }

    #[test]
    fn one_place_and_many_scattered_ones_are_no_step() {
        assert_eq!(
            within(&losses(&[
                (1, 0.5, &["main", "f"]),
                (1, 0.5, &["main", "g"])
            ])),
            []
        );
        let each: Vec<String> = (0..90).map(|n| format!("f{n}")).collect();
        let each = |n: usize| Loss {
            place: n,
            seconds: 0.01,
            around: vec![each[n].as_str(), "main"],
        };
        assert_eq!(within(&(0..90).map(each).collect::<Vec<_>>()), []);
        // Several call paths of one place are one place, and the outermost function is no step.
        let again = |_| Loss {
            place: 0,
            seconds: 0.1,
            around: vec!["f", "f", "start"],
        };
        let mut few = losses(&[(60, 0.01, &["main"])]);
        few.extend((0..4).map(again));
        assert_eq!(within(&few), []);
        assert_eq!(within::<u32>(&[]), []);
    }
}
