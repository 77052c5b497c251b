//! Event windows: stretches of the run in which every MPI event is recorded, the same on all ranks.
//!
//! They are chosen by the time on the common clock ([`Slots`]). So all ranks record the same windows without a
//! message, even ranks that call no collective. A call is in the window in which it begins. As long as there is room,
//! all time is recorded. When the room is full, half of the windows are dropped, or half of each. On the path of a
//! call, this costs a comparison of its start with the next boundary. A pause of recording ends a stretch, and
//! another one begins after it. Rows of the kind [`STRETCH`] mark the stretches.

use crate::guest::clock;
use crate::storage::table::Table;
use headwater_format::spool::layout::{EventRow, STRETCH};
use headwater_format::spool::window_slots::Slots;
use headwater_mpi_call::record::Link;

/// Rows that are used before some are dropped. Enough must remain when the room is full, then halved, and only what
/// two ranks have in common is left of that.
const MOST: u32 = 1 << 14;
/// The most rows that are left when room was made.
const MADE: u32 = MOST / 4 * 3;
/// The most stretches; after them nothing is recorded any more.
const STRETCHES: u32 = 64;

/// The windows of a thread.
pub struct Windows {
    rows: Table<EventRow>,
    /// Whether the present time is in a window.
    open: bool,
    /// Until when that is valid, on this rank's clock; 0 if it must be found out.
    until: u64,
    slots: Slots,
    /// When the first stretch began.
    begin: u64,
    /// The row of the current stretch.
    stretch: Option<u32>,
    stretches: u32,
}

impl Windows {
    /// Rows that all windows need.
    pub const ROWS: u32 = MOST;

    /// Windows in `rows`; recording begins with the first call.
    pub fn new(rows: Table<EventRow>) -> Self {
        Self {
            rows,
            open: false,
            until: 0,
            slots: Slots::ALL,
            begin: 0,
            stretch: None,
            stretches: 0,
        }
    }

    /// Recording is paused, or a call could not be recorded: later events do not follow directly on earlier ones.
    pub fn close(&mut self) {
        (self.open, self.until) = (false, 0);
        let Some(stretch) = self.stretch.take() else {
            return;
        };
        let last = self.rows.len().saturating_sub(1);
        let end = self.rows.get(last).map_or(0, |r| match r.kind {
            STRETCH => r.enter_ns,
            _ => r.enter_ns + r.mpi_ns,
        });
        if let Some(row) = self.rows.get(stretch) {
            row.mpi_ns = end.saturating_sub(row.enter_ns) + 1;
        }
    }

    /// Recording resumes at `now`.
    pub fn open_at(&mut self, now: u64) {
        self.begin_stretch(now, false);
    }

    /// A stretch begins at `now`; `first` says that the thread called nothing before it.
    fn begin_stretch(&mut self, now: u64, first: bool) {
        self.close();
        if self.stretches == STRETCHES {
            self.until = u64::MAX;
            return;
        }
        if self.stretches == 0 {
            self.begin = now;
        }
        self.stretches += 1;
        self.stretch = self.rows.push(EventRow {
            kind: STRETCH,
            first: u8::from(first),
            enter_ns: now,
            id: self.slots.code(),
            ..Default::default()
        });
        self.until = if self.stretch.is_some() { 0 } else { u64::MAX };
    }

    /// Records a call and its links if the call begins in a window. Returns `true` if this took long.
    #[inline]
    pub fn record(
        &mut self,
        ctx: u32,
        func: u16,
        busy_ns: u64,
        enter_ns: u64,
        mpi_ns: u64,
        links: &[Link],
    ) -> bool {
        if enter_ns >= self.until {
            self.turn(busy_ns, enter_ns, mpi_ns);
        }
        if !self.open {
            return false;
        }
        let call = EventRow {
            ctx,
            func,
            first: 1,
            peer: u32::MAX,
            busy_ns,
            enter_ns,
            mpi_ns,
            ..Default::default()
        };
        self.keep(call, links)
    }

    /// Checks whether the time of a call is in a window. The call that resumes recording after a pause is in none.
    #[cold]
    fn turn(&mut self, busy_ns: u64, enter_ns: u64, mpi_ns: u64) {
        match self.stretch {
            Some(_) => {}
            None if self.stretches == 0 => {
                self.begin_stretch(enter_ns.saturating_sub(busy_ns), true)
            }
            None => return self.open_at(enter_ns + mpi_ns),
        }
        if self.stretch.is_some() {
            self.look(enter_ns);
        }
    }

    fn look(&mut self, now: u64) {
        let offset = clock::offset();
        let (open, until) = self.slots.at(now.saturating_add_signed(offset));
        let until = match until {
            u64::MAX => until,
            // `offset` is never the smallest number: clocks are less than 292 years apart.
            until => until.saturating_add_signed(offset.saturating_neg()),
        };
        (self.open, self.until) = (open, until.max(now + 1));
    }

    /// Leaves at most this many rows, by choosing fewer windows.
    pub fn leave(&mut self, rows: u32) {
        let last = self.rows.len().saturating_sub(1);
        let now = self.rows.get(last).map_or(0, |r| r.enter_ns);
        while self.rows.len() > rows && self.thin(now) {}
    }

    /// Makes room for `needed` rows. Returns whether there is room and the moment `now` is still in a window.
    #[cold]
    fn make_room(&mut self, needed: u32, now: u64) -> bool {
        while self.rows.len() + needed > MADE {
            if !self.thin(now) {
                self.close();
                return false;
            }
        }
        self.look(now);
        self.open
    }

    /// Chooses half as much time. Returns `false` if nothing is left to halve.
    fn thin(&mut self, now: u64) -> bool {
        if !self.slots.halve(now.saturating_sub(self.begin)) {
            return false;
        }
        let offset = clock::offset();
        let mut to = 0;
        for from in 0..self.rows.len() {
            let Some(row) = self.rows.get(from).copied() else {
                break;
            };
            if row.kind != STRETCH && !self.slots.hold(row.enter_ns.saturating_add_signed(offset)) {
                continue;
            }
            if self.stretch == Some(from) {
                self.stretch = Some(to);
            }
            if let Some(place) = self.rows.get(to) {
                *place = row;
                to += 1;
            }
        }
        self.rows.truncate(to);
        if let Some(first) = self.rows.get(0) {
            first.id = self.slots.code();
        }
        true
    }

    /// Records a call as a whole or not at all.
    #[inline]
    fn keep(&mut self, call: EventRow, links: &[Link]) -> bool {
        let needed = links.len().max(1) as u32;
        let full = self.rows.len() + needed > MOST;
        if full && !self.make_room(needed, call.enter_ns) {
            return true;
        }
        if links.is_empty() && self.rows.push(call).is_none() {
            self.close();
            return true;
        }
        for (i, link) in links.iter().enumerate() {
            let time = if i == 0 {
                call
            } else {
                EventRow {
                    busy_ns: 0,
                    mpi_ns: 0,
                    first: 0,
                    ..call
                }
            };
            self.rows.push(EventRow {
                kind: link.kind,
                peer: link.peer,
                id: link.id,
                bytes: link.bytes,
                ..time
            });
        }
        full
    }
}
