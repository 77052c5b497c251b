//! Event windows of a trace: all of its events, as long as there is room.
//!
//! Where there is not, windows are chosen by time as the collector chooses them (`headwater_format::spool::window_slots`): half
//! of them go, or half of each, so that what is kept is spread over the run.

use crate::links::LinkIx;
use headwater_format::spool::layout::{EventRow, STRETCH};
use headwater_format::spool::window_slots::Slots;

/// Rows that are kept of all ranks together, each of which is 80 bytes of memory: about 16 million.
const MOST: u64 = 1 << 24;

/// Rows that a rank has room for, which wrote `part` of what all ranks wrote together.
pub fn room(part: u64, whole: u64) -> usize {
    let share = u128::from(MOST) * u128::from(part) / u128::from(whole.max(1));
    usize::try_from(share).unwrap_or(usize::MAX).max(64)
}

/// The room for the rows of one rank.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Rows that the rank has room for.
    pub most: usize,
    /// Rows that its threads hold now.
    pub held: usize,
}

/// A row whose link may have no number yet.
struct Row {
    row: EventRow,
    link: Option<LinkIx>,
}

/// The windows of a thread.
#[derive(Default)]
pub struct Windows {
    rows: Vec<Row>,
    slots: Slots,
    /// When recording began.
    begin: Option<u64>,
    /// Begin and end of the stretches that are recorded without a break; the last one may go on.
    stretches: Vec<(u64, Option<u64>)>,
    /// Rows that there was room for.
    room: usize,
}

impl Windows {
    /// Recording begins anew.
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// Nothing is recorded from `ns` on for a while: what comes behind is not of one piece with what came before.
    pub fn close(&mut self, ns: u64) {
        if let Some((begin, end)) = self.stretches.last_mut() {
            end.get_or_insert(ns.max(*begin + 1));
        }
    }

    /// Keeps a call with its links, each of which has its kind, partner and bytes in its row. `polls` says that it
    /// only asked, so that it goes on the row of the same question before. The threads of a rank share the `room`.
    pub fn record(
        &mut self,
        call: EventRow,
        links: &[(EventRow, LinkIx)],
        polls: bool,
        room: &mut Room,
    ) {
        let from = call.enter_ns.saturating_sub(call.busy_ns);
        let begin = *self.begin.get_or_insert(from);
        self.room = room.most;
        if self.stretches.last().is_none_or(|s| s.1.is_some()) {
            self.stretches.push((from, None));
        }
        if !self.slots.hold(call.enter_ns) {
            return;
        }
        if polls
            && links.is_empty()
            && let Some(last) = self.rows.last_mut()
            && (last.row.ctx, last.row.func) == (call.ctx, call.func)
            && last.link.is_none()
            && self.slots.at(last.row.enter_ns).1 > call.enter_ns
            && self
                .stretches
                .last()
                .is_some_and(|s| s.0 <= last.row.enter_ns)
        {
            last.row.busy_ns += call.busy_ns;
            last.row.mpi_ns += call.mpi_ns;
            return;
        }
        let first = EventRow { first: 1, ..call };
        let before = self.rows.len();
        if links.is_empty() {
            self.rows.push(Row {
                row: EventRow {
                    peer: u32::MAX,
                    ..first
                },
                link: None,
            });
        }
        for (i, (link, ix)) in links.iter().enumerate() {
            let time = if i == 0 {
                first
            } else {
                EventRow {
                    first: 0,
                    busy_ns: 0,
                    mpi_ns: 0,
                    ..first
                }
            };
            let row = EventRow {
                kind: link.kind,
                peer: link.peer,
                bytes: link.bytes,
                ..time
            };
            self.rows.push(Row {
                row,
                link: Some(*ix),
            });
        }
        room.held += self.rows.len() - before;
        while room.held > room.most && self.slots.halve(call.enter_ns.saturating_sub(begin)) {
            let (slots, before) = (self.slots, self.rows.len());
            self.rows.retain(|r| slots.hold(r.row.enter_ns));
            room.held -= before - self.rows.len();
        }
    }

    /// Gives links their numbers.
    pub fn settle(&mut self, ids: &[u64]) {
        for row in &mut self.rows {
            if let Some(link) = row.link.take() {
                row.row.id = ids.get(link as usize).copied().unwrap_or(0);
            }
        }
    }

    /// All rows, behind those of the stretches. A reader is to keep all of them.
    pub fn rows(&self) -> Vec<EventRow> {
        let of = |(n, (begin, end)): (usize, &(u64, Option<u64>))| EventRow {
            kind: STRETCH,
            first: u8::from(n == 0),
            id: self.slots.code(),
            bytes: self.room as u64,
            enter_ns: *begin,
            mpi_ns: end.map_or(0, |end| end - begin),
            ..Default::default()
        };
        let stretches = self.stretches.iter().enumerate().map(of);
        stretches.chain(self.rows.iter().map(|r| r.row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_room_by_what_they_wrote() {
        assert_eq!(room(3, 4), 3 << 22);
        assert_eq!(room(u64::MAX, u64::MAX), 1 << 24);
        assert_eq!((room(0, 4), room(5, 0)), (64, 5 << 24));
    }

    #[test]
    fn threads_of_a_rank_share_its_room_and_choose_times_alike() {
        let mut room = Room { most: 64, held: 0 };
        let mut threads = [Windows::default(), Windows::default()];
        for n in 0..10_000_u64 {
            for of in &mut threads {
                let call = EventRow {
                    enter_ns: 1_000_000 * n + 500_000,
                    busy_ns: 400_000,
                    mpi_ns: 1000,
                    ..Default::default()
                };
                of.record(call, &[], false, &mut room);
            }
            let held: usize = threads.iter().map(|t| t.rows.len()).sum();
            assert_eq!(room.held, held);
        }
        assert!(room.held <= 128, "{}", room.held);
        let [a, b] = threads.map(|t| t.slots);
        assert!(a.and(b) == a || a.and(b) == b);
    }
}
