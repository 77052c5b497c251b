//! Identities: numbers that are the same for the same list, text or signature on all ranks, without asking them.

use crate::trace::{BEGIN, Frame};

/// The identity of a list of `length` values.
pub(crate) fn list_identity(length: u64, values: impl Iterator<Item = i64>) -> i64 {
    hash(length, values.map(|v| v as u64)) as i64 & i64::MAX
}

/// The identity of a text. Modules that have that of their name take eight bytes less in a file.
pub fn text_identity(bytes: &[u8]) -> i64 {
    hash(bytes.len() as u64, bytes.iter().map(|b| u64::from(*b))) as i64 & i64::MAX
}

/// The identity of the signature of a function at a call path.
pub(crate) fn signature_identity(function: &str, frames: &[Frame]) -> u64 {
    let name = function.bytes().map(u64::from);
    let frames = frames.iter().flat_map(|frame| [frame.module, frame.offset]);
    hash(function.len() as u64, name.chain(frames)).max(BEGIN + 1)
}

/// Mixes values to one number. Identities must be the same on all ranks.
pub(crate) fn hash(begin: u64, values: impl Iterator<Item = u64>) -> u64 {
    values.fold(begin ^ 0x51_7c_c1_b7_27_22_0a_95, |hash, value| {
        let mixed = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    })
}
