//! Breakdown analysis (PerFlow, Figure 2): why some ranks are longer in a communication call than others.
//!
//! The mean time that late ranks take longer than the others is divided, in this order:
//!
//! | part | what it is |
//! | --- | --- |
//! | `load_before` | they waited, and had computed less before the call than the others: others have more load |
//! | `waiting` | they waited for another reason, such as a chain of ranks |
//! | `calls` | they make more calls |
//! | `message_size` | they move more bytes in a call |
//! | `transfer` | the rest: moving the data |
//!
//! If ranks are alike in a call, its mean time is divided into waiting and transfer. `reason` names the largest part.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::numbers::stats::{mean, mean_of, two_groups};
use crate::set::Set;
use headwater_graph::RankRows;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "breakdown",
            "Why some ranks are longer in communication calls than others: load before the call, waiting, calls, message size, transfer.",
            |call| Ok(vec![breakdown(call.vertices(0)?)?.into()]),
        )
        .takes("V", Kind::TOP_DOWN)
        .gives(Gives::AsArgument(0)),
    ]
}

/// Parts, in the order in which time is divided among them.
const PARTS: [&str; 5] = [
    "load_before",
    "waiting",
    "calls",
    "message_size",
    "transfer",
];

/// Late ranks must take this many times as long as the others; below that, ranks are alike.
const APART: f64 = 1.1;

/// The vertices with the parts of the time that late ranks take longer, seconds, and the `reason`.
///
/// # Errors
/// If the set's view has no time over ranks.
pub fn breakdown(set: &Set) -> Result<Set, PassError> {
    let view = set.view();
    let Some(time) = view.rows.get("time") else {
        let what = "its vertices have no time by rank; give vertices of a run's top-down view";
        return Err(PassError::Argument("V".to_string(), what.to_string()));
    };
    let ranks = view.header.ranks;
    let row = |name: &str, v: u32| {
        let rows: Option<&RankRows> = view.rows.get(name).map(|r| &**r);
        rows.map_or_else(|| vec![0.0; ranks as usize], |r| r.dense(v, ranks))
    };
    let mut parts: [Vec<Option<f64>>; 5] = Default::default();
    let mut reasons: Vec<Option<String>> = Vec::new();
    for &v in set.vertices() {
        let own = divided(&time.dense(v, ranks), |name| row(name, v));
        let most = (0..PARTS.len()).reduce(|a, b| if own[b] > own[a] { b } else { a });
        let reason = most.filter(|m| own[*m] > 0.0).map(|m| PARTS[m]);
        reasons.push(reason.map(|r| r.replace('_', " ")));
        for (part, value) in parts.iter_mut().zip(own) {
            part.push(Some(value));
        }
    }
    let mut out = set.clone();
    for (name, values) in PARTS.iter().zip(&parts) {
        out = out.with_metric(name, values)?;
    }
    Ok(out.with_words("reason", &reasons)?)
}

/// The parts of the time of one vertex.
fn divided(time: &[f64], row: impl Fn(&str) -> Vec<f64>) -> [f64; 5] {
    let wait = row("wait");
    let groups = two_groups(time).filter(|g| g.high > APART * g.low);
    let Some(groups) = groups else {
        let all = mean(time);
        let waiting = mean(&wait).min(all);
        return [0.0, waiting, 0.0, 0.0, all - waiting];
    };
    let late = groups.upper;
    let others: Vec<u32> = (0..time.len() as u32)
        .filter(|r| late.binary_search(r).is_err())
        .collect();
    let means = |values: &[f64]| (mean_of(values, &late), mean_of(values, &others));
    let mut rest = groups.high - groups.low;
    let mut take = |part: f64| {
        let part = part.clamp(0.0, rest);
        rest -= part;
        part
    };
    let (waited, others_waited) = means(&wait);
    let waiting = (waited - others_waited).max(0.0);
    let (before, others_before) = means(&row("before"));
    let load = take((others_before - before).clamp(0.0, waiting));
    let waiting = take(waiting - load);
    let share = |(late, others): (f64, f64)| {
        if late > others {
            1.0 - others / late
        } else {
            0.0
        }
    };
    let counts = means(&row("count"));
    let working = groups.high - load - waiting;
    let calls = take(working * share(counts));
    let bytes = means(&row("bytes"));
    let each = |bytes: f64, count: f64| if count > 0.0 { bytes / count } else { 0.0 };
    let sizes = (each(bytes.0, counts.0), each(bytes.1, counts.1));
    let size = take((working - calls) * share(sizes));
    [load, waiting, calls, size, rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_late_ranks_take_longer_is_divided_among_its_reasons() {
        let time = [1.0, 1.0, 5.0, 5.0];
        let rows = |wait: [f64; 4], before: [f64; 4], bytes: [f64; 4]| {
            divided(&time, move |name| match name {
                "wait" => wait.to_vec(),
                "before" => before.to_vec(),
                "bytes" => bytes.to_vec(),
                _ => vec![1.0; 4],
            })
        };
        let even = [1.0; 4];
        // They wait because the others compute longer.
        let load = rows([0.0, 0.0, 4.0, 4.0], [6.0, 6.0, 2.0, 2.0], even);
        assert_eq!(load, [4.0, 0.0, 0.0, 0.0, 0.0]);
        // They wait although all ranks compute alike.
        assert_eq!(rows([0.0, 0.0, 4.0, 4.0], even, even)[1], 4.0);
        // They move five times as much.
        let size = rows([0.0; 4], even, [1.0, 1.0, 5.0, 5.0]);
        assert!((size[3] - 4.0).abs() < 1e-9, "{size:?}");
        assert_eq!(rows([0.0; 4], even, even)[4], 4.0);
    }

    #[test]
    fn of_ranks_that_are_alike_the_mean_is_divided() {
        let parts = divided(&[2.0, 2.0], |name| match name {
            "wait" => vec![0.5, 0.5],
            _ => vec![0.0; 2],
        });
        assert_eq!(parts, [0.0, 0.5, 0.0, 0.0, 1.5]);
    }
}
