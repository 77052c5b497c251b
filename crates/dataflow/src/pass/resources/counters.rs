//! Counters of the processor over ranks, and their ratios.

use super::counted::{begin, section};
use super::spread::{Spread, columns};
use crate::pass::ratios::RATIOS;
use crate::run::Recorded;
use headwater_graph::view::View;
use headwater_model::report::{Item, Section, Unit};

/// Counters of the kernel, which have figures of their own that are exact.
const OF_KERNEL: [&str; 4] = [
    "page_faults",
    "context_switches",
    "run_queue_ns",
    "migrations",
];

/// The counters of a run that are the processor's.
pub fn of_processor(run: &Recorded) -> impl Iterator<Item = &str> {
    let all = run.run().header.counters.iter().map(String::as_str);
    all.filter(|c| !OF_KERNEL.contains(c))
}

/// A column of the view, summed over vertices, of each rank that has any.
fn by_rank(view: &View, name: &str) -> Option<Vec<(u32, f64)>> {
    let rows = view.rows.get(name)?;
    let mut sums = vec![0.0; view.header.ranks as usize];
    for key in rows.keys() {
        if let Some(row) = rows.row(key) {
            row.add_to(&mut sums);
        }
    }
    let known = (0..).zip(sums).filter(|(_, sum)| *sum > 0.0);
    Some(known.collect())
}

fn sum(view: &View, name: &str) -> Option<f64> {
    let sum: f64 = by_rank(view, name)?.iter().map(|v| v.1).sum();
    // Counters do not advance during sleep.
    let asleep = (name == "busy").then(|| sum_of_all(view, "blocked"));
    Some(sum - asleep.unwrap_or(0.0)).filter(|sum| *sum > 0.0)
}

fn sum_of_all(view: &View, name: &str) -> f64 {
    let known = by_rank(view, name).unwrap_or_default();
    known.iter().map(|v| v.1).sum()
}

/// Counters and ratios by run.
pub fn counters(runs: &[&Recorded]) -> Section {
    let note = "Growth during the sampled computation of the threads that call MPI. Ratios are of all ranks together. A miss of the last cache counts as 64 bytes from memory, and prefetching and writing are not counted, so bandwidth is at least as high.";
    let more = [("what", "what", Unit::None)];
    let columns = more.into_iter().chain(columns(Unit::None));
    let mut section = section("counters", "Counters and bandwidth", note, columns);
    for recorded in runs {
        let view = recorded.top_down();
        let there: Vec<&str> = of_processor(recorded).collect();
        for counter in &there {
            let spread = by_rank(view, counter).and_then(Spread::new);
            if spread.is_none() {
                continue;
            }
            let mut row = begin(recorded.run());
            row.push(counter.replace('_', " ").into());
            row.extend(Spread::items_of(spread));
            section.rows.push(row);
        }
        for (_, above, below, by, meaning) in RATIOS {
            if !there.contains(&above) {
                continue;
            }
            let ratio = sum(view, above).zip(sum(view, below));
            let Some((above, below)) = ratio else {
                continue;
            };
            let mut row = begin(recorded.run());
            row.push(meaning.into());
            row.push((by * above / below).into());
            row.extend([const { Item::Missing }; 5]);
            section.rows.push(row);
        }
    }
    section
}
