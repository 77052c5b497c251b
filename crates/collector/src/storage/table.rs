//! Tables of rows in mapped memory, with a fixed capacity.
//!
//! Once made, a table does not allocate. Rows never move, so a reader of the file sees each row at any moment. The
//! index that finds a row by its key (open addressing) is in memory beside the table. Disk space is reserved piece by
//! piece: a job of many ranks must not reserve space that it will not need.

use crate::storage::{
    index::Index,
    process_spool,
    spool::{FEW_BYTES, Opened},
};
use headwater_call_path::ContextStore;
use headwater_format::spool::layout::{ContextRow, Desc, Row};
use std::sync::atomic::{AtomicU32, Ordering};

/// A table of one thread.
pub struct Table<R: Row> {
    rows: *mut R,
    desc: *mut Desc,
    index: Index,
    file: Opened,
    /// Rows for which disk space is reserved.
    ready: u32,
}

/// A table that is made when it is first needed.
pub struct Later<R: Row> {
    table: Option<Table<R>>,
    refused: bool,
}

impl<R: Row> Later<R> {
    /// Not wanted yet.
    pub const fn new() -> Self {
        Self {
            table: None,
            refused: false,
        }
    }

    /// Whether [`Later::table`] will make no table any more: it has made one, or there was no room.
    pub fn is_settled(&self) -> bool {
        self.refused || self.table.is_some()
    }

    /// The table, of thread `number`; `None` if there is no room for it. The signal handler may call this only when
    /// the table has been made.
    #[inline]
    pub fn table(&mut self, number: u32, capacity: u32) -> Option<&mut Table<R>> {
        if self.table.is_none() && !self.refused {
            self.table = process_spool::with_spool(|spool| {
                spool.table_from(number, capacity, true, FEW_BYTES)
            });
            self.refused = self.table.is_none();
        }
        self.table.as_mut()
    }
}

impl<R: Row> Table<R> {
    /// A table at `rows` in `file`, described by `desc` and searched by `index`.
    ///
    /// # Safety
    /// Addresses for `capacity` rows are mapped to the file. Disk space is reserved for the first `first` bytes
    /// there. Both pointers stay valid as long as the table lives, and no other writer uses them.
    pub unsafe fn new(
        file: Opened,
        rows: *mut R,
        desc: *mut Desc,
        index: Index,
        first: u64,
    ) -> Self {
        // SAFETY: promised by the caller.
        let capacity = unsafe { (*desc).capacity };
        Self {
            rows,
            desc,
            index,
            file,
            ready: (first / size_of::<R>() as u64).min(u64::from(capacity)) as u32,
        }
    }

    /// A table without room, in no file.
    pub fn nowhere() -> Self {
        Self {
            rows: std::ptr::NonNull::dangling().as_ptr(),
            desc: Box::into_raw(Box::default()),
            index: Index::none(),
            file: Opened::NONE,
            ready: 0,
        }
    }

    fn desc(&mut self) -> &mut Desc {
        // SAFETY: valid and written by this thread only (see `new`).
        unsafe { &mut *self.desc }
    }

    /// Rows in use.
    pub fn len(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.desc).count }
    }

    /// A row.
    #[inline]
    pub fn get(&mut self, row: u32) -> Option<&mut R> {
        // SAFETY: rows below `count` lie within the capacity and were written.
        (row < self.len()).then(|| unsafe { &mut *self.rows.add(row as usize) })
    }

    /// Appends a row. If there is no room, counts the row as dropped and returns `None`.
    #[inline]
    pub fn push(&mut self, row: R) -> Option<u32> {
        let at = self.len();
        if at >= self.ready && !self.make_room() {
            let dropped = &mut self.desc().dropped;
            *dropped = dropped.saturating_add(1);
            return None;
        }
        // SAFETY: `at` is below the rows that have room.
        unsafe { self.rows.add(at as usize).write(row) };
        // The row is written before it is counted, so a reader of the file sees whole rows only, even after a kill.
        std::sync::atomic::compiler_fence(Ordering::Release);
        self.desc().count = at + 1;
        Some(at)
    }

    /// Reserves disk space for as many rows again. Returns `false` at the capacity or if the disk has no space. Makes
    /// a few system calls, all of which a signal handler may make.
    #[cold]
    fn make_room(&mut self) -> bool {
        let Desc {
            offset, capacity, ..
        } = *self.desc();
        let bytes = |rows: u32| u64::from(rows) * size_of::<R>() as u64;
        let more = self.ready.min(capacity - self.ready);
        if more == 0
            || self
                .file
                .reserve(offset + bytes(self.ready), bytes(more))
                .is_none()
        {
            return false;
        }
        self.ready += more;
        true
    }

    /// Forgets rows from `count` on.
    pub fn truncate(&mut self, count: u32) {
        let desc = self.desc();
        desc.count = desc.count.min(count);
    }

    /// The row for which `same` holds among those with `hash`, or the free slot of the index for it.
    #[inline]
    fn find(&self, hash: u64, same: impl Fn(&R) -> bool) -> Option<Result<u32, usize>> {
        // SAFETY: the index holds rows that were pushed.
        self.index
            .find(hash, |row| same(unsafe { &*self.rows.add(row as usize) }))
    }

    /// Whether there is a row for which `same` holds among those with `hash`.
    pub fn has(&self, hash: u64, same: impl Fn(&R) -> bool) -> bool {
        matches!(self.find(hash, same), Some(Ok(_)))
    }

    /// The row for which `same` holds among those with `hash`, or a new one.
    #[inline]
    pub fn find_or_push(
        &mut self,
        hash: u64,
        same: impl Fn(&R) -> bool,
        new: impl FnOnce() -> R,
    ) -> Option<u32> {
        match self.find(hash, same)? {
            Ok(row) => Some(row),
            Err(at) => {
                let row = self.push(new())?;
                self.index.put(at, hash, row);
                Some(row)
            }
        }
    }
}

/// The rows of a table, for other threads to read.
pub struct Shared<R> {
    rows: *const R,
    desc: *mut Desc,
}

impl<R: Row> Table<R> {
    /// Its rows, for other threads.
    pub fn shared(&self) -> Shared<R> {
        Shared {
            rows: self.rows,
            desc: self.desc,
        }
    }
}

impl<R: Copy> Shared<R> {
    /// The first row for which `is` holds.
    pub fn find(&self, is: impl Fn(&R) -> bool) -> Option<R> {
        // SAFETY: both are in mapped memory that is never unmapped. A row is written before it is counted, and rows below
        // the count do not change.
        unsafe {
            let count = AtomicU32::from_ptr(&raw mut (*self.desc).count).load(Ordering::Acquire);
            let mut rows = (0..count as usize).map(|i| &*self.rows.add(i));
            rows.find(|row| is(row)).copied()
        }
    }
}

// SAFETY: rows are appended to mapped memory that is never unmapped.
unsafe impl ContextStore for Table<ContextRow> {
    #[inline]
    fn intern(&mut self, hash: u64, row: ContextRow) -> Option<u32> {
        self.find_or_push(hash, |r| *r == row, || row)
    }

    #[inline]
    fn row(&mut self, ctx: u32) -> Option<ContextRow> {
        self.get(ctx).copied()
    }

    fn rows(&self) -> *const ContextRow {
        self.rows
    }
}
