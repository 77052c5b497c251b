//! The probability of a bit, from what was learned in several contexts.
//!
//! A narrow context fits well once it has been seen often, a wide one has been seen often much earlier. So a bit has a
//! probability in each of its contexts, and these are mixed: their logits are added with weights that are learned as
//! well. This is logistic mixing as in the PAQ compressors (M. Mahoney, Adaptive Weighing of Context Models for Lossless
//! Data Compression, 2005).
//!
//! A reader has to compute the very numbers of its writer. So there are only sums, products and quotients here, which are
//! the same on every machine.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Contexts that a bit may have.
pub(super) const MOST: usize = 6;

/// Bits that a probability is an average of, about.
const LONGEST_MEMORY: u16 = 120;

/// How fast weights are learned.
const RATE: f64 = 0.02;

/// What the weights of three or more contexts sum up to at first. Contexts that agree are surer than each of them.
const SUM_OF_WEIGHTS: f64 = 1.2;

/// Logits are at most that far from 0.
const LARGEST_LOGIT: f64 = 12.0;

/// A probability that is learned, in 65,536ths, and how often it has been.
#[derive(Clone, Copy)]
struct Chance {
    one: u16,
    seen: u16,
}

impl Chance {
    fn learn(&mut self, bit: bool) {
        let target = if bit { 65535 } else { 0 };
        let step = (target - i32::from(self.one)) * 2 / (2 * i32::from(self.seen) + 3);
        self.one = (i32::from(self.one) + step) as u16;
        self.seen = (self.seen + 1).min(LONGEST_MEMORY);
    }

    fn logit(self) -> f64 {
        let at = usize::from(self.one >> LOGIT_SHIFT);
        LOGITS.get(at).copied().unwrap_or(0.0)
    }
}

/// Probabilities that are this close have one logit.
const LOGIT_SHIFT: u32 = 4;

/// Logits of probabilities, each in the middle of its range.
static LOGITS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let all = 1_u32 << (16 - LOGIT_SHIFT);
    (0..all)
        .map(|i| {
            let one = (f64::from(i) + 0.5) / f64::from(all);
            logarithm(one / (1.0 - one))
        })
        .collect()
});

/// Steps between neighbouring logits whose probabilities are known.
const STEPS_PER_LOGIT: f64 = 256.0;

/// Probabilities of logits from the smallest to the largest one.
static PROBABILITIES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let all = (2.0 * LARGEST_LOGIT * STEPS_PER_LOGIT) as u32;
    (0..=all)
        .map(|i| {
            let logit = f64::from(i) / STEPS_PER_LOGIT - LARGEST_LOGIT;
            1.0 / (1.0 + exponential(-logit))
        })
        .collect()
});

fn probability(logit: f64) -> f64 {
    let at = (logit + LARGEST_LOGIT) * STEPS_PER_LOGIT + 0.5;
    PROBABILITIES.get(at as usize).copied().unwrap_or(0.5)
}

/// What e to this power is.
fn exponential(x: f64) -> f64 {
    // A short series near 0, and then its square, ten times.
    const SQUARES: u32 = 10;
    let x = x / f64::from(1 << SQUARES);
    let near = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)));
    (0..SQUARES).fold(near, |power, _| power * power)
}

/// Which power of e this is (Halley's method).
fn logarithm(x: f64) -> f64 {
    (0..8).fold(0.0, |y, _| {
        let power = exponential(y);
        y + 2.0 * (x - power) / (x + power)
    })
}

/// Bits that have the same contexts, but for their places in a number. A number is several bits, and what each of its
/// contexts has learned lies together: it is looked up once for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contexts {
    /// The contexts. Those from `count` on are 0.
    pub all: [u64; MOST],
    /// How many there are.
    pub count: usize,
    /// Bits with the same number share what they learn about the worth of contexts.
    pub weights: u64,
    /// How many places there are.
    pub places: usize,
}

/// Where in [`Mixing`] some contexts have what they learned.
#[derive(Clone, Copy, Default)]
struct LookedUp {
    contexts: Contexts,
    /// The chance at the first place, by context.
    chances: [usize; MOST],
    weights: usize,
}

/// All that was learned.
#[derive(Default)]
pub(super) struct Mixing {
    chances: Vec<Chance>,
    by_context: FxHashMap<u64, usize>,
    weights: Vec<[f64; MOST]>,
    by_weights: FxHashMap<u64, usize>,
    /// What was looked up last: mostly, the next bit is of the same number.
    last: LookedUp,
}

/// The probability of a bit, and what it comes from.
pub(super) struct Mixed {
    /// In 65,536ths.
    pub one: u32,
    probability: f64,
    logits: [f64; MOST],
    place: usize,
}

impl Mixing {
    /// The probability that the bit at a place is 1 in these contexts.
    pub(super) fn mix(&mut self, contexts: &Contexts, place: usize) -> Mixed {
        if self.last.contexts != *contexts {
            self.look_up(contexts);
        }
        let mut mixed = Mixed {
            one: 0,
            probability: 0.0,
            logits: [0.0; MOST],
            place,
        };
        let LookedUp {
            chances, weights, ..
        } = &self.last;
        let count = contexts.count;
        for (logit, at) in mixed.logits.iter_mut().zip(chances).take(count) {
            let chance = self.chances.get(at + place);
            *logit = chance.map_or(0.0, |chance| chance.logit());
        }
        let weights = self.weights.get(*weights).copied().unwrap_or_default();
        let parts = weights.iter().zip(&mixed.logits).take(count);
        let logit: f64 = parts.map(|(weight, logit)| weight * logit).sum();
        let logit = logit.clamp(-LARGEST_LOGIT, LARGEST_LOGIT);
        mixed.probability = probability(logit);
        mixed.one = (mixed.probability * 65536.0) as u32;
        mixed
    }

    fn look_up(&mut self, contexts: &Contexts) {
        const NEW: Chance = Chance {
            one: 1 << 15,
            seen: 0,
        };
        let count = contexts.count;
        for (context, at) in contexts.all.iter().zip(&mut self.last.chances).take(count) {
            let next = self.chances.len();
            *at = *self.by_context.entry(*context).or_insert(next);
            if *at == next {
                self.chances.resize(next + contexts.places, NEW);
            }
        }
        let next = self.weights.len();
        self.last.weights = *self.by_weights.entry(contexts.weights).or_insert(next);
        if self.last.weights == next {
            let sum = if count > 2 { SUM_OF_WEIGHTS } else { 1.0 };
            self.weights.push([sum / count as f64; MOST]);
        }
        self.last.contexts = *contexts;
    }

    /// Learns what the bit was, the one that was mixed last.
    pub(super) fn learn(&mut self, mixed: &Mixed, bit: bool) {
        let error = f64::from(u8::from(bit)) - mixed.probability;
        let count = self.last.contexts.count;
        if let Some(weights) = self.weights.get_mut(self.last.weights) {
            for (weight, logit) in weights.iter_mut().zip(&mixed.logits).take(count) {
                *weight += RATE * error * logit;
            }
        }
        for at in self.last.chances.iter().take(count) {
            if let Some(chance) = self.chances.get_mut(at + mixed.place) {
                chance.learn(bit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_those_of_the_library() {
        for (i, logit) in LOGITS.iter().enumerate() {
            let one = (i as f64 + 0.5) / LOGITS.len() as f64;
            assert!((logit - (one / (1.0 - one)).ln()).abs() < 1e-6, "{i}");
        }
        for i in -120..=120 {
            let x = f64::from(i) / 10.0;
            assert!((exponential(x) / x.exp() - 1.0).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn the_context_that_tells_bits_apart_gets_the_weight() {
        let mut mixing = Mixing::default();
        let mut wrong = 0;
        for i in 0..2000_u64 {
            // One context says nothing, the other all.
            let bit = i * i % 7 < 3;
            let contexts = Contexts {
                all: [1, 2 + u64::from(bit), 0, 0, 0, 0],
                count: 2,
                weights: 0,
                places: 1,
            };
            let mixed = mixing.mix(&contexts, 0);
            wrong += u32::from(i >= 1000 && (mixed.one > 32768) != bit);
            mixing.learn(&mixed, bit);
        }
        assert_eq!(wrong, 0);
        let weights = mixing.weights.first().copied().unwrap_or_default();
        assert!(weights[1] > 2.0 * weights[0], "{weights:?}");
    }
}
