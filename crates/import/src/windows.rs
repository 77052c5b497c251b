//! Event windows: short stretches of the run in which every MPI event is kept, on all ranks alike. They are chosen as
//! the collector chooses them (`collector/src/window.rs`): one may open behind each world collective whose number the
//! stride divides, and the stride doubles when there are too many.

use crate::links::LinkIx;
use headwater_format::spool::layout::EventRow;

/// Windows at the most.
const PLACES: usize = 16;
/// Rows of one window.
const QUOTA: usize = 512;

/// A row whose link may have no number yet.
struct Row {
    row: EventRow,
    link: Option<LinkIx>,
}

/// The windows of a thread.
#[derive(Default)]
pub struct Windows {
    all: Vec<(u64, Vec<Row>)>,
    open: bool,
    stride: u64,
}

impl Windows {
    /// Recording begins, with the first window.
    pub fn begin(&mut self) {
        (self.all, self.open, self.stride) = (vec![(0, Vec::new())], true, 1);
    }

    /// Nothing is recorded for a while: what comes behind that is not of one piece with what came before.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// World collective number `g`, from 1, is being left: another window may begin.
    pub fn world_collective(&mut self, g: u64) {
        if !g.is_multiple_of(self.stride) {
            return;
        }
        if self.all.len() >= PLACES {
            self.stride *= 2;
            let stride = self.stride;
            self.all.retain(|(of, _)| of.is_multiple_of(stride));
            if !g.is_multiple_of(stride) {
                self.open = false;
                return;
            }
        }
        self.all.push((g, Vec::new()));
        self.open = true;
    }

    /// Keeps a call with its links, each of which has its kind, partner and bytes in its row. `polls` says that it
    /// only asked, so that it goes on the row of the same question before.
    pub fn record(&mut self, call: EventRow, links: &[(EventRow, LinkIx)], polls: bool) {
        if !self.open {
            return;
        }
        let Some((number, rows)) = self.all.last_mut() else {
            return;
        };
        let window = u32::try_from(*number).unwrap_or(u32::MAX);
        if polls
            && links.is_empty()
            && let Some(last) = rows.last_mut()
            && (last.row.ctx, last.row.func) == (call.ctx, call.func)
            && last.link.is_none()
        {
            last.row.busy_ns += call.busy_ns;
            last.row.mpi_ns += call.mpi_ns;
            return;
        }
        // A call is kept whole or not at all: the window ends before it.
        if rows.len() + links.len().max(1) > QUOTA {
            self.open = false;
            return;
        }
        let first = EventRow {
            window,
            first: 1,
            ..call
        };
        if links.is_empty() {
            rows.push(Row {
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
            rows.push(Row {
                row,
                link: Some(*ix),
            });
        }
    }

    /// Gives links their numbers.
    pub fn settle(&mut self, ids: &[u64]) {
        for row in self.all.iter_mut().flat_map(|(_, rows)| rows) {
            if let Some(link) = row.link.take() {
                row.row.id = ids.get(link as usize).copied().unwrap_or(0);
            }
        }
    }

    /// All rows.
    pub fn rows(&self) -> Vec<EventRow> {
        let rows = self.all.iter().flat_map(|(_, rows)| rows);
        rows.map(|r| r.row).collect()
    }
}
