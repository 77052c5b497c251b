//! Counters of the processor over ranks, and their ratios.

use super::counted::{begin, section};
use super::spread::{Spread, columns};
use crate::pass::ratios::RATIOS;
use crate::run::Recorded;
use headwater_graph::view::View;
use headwater_model::report::{Item, Section, Unit};
use headwater_model::run::KERNEL_COUNTERS;

/// The counters of a run that are the processor's. Those of the kernel have figures of their own that are exact.
pub fn of_processor(run: &Recorded) -> impl Iterator<Item = &str> {
    let all = run.run().header.counters.iter().map(String::as_str);
    all.filter(|c| !KERNEL_COUNTERS.contains(c))
}

/// A column of the view, summed over vertices, by rank; empty if there is none.
fn sums(view: &View, name: &str) -> Vec<f64> {
    let mut sums = vec![0.0; view.header.ranks as usize];
    if let Some(rows) = view.rows.get(name) {
        let all = rows.keys().filter_map(|key| rows.row(key));
        all.for_each(|row| row.add_to(&mut sums));
    }
    sums
}

/// The same of each rank that has any.
fn by_rank(view: &View, name: &str) -> Option<Spread> {
    let all = (0..).zip(sums(view, name));
    Spread::new(all.filter(|(_, sum)| *sum > 0.0))
}

/// What two figures are in relation to each other, of the ranks that have both: some ranks may have had no counters.
fn ratio(view: &View, above: &str, below: &str) -> Option<f64> {
    let mut others = sums(view, below);
    if below == "busy" {
        // Counters do not advance during sleep.
        let asleep = sums(view, "blocked");
        others.iter_mut().zip(asleep).for_each(|(b, a)| *b -= a);
    }
    let pairs = sums(view, above).into_iter().zip(others);
    let both = pairs.filter(|(above, below)| *above > 0.0 && *below > 0.0);
    let (above, below) = both.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (below > 0.0).then(|| above / below)
}

/// Counters and ratios by run.
pub fn counters(runs: &[&Recorded]) -> Section {
    let note = "Growth during the sampled computation of the threads that call MPI. Ratios are those of all ranks together that had the counters. Bandwidth is the mean of a thread while it computes: that of a node is as many times that as threads compute there. A miss of the last cache counts as 64 bytes from memory, and prefetching and writing are not counted, so bandwidth is at least as high.";
    let more = [("what", "what", Unit::None)];
    let columns = more.into_iter().chain(columns(Unit::None));
    let mut section = section(runs, "counters", "Counters and bandwidth", note, columns);
    for recorded in runs {
        let view = recorded.top_down();
        let there: Vec<&str> = of_processor(recorded).collect();
        for counter in &there {
            let spread = by_rank(view, counter);
            if spread.is_none() {
                continue;
            }
            let mut row = begin(runs, recorded.run());
            row.push(counter.replace('_', " ").into());
            row.extend(Spread::items_if_known(spread, view.header.ranks));
            section.rows.push(row);
        }
        for (_, above, below, by, meaning) in RATIOS {
            if !there.contains(&above) {
                continue;
            }
            let Some(ratio) = ratio(view, above, below) else {
                continue;
            };
            let mut row = begin(runs, recorded.run());
            row.push(meaning.into());
            row.push((by * ratio).into());
            row.extend([const { Item::Missing }; 5]);
            section.rows.push(row);
        }
    }
    section
}
