//! Rounds the times of event windows: digits that are noise are most of what a run's file would hold.
//!
//! Equal times would all be rounded the same way, so ranks that differ by little would seem to differ by much. So what
//! rounding takes from one time the next time of about the same length gets: sums over iterations stay right.
//!
//! Calls of a thread follow each other: none starts before the one before it has ended.

/// Significant bits of times below so many nanoseconds, and of longer ones.
#[derive(Clone, Copy)]
struct Digits(&'static [(u64, u32)], u32);

/// Of the computation before a call.
const OF_BUSY: Digits = Digits(&[(1 << 14, 5), (1 << 17, 6)], 8);
/// Of calls. A long call that is rounded up delays the start of the next one, so it has more digits.
const OF_MPI: Digits = Digits(&[(1 << 11, 2), (1 << 13, 3), (1 << 17, 4)], 8);

/// When a call starts, and how long it and the computation before it take, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub enter: u64,
    pub busy: u64,
    pub mpi: u64,
}

/// The rows of one rank and thread in a window, one after the other.
pub struct Track {
    busy: Rounding,
    mpi: Rounding,
    /// Start and end of the last call.
    last: Option<(u64, u64)>,
}

impl Track {
    /// No row yet.
    pub fn new() -> Self {
        Self {
            busy: Rounding::to(OF_BUSY),
            mpi: Rounding::to(OF_MPI),
            last: None,
        }
    }

    /// The next row, rounded: the first of a call, or another one of the same call.
    pub fn next(&mut self, is_first: bool, at: Times) -> Times {
        let (busy, mpi) = (self.busy.next(at.busy), self.mpi.next(at.mpi));
        let enter = match self.last {
            Some((_, end)) if is_first => follows(end, busy, at.enter),
            Some((start, _)) => start,
            None => rounded(at.enter, 8),
        };
        if is_first {
            self.last = Some((enter, enter.saturating_add(mpi)));
        }
        Times { enter, busy, mpi }
    }
}

/// Times of one kind, one after the other.
struct Rounding {
    digits: Digits,
    /// What times of each length in bits have lost so far, nanoseconds.
    lost: [i64; 65],
}

impl Rounding {
    /// No time yet.
    fn to(digits: Digits) -> Self {
        Self {
            digits,
            lost: [0; 65],
        }
    }

    /// The next time, rounded.
    fn next(&mut self, ns: u64) -> u64 {
        let Digits(shorter, otherwise) = self.digits;
        let shorter = shorter.iter().find(|(below, _)| ns < *below);
        let bits = shorter.map_or(otherwise, |(_, bits)| *bits);
        let Some(lost) = self.lost.get_mut((u64::BITS - ns.leading_zeros()) as usize) else {
            return ns;
        };
        let wanted = ns.saturating_add_signed(*lost);
        let given = rounded(wanted, bits);
        *lost = i64::try_from(i128::from(wanted) - i128::from(given)).unwrap_or(0);
        given
    }
}

/// A time with so many significant bits.
fn rounded(ns: u64, bits: u32) -> u64 {
    let step = (u64::BITS - ns.leading_zeros()).saturating_sub(bits).max(5);
    let up = (ns >> (step - 1) & 1) << step;
    (ns >> step << step).saturating_add(up)
}

/// The start of a call: computation of `busy` after the call that ended at `end`. If the recorded start `at` is far from
/// that, because the rank was without a core or rounding errors have added up, it is the recorded one.
fn follows(end: u64, busy: u64, at: u64) -> u64 {
    /// What calls and rounding take, nanoseconds.
    const USUAL: u64 = 10_000;
    let expected = end.saturating_add(busy);
    let gap = expected.abs_diff(at);
    match at > expected {
        _ if gap <= USUAL => expected,
        true => expected.saturating_add(rounded(gap, 5)),
        false => expected.saturating_sub(rounded(gap, 5)).max(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_that_differ_by_little_do_so_in_sum() {
        for (digits, times) in [
            (OF_BUSY, [10_490, 10_500]),
            (OF_BUSY, [131_000, 131_080]),
            (OF_MPI, [1_270, 1_290]),
        ] {
            for ns in times {
                let mut rounding = Rounding::to(digits);
                let sum: u64 = (0..1000).map(|_| rounding.next(ns)).sum();
                let (sum, exact) = (sum as f64, 1000.0 * ns as f64);
                assert!((sum / exact - 1.0).abs() < 0.002, "{ns}: {sum}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_time_stays_what_it_is_but_for_its_last_digits(times in prop::collection::vec(0..1u64 << 40, 1..50)) {
            let mut rounding = Rounding::to(OF_BUSY);
            for ns in times {
                // A step to each side, and what was lost before.
                let most = (ns / 8).max(64);
                prop_assert!(rounding.next(ns).abs_diff(ns) <= most);
            }
        }
    }

    #[test]
    fn a_start_goes_back_as_it_goes_on() {
        assert_eq!(follows(20_000, 30_000, 55_000), 50_000);
        assert!(follows(20_000, 30_000, 80_000).abs_diff(80_000) < 1_000);
        assert!(follows(20_000, 60_000, 50_000).abs_diff(50_000) < 1_000);
        assert_eq!(follows(60_000, 10_000, 30_000), 60_000);
    }

    proptest! {
        /// A long call is rounded up by more than passes until the next one.
        #[test]
        fn no_call_starts_before_the_last_has_ended(calls in prop::collection::vec((0..1u64 << 30, 0..1u64 << 14, 0..1u64 << 16), 1..50)) {
            let mut track = Track::new();
            let (mut now, mut end) = (0, 0);
            for (mpi, busy, idle) in calls {
                now += idle;
                let given = track.next(true, Times { enter: now + busy, busy, mpi });
                prop_assert!(given.enter >= end, "{} before {end}", given.enter);
                // Steps of the longest calls, and what rounding has left.
                prop_assert!(given.enter.abs_diff(now + busy) < 1 << 24, "{} for {}", given.enter, now + busy);
                end = given.enter + given.mpi;
                now += busy + mpi;
            }
        }
    }
}
