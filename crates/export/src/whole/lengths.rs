//! How long each collective is for all of its members, and each message for its receiver.
//!
//! Members of `MPI_Gatherv` and its like give parts of different lengths, and a member knows only its own. Other
//! simulators want one length, the same on all ranks. It is the longest part, as in our own simulation. A receive knows
//! only how long its buffer is. Lengths in a row that are equal are one entry, so regular programs need little memory.

use headwater_simulate::{Op, Program, Step};
use headwater_virtual_run::Recorded;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Lengths of the collectives of a communicator, in order: bytes, and how many in a row.
type Row = Vec<(u64, u64)>;

/// Messages in order: sender, receiver, communicator, tag.
type Channel = (u32, u32, u32, i32);

/// Lengths of collectives by communicator.
#[derive(Clone, Debug, Default)]
pub struct Lengths(FxHashMap<u32, Row>);

/// Lengths of messages.
#[derive(Clone, Debug, Default)]
pub struct Messages(FxHashMap<Channel, Row>);

/// Where a rank is in each communicator's collectives, or in each channel.
#[derive(Debug)]
pub struct Position<K>(FxHashMap<K, (usize, u64)>);

impl<K> Default for Position<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Copy + Eq + Hash> Position<K> {
    fn next(&mut self, rows: &FxHashMap<K, Row>, key: K) -> u64 {
        let (at, used) = self.0.entry(key).or_default();
        let entry = |at: usize| rows.get(&key).and_then(|row| row.get(at)).copied();
        if entry(*at).is_some_and(|(_, count)| *used >= count) {
            (*at, *used) = (*at + 1, 0);
        }
        *used += 1;
        entry(*at).map_or(0, |(bytes, _)| bytes)
    }
}

impl Messages {
    /// Goes through the ranks; `step` is called after each thread.
    pub fn of(recorded: &Recorded<'_>, mut step: impl FnMut()) -> Self {
        let mut all = Self::default();
        let mut steps = recorded.program();
        for (stream, (rank, _)) in (0..).zip(recorded.streams()) {
            while let Some(Step { op, .. }) = steps.next(stream) {
                if let Op::Send {
                    to,
                    tag,
                    comm,
                    bytes,
                    ..
                } = op
                {
                    push(all.0.entry((*rank, to, comm, tag)).or_default(), bytes, 1);
                }
            }
            step();
        }
        all
    }

    /// The length of the next message that is received in a channel.
    pub fn next(&self, position: &mut Position<Channel>, channel: Channel) -> u64 {
        position.next(&self.0, channel)
    }
}

impl Lengths {
    /// Goes through the ranks; `step` is called after each.
    pub fn of(recorded: &Recorded<'_>, mut step: impl FnMut()) -> Self {
        let mut all = Self::default();
        let mut steps = recorded.program();
        for stream in 0..recorded.streams().len() as u32 {
            let mut own: FxHashMap<u32, Row> = FxHashMap::default();
            while let Some(step) = steps.next(stream) {
                if let Op::Collective { comm, bytes, .. } = step.op {
                    push(own.entry(comm).or_default(), bytes, 1);
                }
            }
            for (comm, row) in own {
                match all.0.get_mut(&comm) {
                    Some(known) => *known = longest(known, &row),
                    None => {
                        all.0.insert(comm, row);
                    }
                }
            }
            step();
        }
        all
    }

    /// The length of a rank's next collective in a communicator.
    pub fn next(&self, position: &mut Position<u32>, comm: u32) -> u64 {
        position.next(&self.0, comm)
    }
}

fn push(row: &mut Row, bytes: u64, count: u64) {
    match row.last_mut() {
        Some((last, n)) if *last == bytes => *n += count,
        _ => row.push((bytes, count)),
    }
}

/// The longer one of each pair. If one row is shorter, the rest is the other's.
fn longest(a: &Row, b: &Row) -> Row {
    let mut out = Row::new();
    let (mut a, mut b) = (a.iter().copied(), b.iter().copied());
    let (mut left, mut right) = (a.next(), b.next());
    loop {
        let (bytes, count) = match (left, right) {
            (Some((x, n)), Some((y, m))) => (x.max(y), n.min(m)),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return out,
        };
        push(&mut out, bytes, count);
        for (side, rest) in [(&mut left, &mut a), (&mut right, &mut b)] {
            if let Some((_, n)) = side {
                *n -= count;
                if *n == 0 {
                    *side = rest.next();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_counts() {
        let a = vec![(8, 3), (16, 1)];
        let b = vec![(4, 1), (12, 2), (1, 2)];
        assert_eq!(longest(&a, &b), [(8, 1), (12, 2), (16, 1), (1, 1)]);
        let all = Lengths([(0, longest(&a, &b))].into_iter().collect());
        let mut at = Position::default();
        let read: Vec<u64> = (0..5).map(|_| all.next(&mut at, 0)).collect();
        assert_eq!(read, [8, 12, 12, 16, 1]);
    }
}
