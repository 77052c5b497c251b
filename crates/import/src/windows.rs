//! Event windows of a trace: all of its events, as long as there is room.
//!
//! Where there is not, windows are chosen by time as the collector chooses them (`headwater_format::spool::window_slots`): half
//! of them go, or half of each, so that what is kept is spread over the run.

use crate::links::LinkIx;
use headwater_format::spool::layout::{EventRow, STRETCH};
use headwater_format::spool::window_slots::Slots;

/// Rows that are kept of all ranks together, each of which is 72 bytes of memory: about two million.
pub const MOST: usize = 1 << 21;

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
    /// only asked, so that it goes on the row of the same question before. A thread has `room` for so many rows.
    pub fn record(
        &mut self,
        call: EventRow,
        links: &[(EventRow, LinkIx)],
        polls: bool,
        room: usize,
    ) {
        let before = call.enter_ns.saturating_sub(call.busy_ns);
        let begin = *self.begin.get_or_insert(before);
        self.room = room;
        if self.stretches.last().is_none_or(|s| s.1.is_some()) {
            self.stretches.push((before, None));
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
        while self.rows.len() > room.max(1) && self.slots.halve(call.enter_ns.saturating_sub(begin))
        {
            let slots = self.slots;
            self.rows.retain(|r| slots.hold(r.row.enter_ns));
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
