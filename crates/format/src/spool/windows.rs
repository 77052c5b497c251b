//! Which event windows a run has: the stretches of time in which all threads of all ranks recorded every event.
//!
//! Each thread says by which slots of time it chose and when it was paused; what all have in common is what is asked of
//! their sets of bits ([`Slots::and`]). Where that is more than a run is to keep, the reader halves it as a rank does.

use super::layout::{Alignment, EventRow, FileHeader, STRETCH};
use super::parts::{Part, Parts};
use super::window_slots::{LEAST_SHARE, Slots, room};
use crate::FormatError;
use headwater_model::run::Window;
use std::collections::BTreeSet;

/// Windows of a run at the most.
const MOST: usize = 1024;

/// The windows of a run.
#[derive(Default)]
pub(super) struct Windows {
    /// Begin and end of each on the common clock.
    all: Vec<(u64, u64)>,
    /// The same as the run has them.
    spans: Vec<Window>,
    /// Whether times are recorded to the nanosecond.
    pub exact: bool,
}

/// What the threads read so far have in common.
struct Common {
    slots: Slots,
    /// When all of them were recorded.
    stretches: Vec<(u64, u64)>,
    /// Earliest begin of a rank, latest begin of a rank, latest end of a call.
    begin: u64,
    last_begin: u64,
    end: u64,
    /// Rows and the share of time that they are of, by thread with the most of both.
    rows: Vec<(usize, f64)>,
    /// Rows of a rank to keep.
    room: usize,
    nodes: BTreeSet<Vec<u8>>,
    compared: bool,
}

/// A moment of a rank's clock on the common one, as the rank took it to be when it chose.
fn common(header: &FileHeader, ns: u64) -> u64 {
    let [Alignment { offset_ns, .. }, _] = header.alignments;
    ns.saturating_add_signed(offset_ns)
}

/// The parts that two lists of stretches have in common, both in order.
fn overlap(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let both = (x.0.max(y.0), x.1.min(y.1));
        if both.0 < both.1 {
            out.push(both);
        }
        if x.1 <= y.1 { i += 1 } else { j += 1 }
    }
    out
}

impl Common {
    fn take(&mut self, part: &Part) -> Result<(), FormatError> {
        let header = &part.header;
        self.nodes.insert(header.host.to_vec());
        self.compared &= header.alignments.first().is_some_and(|a| a.at_ns != 0);
        let (mut begin, mut rows) = (u64::MAX, (0, 1.0));
        for thread in part.threads() {
            let all = part.rows::<EventRow>(Some(thread))?;
            let mut own: Vec<(u64, u64)> = Vec::new();
            let mut slots = Slots::ALL;
            let last = all
                .iter()
                .map(|r| r.enter_ns.saturating_add(r.mpi_ns))
                .max();
            let end = last.map_or(0, |ns| common(header, ns).saturating_add(1));
            for r in all.iter().filter(|r| r.kind == STRETCH) {
                let from = common(header, r.enter_ns);
                let until = match r.mpi_ns {
                    // Of a rank that was killed, or not recorded to its end, it is not known that it called nothing more.
                    0 if header.finished != 1 || header.has_stopped() => end,
                    0 => u64::MAX,
                    ns => from.saturating_add(ns),
                };
                begin = begin.min(from);
                if own.is_empty() {
                    slots = Slots::decode(r.id);
                    self.room = self.room.max(usize::try_from(r.bytes).unwrap_or(0));
                }
                own.push((if r.first == 1 { 0 } else { from }, until));
            }
            if all.is_empty() {
                continue;
            }
            self.end = self.end.max(end);
            self.slots = self.slots.and(slots);
            own.sort_unstable();
            self.stretches = overlap(&self.stretches, &own);
            rows = (rows.0 + all.len(), slots.share().min(rows.1));
        }
        if begin < u64::MAX {
            self.begin = self.begin.min(begin);
            self.last_begin = self.last_begin.max(begin);
        }
        if rows.0 > 0 {
            self.rows.push(rows);
        }
        Ok(())
    }

    /// Rows of the rank with the most of them, if windows are those that `slots` choose.
    fn most_rows(&self, slots: Slots) -> f64 {
        let each = self.rows.iter();
        each.map(|(rows, share)| *rows as f64 * slots.share() / share)
            .fold(0.0, f64::max)
    }

    /// Halves as long as enough is left.
    fn fitting(&self) -> Slots {
        let mut slots = self.slots;
        let room = self.room as f64;
        loop {
            let rows = self.most_rows(slots);
            let enough = rows >= 2.0 * room || rows > room && slots.share() >= 2.0 * LEAST_SHARE;
            if !enough || !slots.halve(self.end.saturating_sub(self.begin)) {
                return slots;
            }
        }
    }
}

impl Windows {
    /// Those of a spool.
    pub fn choose(parts: &Parts) -> Result<Self, FormatError> {
        let mut of = Common {
            slots: Slots::ALL,
            stretches: vec![(0, u64::MAX)],
            begin: u64::MAX,
            last_begin: 0,
            end: 0,
            rows: Vec::new(),
            room: 0,
            nodes: BTreeSet::new(),
            compared: true,
        };
        let mut ranks = 0;
        parts.each(|part| {
            ranks = part.header.size.max(ranks);
            of.take(part)
        })?;
        // A trace that is imported is kept as it is.
        let exact = of.room > 0;
        of.room = of.room.max(room(ranks));
        let slots = of.fitting();
        // Nodes whose clocks were not compared chose by different times.
        if of.nodes.len() > 1 && !of.compared && !slots.are_all() {
            return Ok(Self::default());
        }
        let run = |(from, to): &(u64, u64)| ((*from).max(of.begin), (*to).min(of.end));
        let within = of.stretches.iter().map(run);
        let all = within.flat_map(|(from, to)| slots.windows(from, to, MOST));
        let all: Vec<(u64, u64)> = all.take(MOST).collect();
        let from_start = of.stretches.first().is_some_and(|s| s.0 == 0);
        let span = |w: &(u64, u64)| Window {
            begin_ns: w.0 - of.begin,
            length_ns: w.1 - w.0,
            from_start: from_start && w.0 == of.begin && w.1 > of.last_begin,
            to_end: w.1 == of.end && of.stretches.last().is_some_and(|s| s.1 >= of.end),
        };
        let spans = all.iter().map(span).collect();
        Ok(Self { all, spans, exact })
    }

    /// The window of a row, if it is in one.
    pub fn of(&self, part: &Part, row: &EventRow) -> Option<u32> {
        if row.kind == STRETCH {
            return None;
        }
        let at = common(&part.header, row.enter_ns);
        let next = self.all.partition_point(|w| w.0 <= at);
        let number = next.checked_sub(1)?;
        let window = self.all.get(number)?;
        (at < window.1)
            .then(|| u32::try_from(number).ok())
            .flatten()
    }

    /// Where a window begins that is cut out of the run, on the common clock.
    pub fn begin(&self, number: u32) -> Option<u64> {
        let number = number as usize;
        let cut = |w: &&Window| !w.from_start;
        self.spans.get(number).filter(cut)?;
        self.all.get(number).map(|w| w.0)
    }

    /// The windows as a run has them.
    pub fn spans(&self) -> Vec<Window> {
        self.spans.clone()
    }
}
