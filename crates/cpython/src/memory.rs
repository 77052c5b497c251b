//! Memory of the process, of which nothing is known to be there.

use std::cell::RefCell;

/// Reads memory.
pub trait Memory {
    /// Fills `bytes` with what is at `address`. Returns `false` if not all of it is mapped; then `bytes` may hold
    /// anything.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

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
}

/// Bytes of a block. No page of memory is smaller, so either all of them are mapped or none.
const BLOCK: usize = 4096;

/// Blocks that are remembered; a power of two.
const BLOCKS: usize = 8;

/// Room for blocks of memory. It may be made of zeros.
pub struct Blocks {
    /// Where they begin; 0 for none.
    begins: [u64; BLOCKS],
    bytes: [[u8; BLOCK]; BLOCKS],
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
        }
    }

    /// `memory`, of which nothing was seen yet.
    pub fn of<M: Memory>(&mut self, memory: M) -> Seen<'_, M> {
        self.begins = [0; BLOCKS];
        Seen {
            memory,
            blocks: RefCell::new(self),
        }
    }

    /// The bytes of the block that begins here.
    fn block(&mut self, memory: &impl Memory, begin: u64) -> Option<&[u8; BLOCK]> {
        let place = begin as usize / BLOCK % BLOCKS;
        let (known, bytes) = (self.begins.get_mut(place)?, self.bytes.get_mut(place)?);
        if begin == 0 || *known != begin {
            *known = 0;
            if begin == 0 || !memory.read(begin, bytes) {
                return None;
            }
            *known = begin;
        }
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

    /// Counts how often memory is read.
    struct Counted<'i>(&'i Image, Cell<usize>);

    impl Memory for Counted<'_> {
        fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
            self.1.set(self.1.get() + 1);
            self.0.read(address, bytes)
        }
    }

    #[test]
    fn a_block_is_read_once_and_all_of_it_or_none() {
        let mut image = Image::default();
        image.map(0x10000, 0x2000);
        image.word_at(0x10008, 7);
        image.word_at(0x10ffc, 0x1122_3344_5566_7788);
        let mut blocks = Blocks::new();
        let seen = blocks.of(Counted(&image, Cell::new(0)));
        assert_eq!(seen.word(0x10008), Some(7));
        // On both sides of a border.
        let mut bytes = [0; 8];
        assert!(seen.read(0x10ffc, &mut bytes));
        assert_eq!(u64::from_ne_bytes(bytes), 0x1122_3344_5566_7788);
        assert_eq!((seen.word(0x10010), seen.memory.1.get()), (Some(0), 2));
        for address in [0x12000, 0x11ffc, 8, u64::MAX - 3, u64::MAX - 4095] {
            assert!(!seen.read(address, &mut bytes), "{address:#x}");
        }
        // What had the same place is read again.
        assert!(seen.read(0x10008, &mut bytes) && bytes[0] == 7);
        image.word_at(0x10008, 9);
        assert_eq!(blocks.of(&image).word(0x10008), Some(9));
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
