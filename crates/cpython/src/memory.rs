//! Memory of the process, of which nothing is known to be there.

use std::cell::RefCell;

/// Reads memory.
pub trait Memory {
    /// Fills `bytes` with what is at `address`. Returns `false` if not all of it is mapped; then `bytes` may hold
    /// anything.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// Fills each block with what is at its begin, unless that is 0. Begins of those that are not mapped become 0, and
    /// those of others may.
    fn blocks(&self, begins: &mut [u64], bytes: &mut [[u8; BLOCK]]) {
        for (begin, bytes) in begins.iter_mut().zip(bytes) {
            if *begin != 0 && !self.read(*begin, bytes) {
                *begin = 0;
            }
        }
    }

    /// The words from `address` on.
    #[inline]
    fn words<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        if address == 0 || !address.is_multiple_of(8) {
            return None;
        }
        let mut bytes = [[0u8; 8]; N];
        self.read(address, bytes.as_flattened_mut())
            .then(|| bytes.map(u64::from_ne_bytes))
    }

    /// The word at `address`.
    #[inline]
    fn word(&self, address: u64) -> Option<u64> {
        self.words::<1>(address).map(|[word]| word)
    }
}

impl<M: Memory> Memory for &M {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        (**self).read(address, bytes)
    }

    fn blocks(&self, begins: &mut [u64], bytes: &mut [[u8; BLOCK]]) {
        (**self).blocks(begins, bytes);
    }
}

/// Bytes of a block. It divides every page of memory, so either all of a block is mapped or none.
pub const BLOCK: usize = 256;

/// Blocks that are remembered: as many as a word has bits.
const BLOCKS: usize = 64;

/// Room for blocks of memory. It may be made of zeros.
pub struct Blocks {
    /// Where they begin; 0 for none.
    begins: [u64; BLOCKS],
    bytes: [[u8; BLOCK]; BLOCKS],
    /// A bit for each block that was asked for since the last [`Blocks::of`], and between the two before.
    asked: u64,
    before: u64,
}

/// Memory of which blocks were copied. Frames lie close together, as do functions of one file, so most reads are of a
/// block that is here. It holds what was there when the block was read: nothing of it may change while this lives.
pub struct Seen<'b, M> {
    memory: M,
    blocks: RefCell<&'b mut Blocks>,
}

impl Blocks {
    /// None.
    pub const fn new() -> Self {
        Self {
            begins: [0; BLOCKS],
            bytes: [[0; BLOCK]; BLOCKS],
            asked: 0,
            before: 0,
        }
    }

    /// `memory` as it is now. What was asked for the last two times is read at once: most frames of a thread stay where
    /// they are from one call to the next, samples need other parts of them than calls do, and each system call costs
    /// more than the bytes that it copies.
    pub fn of<M: Memory>(&mut self, memory: M) -> Seen<'_, M> {
        let wanted = self.asked | self.before;
        for (at, begin) in self.begins.iter_mut().enumerate() {
            if wanted >> at & 1 == 0 {
                *begin = 0;
            }
        }
        if wanted != 0 {
            memory.blocks(&mut self.begins, &mut self.bytes);
        }
        self.before = std::mem::take(&mut self.asked);
        Seen {
            memory,
            blocks: RefCell::new(self),
        }
    }

    /// Where the block that begins here is or goes: in one of two places, so that two blocks that are asked for in turn
    /// seldom drive each other out.
    fn place(&self, begin: u64) -> usize {
        /// An odd number without a pattern.
        const MIXES: u64 = 0x9e37_79b9_7f4a_7c15;
        let first = (begin.wrapping_mul(MIXES) >> (u64::BITS - BLOCKS.ilog2())) as usize;
        let two = [first, first ^ 1];
        let is_here = |at: &usize| self.begins.get(*at) == Some(&begin);
        let is_free = |at: &usize| self.asked >> *at & 1 == 0;
        let here = two.into_iter().find(is_here);
        here.or(two.into_iter().find(is_free)).unwrap_or(first)
    }

    /// The bytes of the block that begins here.
    fn block(&mut self, memory: &impl Memory, begin: u64) -> Option<&[u8; BLOCK]> {
        let place = self.place(begin);
        let (known, bytes) = (self.begins.get_mut(place)?, self.bytes.get_mut(place)?);
        if begin == 0 || *known != begin {
            *known = 0;
            if begin == 0 || !memory.read(begin, bytes) {
                return None;
            }
            *known = begin;
        }
        self.asked |= 1 << place;
        Some(bytes)
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Memory> Memory for Seen<'_, M> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Ok(mut blocks) = self.blocks.try_borrow_mut() else {
            return self.memory.read(address, bytes);
        };
        let (mut at, mut rest) = (address, bytes);
        while !rest.is_empty() {
            let inside = at as usize % BLOCK;
            let Some(block) = blocks.block(&self.memory, at - inside as u64) else {
                return false;
            };
            let from = block.get(inside..).unwrap_or(&[]);
            let count = from.len().min(rest.len());
            let (here, behind) = rest.split_at_mut(count);
            here.copy_from_slice(from.get(..count).unwrap_or(&[]));
            rest = behind;
            at = at.wrapping_add(count as u64);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::image::Image;
    use super::*;
    use std::cell::Cell;

    /// Counts how often memory is read, and how many blocks were at once.
    struct Counted<'i>(&'i Image, Cell<usize>, Cell<usize>);

    impl<'i> Counted<'i> {
        fn of(image: &'i Image) -> Self {
            Self(image, Cell::new(0), Cell::new(0))
        }
    }

    impl Memory for Counted<'_> {
        fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
            self.1.set(self.1.get() + 1);
            self.0.read(address, bytes)
        }

        fn blocks(&self, begins: &mut [u64], bytes: &mut [[u8; BLOCK]]) {
            self.2.set(begins.iter().filter(|b| **b != 0).count());
            self.0.blocks(begins, bytes);
        }
    }

    #[test]
    fn a_block_is_read_once_and_all_of_it_or_none() {
        let mut image = Image::default();
        image.map(0x10000, 0x2000);
        image.word_at(0x10008, 7);
        image.word_at(0x10ffc, 0x1122_3344_5566_7788);
        let mut blocks = Blocks::new();
        let seen = blocks.of(Counted::of(&image));
        assert_eq!(seen.word(0x10008), Some(7));
        // On both sides of a border.
        let mut bytes = [0; 8];
        assert!(seen.read(0x10ffc, &mut bytes));
        assert_eq!(u64::from_ne_bytes(bytes), 0x1122_3344_5566_7788);
        assert_eq!((seen.word(0x10010), seen.memory.1.get()), (Some(0), 3));
        for address in [0x12000, 0x11ffc, 8, u64::MAX - 3, u64::MAX - 4095] {
            assert!(!seen.read(address, &mut bytes), "{address:#x}");
        }
        // What had the same place is read again.
        assert!(seen.read(0x10008, &mut bytes) && bytes[0] == 7);
        image.word_at(0x10008, 9);
        assert_eq!(blocks.of(&image).word(0x10008), Some(9));
    }

    #[test]
    fn what_was_asked_for_the_last_two_times_is_read_at_once() {
        let mut image = Image::default();
        image.map(0x10000, 0x1000);
        let mut blocks = Blocks::new();
        for (address, at_once) in [(0x10008, 0), (0x10108, 1), (0x10208, 2)] {
            assert_eq!(sum_of(&mut blocks, &image, &[address]), (0, 1, at_once));
        }
        let three = [0x10008, 0x10108, 0x10208];
        assert_eq!(sum_of(&mut blocks, &image, &three), (0, 1, 2));
        image.word_at(0x10108, 7);
        // What is there now, without another read.
        assert_eq!(sum_of(&mut blocks, &image, &three), (7, 0, 3));
        // Two of them are not wanted any more; they are read twice more, and then no more.
        for at_once in [3, 3, 1] {
            assert_eq!(sum_of(&mut blocks, &image, &three[1..2]), (7, 0, at_once));
        }
        // It is not mapped any more.
        image.0.retain(|at, _| *at >= 0x10200);
        let seen = blocks.of(&image);
        assert_eq!((seen.word(0x10108), seen.word(0x10208)), (None, Some(0)));
    }

    /// The sum of these words, how often memory was read for them, and how many blocks were at once.
    fn sum_of(blocks: &mut Blocks, image: &Image, words: &[u64]) -> (u64, usize, usize) {
        let seen = blocks.of(Counted::of(image));
        let sum = words.iter().filter_map(|w| seen.word(*w)).sum();
        (sum, seen.memory.1.get(), seen.memory.2.get())
    }
}

#[cfg(test)]
pub(crate) mod image {
    //! Memory that a test writes.

    use super::Memory;
    use std::collections::BTreeMap;

    /// Bytes by their addresses.
    #[derive(Clone, Default)]
    pub(crate) struct Image(pub BTreeMap<u64, u8>);

    impl Image {
        pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) {
            self.0.extend((address..).zip(bytes.iter().copied()));
        }

        pub(crate) fn word_at(&mut self, address: u64, word: u64) {
            self.put(address, &word.to_ne_bytes());
        }

        /// Maps zeros, as far as nothing is there.
        pub(crate) fn map(&mut self, address: u64, bytes: u64) {
            for at in address..address + bytes {
                self.0.entry(at).or_insert(0);
            }
        }
    }

    impl Memory for Image {
        fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
            bytes.iter_mut().zip(address..).all(|(to, at)| {
                let byte = self.0.get(&at);
                *to = byte.copied().unwrap_or(0);
                byte.is_some()
            })
        }
    }
}
