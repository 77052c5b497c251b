//! Groups the rows of one table by rank.

use std::ops::Range;

/// Consecutive rows of a table that belong to one rank.
pub(crate) type Stretch<'s, T> = (u32, &'s [T]);

/// The rows of a table, sorted by rank; a rank may have several stretches of them.
pub(crate) fn stretches<T: Sync>(items: &[T], rank: impl Fn(&T) -> u32) -> Vec<Stretch<'_, T>> {
    let mut all: Vec<Stretch<T>> = items
        .chunk_by(|a, b| rank(a) == rank(b))
        .map(|chunk| (rank(&chunk[0]), chunk))
        .collect();
    all.sort_by_key(|s| s.0);
    all
}

/// The rows of the ranks in `range`.
pub(crate) fn within<'s, T>(
    all: &'s [Stretch<'s, T>],
    range: &Range<u32>,
) -> impl Iterator<Item = &'s T> {
    let begin = all.partition_point(|s| s.0 < range.start);
    let end = all.partition_point(|s| s.0 < range.end);
    all.get(begin..end).unwrap_or(&[]).iter().flat_map(|s| s.1)
}
