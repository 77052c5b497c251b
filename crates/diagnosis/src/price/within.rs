//! Finds the innermost functions that hold a good part of many small losses each: a step of the program whose work is in
//! many small functions, such as those of a library.

use std::collections::{BTreeMap, BTreeSet};

/// A function counts if this share of the losses is in it and in what it calls, and in no function that counts already.
const PART: f64 = 0.2;

/// Functions with this share of the losses hold all of them.
const ALL: f64 = 0.8;

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within<F> {
    /// The function.
    pub function: F,
    /// The share of the losses that is in it and in no function before it in the list.
    pub share: f64,
    /// Whether functions before it in the list hold a part of what is in it.
    pub is_rest: bool,
}

/// What is known of a function.
#[derive(Default)]
struct Function {
    seconds: f64,
    places: BTreeSet<usize>,
    /// Functions around it, the most.
    depth: usize,
    /// Its losses, by number.
    losses: Vec<usize>,
}

/// The functions of losses, the innermost first. A function with one place, and one that holds all, says nothing.
pub fn within<F: Ord + Copy>(losses: &[Loss<F>]) -> Vec<Within<F>> {
    let sum: f64 = losses.iter().map(|loss| loss.seconds).sum();
    let mut functions: BTreeMap<F, Function> = BTreeMap::new();
    for (number, loss) in losses.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for (inside, function) in loss.around.iter().enumerate() {
            // Once for a function that calls itself: where it is innermost.
            if seen.insert(*function) {
                let of = functions.entry(*function).or_default();
                of.seconds += loss.seconds;
                of.places.insert(loss.place);
                of.depth = of.depth.max(loss.around.len() - inside);
                of.losses.push(number);
            }
        }
    }
    functions
        .retain(|_, of| of.seconds >= PART * sum && of.seconds < ALL * sum && of.places.len() > 1);
    // What is inside of another function holds less, or the same.
    let mut functions: Vec<(F, Function)> = functions.into_iter().collect();
    functions.sort_by(|(f, a), (g, b)| {
        let by_loss = a.seconds.total_cmp(&b.seconds);
        by_loss.then(b.depth.cmp(&a.depth)).then(f.cmp(g))
    });
    let mut left: Vec<f64> = losses.iter().map(|loss| loss.seconds).collect();
    let mut found = Vec::new();
    for (function, of) in functions {
        let own = of.losses.iter().filter_map(|number| left.get(*number));
        let own: f64 = own.sum();
        if own >= PART * sum {
            for number in of.losses {
                if let Some(seconds) = left.get_mut(number) {
                    *seconds = 0.0;
                }
            }
            found.push(Within {
                function,
                share: own / sum,
                is_rest: own < (1.0 - PART) * of.seconds,
            });
        }
    }
    found
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

    #[test]
    fn steps_with_many_small_functions_are_found() {
        let found = within(&losses(&[
            (30, 0.01, &["main", "iterate", "diagonalize"]),
            (40, 0.01, &["main", "iterate", "transform"]),
            (20, 0.005, &["main", "iterate"]),
            (20, 0.01, &["main"]),
        ]));
        let names: Vec<_> = found.iter().map(|f| (f.function, f.is_rest)).collect();
        // What else is in "iterate" is a tenth, and "main" holds all.
        assert_eq!(names, [("diagonalize", false), ("transform", false)]);
        assert!((found[0].share - 0.3).abs() < 1e-9 && (found[1].share - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_function_around_others_has_the_rest() {
        let found = within(&losses(&[
            (25, 0.01, &["main", "iterate", "transform", "clock"]),
            (25, 0.01, &["main", "iterate", "transform"]),
            (50, 0.01, &["main", "write"]),
        ]));
        let names: Vec<_> = found.iter().map(|f| (f.function, f.is_rest)).collect();
        assert_eq!(
            names,
            [("clock", false), ("transform", true), ("write", false)]
        );
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
        // Several call paths of one place are one place.
        let again = |_| Loss {
            place: 0,
            seconds: 0.1,
            around: vec!["f", "f"],
        };
        let mut few = losses(&[(60, 0.01, &["main"])]);
        few.extend((0..4).map(again));
        assert_eq!(within(&few).len(), 1);
        assert_eq!(within::<u32>(&[]), []);
    }
}
