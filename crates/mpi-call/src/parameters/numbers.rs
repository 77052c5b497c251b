//! Gives out numbers, the smallest free one first.
//!
//! A loop that makes and frees objects so uses the same number each time.

/// Which numbers are taken.
#[derive(Default)]
pub struct Numbers {
    /// A bit for each number.
    taken: Vec<u64>,
    /// No earlier word has a free bit.
    from: usize,
}

impl Numbers {
    /// Takes the smallest free number; `None` if there is no memory for it.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        while let Some(word) = self.taken.get_mut(self.from) {
            if *word != u64::MAX {
                let bit = word.trailing_ones();
                *word |= 1 << bit;
                return u32::try_from(self.from).ok().map(|at| at * 64 + bit);
            }
            self.from += 1;
        }
        self.more()
    }

    #[cold]
    fn more(&mut self) -> Option<u32> {
        self.taken.try_reserve(1).ok()?;
        self.taken.push(1);
        u32::try_from(self.from).ok()?.checked_mul(64)
    }

    /// Gives a number back.
    #[inline]
    pub fn give(&mut self, number: u32) {
        let at = number as usize / 64;
        if let Some(word) = self.taken.get_mut(at) {
            *word &= !(1 << (number % 64));
            self.from = self.from.min(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_number_is_next() {
        let mut numbers = Numbers::default();
        assert!((0..1000).all(|n| numbers.take() == Some(n)));
        for n in [900, 70, 7] {
            numbers.give(n);
        }
        let next = [(); 4].map(|()| numbers.take());
        assert_eq!(next, [Some(7), Some(70), Some(900), Some(1000)]);
        numbers.give(1 << 30);
    }
}
