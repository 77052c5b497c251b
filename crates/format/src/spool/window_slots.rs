//! Which stretches of time are event windows: all ranks choose the same ones without a message.
//!
//! Time on the common clock is divided into slots of a power of two nanoseconds. A slot is a window if each of some bits
//! of the time at which it begins has the value of a hash of the bits above it. No bits: all time. Each bit more
//! takes away half of every window, or every other window, so sets of bits are nested: what two ranks have in common is
//! what the bits of both choose. The hash keeps the choice off the program's own period.
//!
//! A rank whose room is full adds a bit. It takes the one above while there are at least 16 windows then (their number
//! halves), else the one below (their length halves), so that windows are spread over the run whenever it ends.

use headwater_model::hash::mix;

/// The lowest bit: slots are not shorter than this many powers of two nanoseconds (16 µs).
const LOWEST: u32 = 14;
/// The highest bit.
const HIGHEST: u32 = 55;
/// Windows that the run so far has at the least, as a power of two.
const SPREAD: u32 = 4;

/// A set of neighbouring bits of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The lowest bit.
    low: u32,
    /// The bit behind the highest one.
    high: u32,
}

impl Slots {
    /// All time.
    pub const ALL: Self = Self { low: 0, high: 0 };

    /// The set with that number of [`Slots::code`]; one that is none is taken as far as it is one.
    pub fn decode(code: u64) -> Self {
        let (low, high) = ((code & 0xff) as u32, (code >> 8 & 0xff) as u32);
        let (low, high) = (low.min(HIGHEST), high.min(HIGHEST + 1));
        if low < high {
            Self { low, high }
        } else {
            Self::ALL
        }
    }

    /// The set as a number.
    pub fn code(self) -> u64 {
        u64::from(self.low) | u64::from(self.high) << 8
    }

    /// Whether all time is chosen.
    pub fn are_all(self) -> bool {
        self.low == self.high
    }

    /// Part of time that is chosen.
    pub fn share(self) -> f64 {
        0.5f64.powi((self.high - self.low) as i32)
    }

    /// What both choose, and perhaps less.
    pub fn and(self, other: Self) -> Self {
        match (self.are_all(), other.are_all()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self {
                low: self.low.min(other.low),
                high: self.high.max(other.high),
            },
        }
    }

    /// Chooses half as much, `elapsed` nanoseconds after the begin of the run; `false` if nothing is left to halve.
    pub fn halve(&mut self, elapsed: u64) -> bool {
        let top = elapsed
            .max(1)
            .ilog2()
            .saturating_sub(SPREAD)
            .max(LOWEST + 1);
        if self.are_all() {
            let high = top.min(HIGHEST);
            (self.low, self.high) = (high - 1, high);
        } else if self.high < top.min(HIGHEST) {
            self.high += 1;
        } else if self.low > LOWEST {
            self.low -= 1;
        } else {
            return false;
        }
        true
    }

    /// The one slot that is chosen of those whose begin has `above` for its bits from the highest one on.
    fn chosen(self, above: u64) -> (u64, u64) {
        let bits = (self.low..self.high).rev();
        let slot = bits.fold(above, |slot, bit| {
            slot << 1 | mix(slot ^ u64::from(bit) << 58) >> 32 & 1
        });
        let at = |slot: u64| slot.saturating_mul(1 << self.low);
        (at(slot), at(slot.saturating_add(1)))
    }

    /// Whether the moment `at` is chosen, and until when that holds at the least.
    #[inline]
    pub fn at(self, at: u64) -> (bool, u64) {
        if self.are_all() {
            return (true, u64::MAX);
        }
        let above = at >> self.high;
        let (begin, end) = self.chosen(above);
        match at {
            _ if at < begin => (false, begin),
            _ if at < end => (true, end),
            _ => (false, (above + 1).saturating_mul(1 << self.high)),
        }
    }

    /// Whether the moment `at` is chosen.
    #[inline]
    pub fn hold(self, at: u64) -> bool {
        self.at(at).0
    }

    /// The windows within `from..to`, in order, neighbours joined; at most `most`.
    pub fn windows(self, from: u64, to: u64, most: usize) -> Vec<(u64, u64)> {
        let mut out: Vec<(u64, u64)> = Vec::new();
        let mut at = from;
        while at < to && out.len() < most {
            let (chosen, until) = self.at(at);
            let end = until.clamp(at + 1, to);
            if chosen {
                match out.last_mut().filter(|w| w.1 == at) {
                    Some(last) => last.1 = end,
                    None => out.push((at, end)),
                }
            }
            at = end;
        }
        out
    }
}

/// Rows of a rank that a run keeps of its windows, unless 30 % of the time is in fewer. Up to 128 ranks it is 4,096.
pub fn room(ranks: u32) -> usize {
    /// Rows of all ranks.
    const ALL: u32 = 1 << 19;
    (ALL / ranks.max(1)).clamp(64, 4096) as usize
}

/// Part of the time that is kept where that is less than [`room`].
pub const LEAST_SHARE: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;

    /// A set after so many halvings, each when the time since the last has doubled from `first`.
    fn halved(first: u64, times: u32) -> Slots {
        let mut slots = Slots::ALL;
        (0..times).for_each(|n| assert!(slots.halve(first << n)));
        slots
    }

    #[test]
    fn each_halving_takes_away_half_of_what_was_chosen_and_adds_nothing() {
        let (before, after) = (halved(1 << 30, 3), halved(1 << 30, 4));
        let of = |slots: Slots| slots.windows(1 << 40, (1 << 40) + (1 << 36), 1000);
        let length = |w: &[(u64, u64)]| w.iter().map(|w| w.1 - w.0).sum::<u64>();
        let (before, after) = (of(before), of(after));
        assert_eq!(length(&before), 1 << 33);
        assert_eq!(length(&after), 1 << 32);
        let inside = |a: &(u64, u64)| before.iter().any(|b| b.0 <= a.0 && a.1 <= b.1);
        assert!(after.iter().all(inside));
    }

    #[test]
    fn windows_are_spread_over_the_run_whenever_it_ends() {
        for times in 1..12 {
            let first = 3 << 28;
            let slots = halved(first, times);
            let run = first << (times - 1);
            let begin = 12_345_678_901;
            let windows = slots.windows(begin, begin + run, 1000);
            for quarter in 0..4 {
                let from = begin + run / 4 * quarter;
                let here = windows
                    .iter()
                    .filter(|w| w.0 >= from && w.0 < from + run / 4);
                assert!(here.count() >= 2, "{slots:?} {quarter}");
            }
        }
    }

    #[test]
    fn ranks_with_fewer_events_choose_what_the_others_do_and_more() {
        // One fills its room at 1 s, the other at 4 s; both are asked at 8 s.
        let (busy, idle) = (halved(1 << 30, 4), halved(1 << 32, 2));
        assert_eq!(busy.and(idle), busy);
    }

    #[test]
    fn a_burst_behind_a_long_silence_shortens_the_windows() {
        let mut slots = halved(1 << 37, 1);
        let before = slots.share();
        (0..6).for_each(|_| assert!(slots.halve((1 << 37) + 1000)));
        assert_eq!(slots.share(), before / 64.0);
        assert_eq!(slots.high, 33, "there are as many windows");
        while slots.halve(1 << 37) {}
        assert_eq!(slots.low, LOWEST);
    }

    #[test]
    fn a_set_is_read_back_and_no_number_is_a_panic() {
        let slots = halved(1 << 33, 5);
        assert_eq!(Slots::decode(slots.code()), slots);
        for code in (0..70_000u64).chain([u64::MAX]) {
            let slots = Slots::decode(code);
            slots.hold(u64::MAX);
            slots.at(u64::MAX >> 1);
            slots.windows(u64::MAX - 9, u64::MAX, 3);
        }
    }
}
