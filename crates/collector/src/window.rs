//! Event windows: short stretches of the run in which every MPI event is kept, on all ranks alike.
//!
//! A window opens when a rank leaves the world collective number `g` (0: `MPI_Init`) with `g`
//! divisible by the stride, and takes at most [`QUOTA`] rows. When all places are taken the stride
//! doubles and windows that no longer divide it go. `g` is the same on all ranks, so all ranks keep
//! the same windows without a message. A pause of recording ends a window, and where recording goes on
//! one may begin, with a mark in its number: ranks that were not paused there do not have it.

use crate::table::Table;
use crate::thread::Link;
use headwater_format::spool::layout::{AFTER_PAUSE, EventRow};

/// Windows at the most.
const PLACES: usize = 16;
/// Rows of one window.
const QUOTA: u32 = 256;

/// The windows of a thread.
pub struct Windows {
    rows: Table<EventRow>,
    open: Option<u32>,
    left: u32,
    next: Option<u32>,
    stride: u64,
    kept: [u32; PLACES],
    count: usize,
}

impl Windows {
    /// Rows that all windows need.
    pub const ROWS: u32 = PLACES as u32 * QUOTA;

    /// Windows in `rows`; the first is open.
    pub fn new(rows: Table<EventRow>) -> Self {
        Self {
            rows,
            open: Some(0),
            left: QUOTA,
            next: None,
            stride: 1,
            kept: [0; PLACES],
            count: 1,
        }
    }

    /// Collective number `g` is being left: whatever comes after it may be in a new window.
    pub fn world_collective(&mut self, g: u64) {
        if !g.is_multiple_of(self.stride) {
            return;
        }
        if self.count == PLACES {
            self.thin();
            if !g.is_multiple_of(self.stride) {
                return;
            }
        }
        self.next = u32::try_from(g).ok();
    }

    /// Recording is paused: what comes later does not follow what came before.
    pub fn close(&mut self) {
        (self.open, self.next) = (None, None);
    }

    /// Recording goes on behind collective number `g`: what comes may be in a window of its own.
    pub fn open_behind_a_pause(&mut self, g: u64) {
        self.world_collective(g);
        self.next = self
            .next
            .filter(|g| *g < AFTER_PAUSE)
            .map(|g| g | AFTER_PAUSE);
        let had = self
            .kept
            .iter()
            .take(self.count)
            .any(|k| Some(*k) == self.next);
        if had {
            self.next = None;
        }
        self.open_next();
    }

    #[cold]
    fn thin(&mut self) {
        self.stride *= 2;
        let stride = self.stride;
        let kept = |g: u32| u64::from(g).is_multiple_of(stride);
        let mut n = 0;
        for i in 0..self.count {
            let Some(g) = self.kept.get(i).copied().filter(|g| kept(*g)) else {
                continue;
            };
            if let Some(place) = self.kept.get_mut(n) {
                *place = g;
                n += 1;
            }
        }
        self.count = n;
        let mut to = 0;
        for from in 0..self.rows.len() {
            let Some(row) = self.rows.get(from).copied().filter(|r| kept(r.window)) else {
                continue;
            };
            if let Some(place) = self.rows.get(to) {
                *place = row;
                to += 1;
            }
        }
        self.rows.truncate(to);
        self.open = self.open.filter(|g| kept(*g));
    }

    /// Keeps a call and its links if a window is open; opens the next one behind it.
    #[inline]
    pub fn record(
        &mut self,
        ctx: u32,
        func: u16,
        busy_ns: u64,
        enter_ns: u64,
        mpi_ns: u64,
        links: &[Link],
    ) {
        if let Some(window) = self.open {
            self.keep(
                EventRow {
                    window,
                    ctx,
                    func,
                    first: 1,
                    peer: u32::MAX,
                    busy_ns,
                    enter_ns,
                    mpi_ns,
                    ..Default::default()
                },
                links,
            );
        }
        self.open_next();
    }

    fn open_next(&mut self) {
        if let Some(g) = self.next.take()
            && let Some(place) = self.kept.get_mut(self.count)
        {
            *place = g;
            self.count += 1;
            (self.open, self.left) = (Some(g), QUOTA);
        }
    }

    fn keep(&mut self, call: EventRow, links: &[Link]) {
        let needed = links.len().max(1) as u32;
        if needed > self.left {
            // A call is kept whole or not at all: the window ends before it.
            self.open = None;
            return;
        }
        self.left -= needed;
        if links.is_empty() {
            self.rows.push(call);
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
    }
}
