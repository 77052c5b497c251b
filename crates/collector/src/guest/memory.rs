//! Memory for the collector's own use. If the system refuses memory, the program does not end.
//!
//! Rust ends the process if an allocation fails. So large memory is requested only if [`room`] says that it is
//! available. Small memory comes from a reserve when the system has nothing left. From then on nothing more is
//! recorded.

use crate::guest::recording;
pub use headwater_call_path::page;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the reserve. They cost nothing while they are not written to.
const RESERVE: usize = 1 << 20;

/// The system's memory, and a reserve behind it.
pub struct Memory {
    reserve: UnsafeCell<[u8; RESERVE]>,
    used: AtomicUsize,
}

// SAFETY: an atomic counter gives out each part of the reserve only once, and the part then belongs to its owner.
unsafe impl Sync for Memory {}

#[global_allocator]
static MEMORY: Memory = Memory::new();

impl Memory {
    const fn new() -> Self {
        Self {
            reserve: UnsafeCell::new([0; RESERVE]),
            used: AtomicUsize::new(0),
        }
    }

    fn start(&self) -> *mut u8 {
        self.reserve.get().cast()
    }

    fn holds(&self, at: *mut u8) -> bool {
        (self.start() as usize..self.start() as usize + RESERVE).contains(&(at as usize))
    }

    /// A part of the reserve, given out once and for all; null if too little is left.
    #[cold]
    fn last_resort(&self, layout: Layout) -> *mut u8 {
        recording::stop();
        let bytes = layout.size() + layout.align();
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > RESERVE {
            return std::ptr::null_mut();
        }
        let at = self.start() as usize + before;
        let skip = at.next_multiple_of(layout.align()) - at;
        // SAFETY: within the reserve. Nobody else gets this part.
        unsafe { self.start().add(before + skip) }
    }
}

// SAFETY: memory comes from the system's allocator or from a part of the reserve that is given out once;
// each goes back to where it came from.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on as it came.
        match unsafe { System.alloc(layout) } {
            at if at.is_null() => self.last_resort(layout),
            at => at,
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !self.holds(at) {
            // SAFETY: the system's own.
            unsafe { System.dealloc(at, layout) };
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on as it came; the reserve was never written to.
        match unsafe { System.alloc_zeroed(layout) } {
            at if at.is_null() => self.last_resort(layout),
            at => at,
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !self.holds(at) {
            // SAFETY: the system's own.
            let moved = unsafe { System.realloc(at, layout, bytes) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that a layout may be this large. As many old bytes are copied as there are, and
        // they do not overlap with the new ones.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(at, new, layout.size().min(bytes));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

/// Words of memory of our own, zeros at first, directly from the system. They cost nothing until they are written to.
pub struct Pages {
    at: *mut u64,
    len: usize,
}

impl Pages {
    /// None.
    pub const NONE: Self = Self {
        at: std::ptr::NonNull::dangling().as_ptr(),
        len: 0,
    };

    /// So many words, if the system has them.
    pub fn new(len: usize) -> Option<Self> {
        let (protection, flags) = PRIVATE;
        let bytes = len.checked_mul(size_of::<u64>())?;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        (at != libc::MAP_FAILED).then(|| Self { at: at.cast(), len })
    }

    /// All of them.
    #[inline]
    pub fn words(&self) -> &[u64] {
        // SAFETY: mapped as long as this lives, or none.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }

    /// The same for writing.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and borrowed from nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: our own mapping, whole.
            unsafe { libc::munmap(self.at.cast(), self.len * size_of::<u64>()) };
        }
    }
}

/// Returns to the system the pages that these words fill and that nobody reads any more. One system call, which the
/// signal handler may make too.
pub fn give_back(pages: &mut Pages, words: std::ops::Range<usize>) {
    let page = page() / size_of::<u64>();
    let (first, last) = (words.start.next_multiple_of(page), words.end / page * page);
    if first >= last || last > pages.len {
        return;
    }
    // SAFETY: whole pages of our own mapping, which nobody else uses at the moment.
    unsafe {
        let bytes = (last - first) * size_of::<u64>();
        libc::madvise(pages.at.add(first).cast(), bytes, libc::MADV_DONTNEED);
    }
}

/// Protection and flags of memory that is nobody else's.
const PRIVATE: (i32, i32) = (
    libc::PROT_READ | libc::PROT_WRITE,
    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
);

/// Whether new memory is locked when it is made, as `mlockall` asks for. Then every byte of address space costs a
/// byte of memory.
pub fn is_locked() -> bool {
    let (protection, flags) = PRIVATE;
    // SAFETY: a fresh page at an address that the kernel chooses. Nobody writes to it, and it is unmapped again.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), page(), protection, flags, -1, 0);
        let mut resident = 0u8;
        let known = at != libc::MAP_FAILED && libc::mincore(at, page(), &mut resident) == 0;
        if at != libc::MAP_FAILED {
            libc::munmap(at, page());
        }
        known && resident & 1 != 0
    }
}

/// Whether the system has `bytes` of memory at the moment. If the program has almost none left, the rest is the
/// program's.
pub fn room(bytes: usize) -> bool {
    let (protection, flags) = PRIVATE;
    // SAFETY: a fresh mapping at an address that the kernel chooses, which is unmapped at once.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        at != libc::MAP_FAILED && libc::munmap(at, bytes) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reserve_gives_is_aligned_and_ends() {
        // One that nobody else takes from.
        static OTHER: Memory = Memory::new();
        let mut given = 0;
        for align in [1usize, 8, 64, 4096].into_iter().cycle() {
            let layout = Layout::from_size_align(1000, align).expect("a layout");
            let at = OTHER.last_resort(layout);
            if at.is_null() {
                break;
            }
            assert!(OTHER.holds(at) && (at as usize).is_multiple_of(align));
            given += 1;
        }
        assert!((400..1049).contains(&given), "{given}");
    }

    #[test]
    fn memory_that_nobody_locks_is_not_there_before_it_is_used() {
        assert!(!is_locked());
    }

    #[test]
    fn room_is_not_promised_beyond_what_there_is() {
        assert!(room(1 << 20));
        assert!(!room(1 << 60));
    }
}
