//! Memory of the process, of which nothing is known to be there.

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
