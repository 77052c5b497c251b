//! Memory for messages, windows and results.
//!
//! Data have no meaning, so all calls share few regions. A region that is too small is replaced by a larger one, and the
//! old one stays where it is: a call that does not block may still use it.

use crate::library::address;

/// Memory of one purpose.
#[derive(Debug, Default)]
pub struct Region {
    /// In use, the largest one last.
    blocks: Vec<Vec<u64>>,
}

impl Region {
    /// The address of as many bytes; 0 if there is no memory for them.
    #[inline]
    pub fn at_least(&mut self, bytes: usize) -> u64 {
        let words = bytes.div_ceil(8).max(8);
        if self.blocks.last().is_none_or(|b| b.len() < words) {
            let twice = self.blocks.last().map_or(4096, |b| 2 * b.len());
            match touched(words.max(twice)).or_else(|| touched(words)) {
                Some(block) => self.blocks.push(block),
                None => return 0,
            }
        }
        self.blocks.last_mut().map_or(0, |block| address(block))
    }

    /// What the library has written at the beginning.
    pub fn first_word(&self) -> u64 {
        let block = self.blocks.last().and_then(|b| b.first());
        block.copied().unwrap_or(0)
    }
}

/// Words of zero that have been written: pages that nobody has written are all the same page, which is faster to read
/// than a program's. `None` if there is no memory.
pub fn touched(words: usize) -> Option<Vec<u64>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(words).ok()?;
    memory.resize(words, 0u64);
    for page in memory.chunks_mut(512) {
        if let Some(word) = page.first_mut() {
            // The compiler would see that a plain store of 0 changes nothing.
            *word = std::hint::black_box(0);
        }
    }
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_that_grows_leaves_what_is_in_use() {
        let mut region = Region::default();
        let small = region.at_least(100);
        assert_eq!(region.at_least(32_000), small);
        let large = region.at_least(1 << 20);
        assert_ne!(large, small);
        assert_eq!(region.at_least(8), large);
        assert_eq!(region.blocks.len(), 2);
    }
}
