//! Decides the class of a cause with sleep: work, a one-off stall, or sleep.

use headwater_dataflow::numbers::stats::{self, scatter};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::Run;

/// The excess of late ranks counts as sleep if more than this share of it is sleep.
const MOST: f64 = 0.5;

/// The class of computation that takes some ranks `excess` seconds longer, of which they sleep `asleep` seconds. A
/// stall that `happened_once` is a one-off, asleep or not, unless the ranks sleep `often`.
pub fn class(asleep: f64, excess: f64, happened_once: bool, often: bool) -> CauseClass {
    let is_sleep = asleep > MOST * excess;
    if happened_once && !(is_sleep && often) {
        CauseClass::OneOff
    } else if is_sleep {
        CauseClass::SystemCallOrIo
    } else {
        CauseClass::UnevenWork
    }
}

/// The voluntary context switches of frequent sleep exceed the median of the other ranks by this number, plus this many
/// times the others' scatter.
const MANY: (f64, f64) = (16.0, 4.0);

/// Whether ranks left their cores so much more often in the whole run than the others that they did not sleep only
/// once, even if all their sleep is between the same two calls.
pub fn is_often(run: &Run, late: &[u32]) -> bool {
    let switches = |is_late: bool| -> Vec<f64> {
        let of = run
            .ranks
            .iter()
            .filter(|r| late.contains(&r.rank) == is_late);
        of.filter_map(|r| Some(r.voluntary_switches? as f64))
            .collect()
    };
    let (own, others) = (switches(true), switches(false));
    let least = own.iter().copied().fold(f64::INFINITY, f64::min);
    let many = stats::median(&others) + MANY.0 + MANY.1 * scatter(&others);
    !own.is_empty() && !others.is_empty() && least >= many
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_sleep_often_that_switch_much_more_than_the_others() {
        let mut run = Run::default();
        for (rank, switches) in [(0, 40), (1, 620), (2, 44), (3, 30)] {
            run.ranks.push(headwater_model::run::RankInfo {
                rank,
                voluntary_switches: Some(switches),
                ..Default::default()
            });
        }
        assert!(is_often(&run, &[1]));
        assert!(!is_often(&run, &[2]));
        assert!(!is_often(&run, &[1, 2]));
        run.ranks[1].voluntary_switches = None;
        assert!(!is_often(&run, &[1]));
    }

    #[test]
    fn what_happens_once_is_a_one_off_also_asleep() {
        assert_eq!(class(0.9, 1.0, true, false), CauseClass::OneOff);
        assert_eq!(class(0.9, 1.0, true, true), CauseClass::SystemCallOrIo);
        assert_eq!(class(0.4, 1.0, true, true), CauseClass::OneOff);
        assert_eq!(class(0.9, 1.0, false, false), CauseClass::SystemCallOrIo);
        assert_eq!(class(0.4, 1.0, false, false), CauseClass::UnevenWork);
    }
}
