//! Mixing of bits for tables and identities.
//!
//! Which messages are recorded depends on their mixed number, and a message has the same number at both of its ends. So
//! the collector, the reader and the importers must mix alike.

/// Mixes the bits of a key: a multiplication by an odd constant and a fold (Fibonacci hashing).
#[inline]
pub const fn mix(key: u64) -> u64 {
    let h = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^ (h >> 29)
}

/// Mixes a second part into a key.
#[inline]
pub const fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a).wrapping_add(b))
}
