//! Regions that the program names itself: "solve", "step".
//!
//! A region that begins is the root of the thread's call paths until it ends, so it is a frame of every call path
//! inside it. Its row counts its iterations by length, with the slowest ones, and by stretches of the run, so that
//! one slow iteration in a thousand shows, and drift. A region whose place in memory is known takes no lock, no
//! allocation and no system call. The signal handler reads the root alone.

use crate::guest::clock;
use crate::storage::table::Later;
use crate::threads::thread::Thread;
use headwater_call_path::NONE;
use headwater_format::spool::layout::{
    DEEPEST_REGION, Iteration, REGION_BIT, REGION_CLASSES, REGION_NAME, REGION_SLOWEST,
    REGION_STRETCHES, REGIONS_OF_THREAD, RegionRow,
};
use headwater_model::hash::{mix, mix2};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Places for names that were looked up last; a power of two.
const KNOWN: usize = 64;

/// A region that has begun.
#[derive(Clone, Copy)]
struct Open {
    /// The domain of a task of ITT; null for all others.
    domain: *const c_void,
    /// Its row; null if there was no room for it.
    row: *mut RegionRow,
    /// The context of the root before it.
    before: u32,
    /// Whether the program marks its iterations.
    marked: bool,
    /// Clock at the begin of the iteration.
    since: u64,
}

/// Which region ends.
#[derive(Clone, Copy)]
pub enum Ends {
    Innermost,
    /// The innermost one of this name, which is a C string.
    Named(*const c_char),
    /// The innermost task of this domain of ITT. Domains of a program end their tasks in any order.
    TaskOf(*const c_void),
}

impl Ends {
    /// Whether it is this one.
    ///
    /// # Safety
    /// Its row is null or a row, and a name is a C string.
    #[inline]
    unsafe fn is(self, open: &Open) -> bool {
        match self {
            Self::Innermost => true,
            // SAFETY: promised by the caller.
            Self::Named(name) => unsafe { is_of(open.row, name) },
            Self::TaskOf(domain) => domain == open.domain,
        }
    }

    /// The same of the innermost region: if it has no row, any name may be its own. The address of a name decides nothing,
    /// because a program may write several names in one place.
    ///
    /// # Safety
    /// As [`Self::is`].
    #[inline]
    unsafe fn is_innermost(self, open: &Open) -> bool {
        match self {
            Self::Named(_) if open.row.is_null() => true,
            // SAFETY: promised by the caller.
            _ => unsafe { self.is(open) },
        }
    }
}

/// Where the row of a name is.
#[derive(Clone, Copy)]
struct Known {
    name: *const c_char,
    before: u32,
    row: *mut RegionRow,
}

struct State {
    rows: Later<RegionRow>,
    open: [Open; DEEPEST_REGION],
    /// How many are open, those too deep included.
    depth: usize,
    known: [Known; KNOWN],
    /// A context that a runtime may set as the root again although its region has ended meanwhile, and the root in its
    /// place.
    ended: Option<(u32, u32)>,
}

/// The regions of one thread. They take no memory until the first one begins.
pub struct Regions(Option<Box<State>>);

impl Regions {
    /// None.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Forgets what is open, because another thread continues with this recording.
    pub fn close_all(&mut self) {
        if let Some(state) = &mut self.0 {
            state.depth = 0;
        }
    }
}

impl State {
    fn new() -> Box<Self> {
        Box::new(Self {
            rows: Later::new(),
            open: [Open {
                domain: std::ptr::null(),
                row: null_mut(),
                before: NONE,
                marked: false,
                since: 0,
            }; DEEPEST_REGION],
            depth: 0,
            known: [Known {
                name: std::ptr::null(),
                before: NONE,
                row: null_mut(),
            }; KNOWN],
            ended: None,
        })
    }
}

/// Whether a row has this name, as far as it was recorded.
///
/// # Safety
/// `row` is null or a row, and `name` is a C string.
#[inline]
unsafe fn is_of(row: *mut RegionRow, name: *const c_char) -> bool {
    // SAFETY: promised by the caller; a row's name ends with NUL.
    !row.is_null()
        && unsafe { libc::strncmp((*row).name.as_ptr().cast(), name, REGION_NAME - 1) == 0 }
}

/// A name as it is recorded: its first bytes, and NUL behind them.
///
/// # Safety
/// `name` is a C string.
unsafe fn recorded(name: *const c_char) -> [u8; REGION_NAME] {
    let mut out = [0; REGION_NAME];
    for (i, to) in out.iter_mut().take(REGION_NAME - 1).enumerate() {
        // SAFETY: no byte behind the NUL is read.
        *to = unsafe { name.add(i).read() } as u8;
        if *to == 0 {
            break;
        }
    }
    out
}

/// What the contexts of a region of this name have as address.
fn address_of(name: &[u8; REGION_NAME]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |w, b| w << 8 | u64::from(*b));
    REGION_BIT | name.chunks(8).fold(0, |hash, c| mix2(hash, word(c)))
}

#[inline]
fn place(name: *const c_char, before: u32) -> usize {
    mix(name as u64 ^ u64::from(before) << 40) as usize % KNOWN
}

/// Counts an iteration that took `ns` nanoseconds.
#[inline]
fn count(row: &mut RegionRow, ns: u64) {
    let index = row.count;
    row.count += 1;
    row.sum_ns += ns;
    if ns < row.min_ns || index == 0 {
        row.min_ns = ns;
    }
    row.max_ns = row.max_ns.max(ns);
    let class = (u64::BITS - ns.leading_zeros()) as usize;
    if let Some(times) = row.classes.get_mut(class.min(REGION_CLASSES - 1)) {
        *times += 1;
    }
    if row.slowest.last().is_some_and(|last| ns > last.ns) {
        insert(&mut row.slowest, Iteration { ns, index });
    }
    if index >> (row.shift & 63) >= REGION_STRETCHES as u64 {
        halve(row);
    }
    if let Some(sum) = row.stretches.get_mut((index >> (row.shift & 63)) as usize) {
        *sum += ns;
    }
}

/// Puts an iteration among the slowest ones, in the place of the last of them.
#[cold]
fn insert(slowest: &mut [Iteration; REGION_SLOWEST], new: Iteration) {
    let at = slowest.iter().position(|s| new.ns > s.ns);
    if let Some(rest) = at.and_then(|at| slowest.get_mut(at..)) {
        rest.rotate_right(1);
        if let Some(first) = rest.first_mut() {
            *first = new;
        }
    }
}

/// Makes stretches twice as long.
#[cold]
fn halve(row: &mut RegionRow) {
    let old = row.stretches;
    let mut pairs = old.chunks(2).map(|pair| pair.iter().sum());
    row.stretches = std::array::from_fn(|_| pairs.next().unwrap_or(0));
    row.shift += 1;
}

impl Thread {
    /// Whether any region is open.
    #[inline]
    pub fn has_regions(&self) -> bool {
        self.regions.0.as_ref().is_some_and(|s| s.depth > 0)
    }

    /// A region begins. `domain` is that of a task of ITT, or null.
    ///
    /// # Safety
    /// `name` is a C string.
    #[inline]
    pub unsafe fn begin_named(&mut self, name: *const c_char, domain: *const c_void) {
        self.leave_ended();
        let before = self.contexts.root.ctx;
        let Some(state) = &mut self.regions.0 else {
            self.regions.0 = Some(State::new());
            // SAFETY: as promised; now there is a state.
            return unsafe { self.begin_named(name, domain) };
        };
        let depth = state.depth;
        state.depth += 1;
        let known = state.known.get(place(name, before)).copied();
        // SAFETY: rows are never unmapped; the name is a C string.
        let known =
            known.filter(|k| k.name == name && k.before == before && unsafe { is_of(k.row, name) });
        let Some(open) = state.open.get_mut(depth) else {
            // SAFETY: null or a row.
            if let Some(row) = (state.open.last()).and_then(|outer| unsafe { outer.row.as_mut() }) {
                row.too_deep += 1;
            }
            return;
        };
        (open.before, open.marked) = (before, false);
        open.domain = domain;
        open.row = match known {
            Some(known) => known.row,
            None => {
                open.row = null_mut();
                // SAFETY: as promised.
                let row = unsafe { self.look_up(name, before) };
                let open = self.regions.0.as_mut().and_then(|s| s.open.get_mut(depth));
                let Some(open) = open else { return };
                open.row = row;
                return begun(open, &mut self.contexts.root.ctx);
            }
        };
        begun(open, &mut self.contexts.root.ctx);
    }

    /// If the root is that of a region that ended while a runtime had another root, it is the one before it.
    #[inline]
    fn leave_ended(&mut self) {
        let root = &mut self.contexts.root.ctx;
        if let Some(state) = &mut self.regions.0
            && let Some((ended, before)) = state.ended
            && *root == ended
        {
            *root = before;
            state.ended = None;
        }
    }

    /// The row of a region of this name below the context `before`; null if there is no room for it.
    ///
    /// # Safety
    /// `name` is a C string.
    #[cold]
    unsafe fn look_up(&mut self, name: *const c_char, before: u32) -> *mut RegionRow {
        // SAFETY: as promised.
        let text = unsafe { recorded(name) };
        let address = address_of(&text);
        let number = self.number;
        // SAFETY: errno belongs to this thread. Making the table may change it.
        let errno = unsafe { &mut *libc::__errno_location() };
        let programs = *errno;
        let row = self.undisturbed(|t| {
            let table = t
                .regions
                .0
                .as_mut()?
                .rows
                .table(number, REGIONS_OF_THREAD)?;
            let hash = mix2(address, u64::from(before));
            let same = |r: &RegionRow| (r.address, r.below) == (address, before);
            // Where there is no room for a row, there is no need of a context.
            let ctx = match table.len() < REGIONS_OF_THREAD && !table.has(hash, same) {
                true => t.contexts.of_region(address)?,
                false => NONE,
            };
            let new = || RegionRow::new(ctx, before, address, text);
            let at = table.find_or_push(hash, same, new)?;
            table.get(at).map(std::ptr::from_mut)
        });
        *errno = programs;
        let row = row.unwrap_or(null_mut());
        let state = self.regions.0.as_mut();
        if let Some(known) = state.and_then(|s| s.known.get_mut(place(name, before))) {
            *known = Known { name, before, row };
        }
        row
    }

    /// A region ends.
    ///
    /// # Safety
    /// A name is a C string.
    #[inline]
    pub unsafe fn end_named(&mut self, which: Ends) {
        self.leave_ended();
        let now = clock::now();
        let Some(state) = self.regions.0.as_mut().filter(|s| s.depth > 0) else {
            // SAFETY: as promised.
            return unsafe { self.ends_unbegun(which) };
        };
        let at = state.depth - 1;
        let Some(open) = state.open.get(at) else {
            state.depth = at;
            return;
        };
        // SAFETY: rows are never unmapped; a name is a C string.
        if unsafe { which.is_innermost(open) } {
            state.depth = at;
            ended(open, &mut self.contexts.root.ctx, &mut state.ended, now);
            return;
        }
        // SAFETY: as promised.
        unsafe { self.end_around(which, now) }
    }

    /// A region ends while nothing is recorded: it is open no more. Its row stays as it is, because this may be a child
    /// process, whose parent's rows these are.
    ///
    /// # Safety
    /// A name is a C string.
    #[cold]
    pub unsafe fn leave_named(&mut self, which: Ends) {
        let Some(state) = self.regions.0.as_mut().filter(|s| s.depth > 0) else {
            return;
        };
        let at = state.depth - 1;
        let Some(open) = state.open.get(at) else {
            state.depth = at;
            return;
        };
        // SAFETY: rows are only read here; a name is a C string.
        if unsafe { which.is_innermost(open) } {
            state.depth = at;
            // SAFETY: null or a row.
            let row = unsafe { open.row.as_ref() };
            if row.is_some_and(|row| row.ctx == self.contexts.root.ctx) {
                self.contexts.root.ctx = open.before;
            }
        }
    }

    /// A region ends that is not the innermost one: it ends those inside.
    ///
    /// # Safety
    /// A name is a C string.
    #[cold]
    unsafe fn end_around(&mut self, which: Ends, now: u64) {
        let Some(state) = &mut self.regions.0 else {
            return;
        };
        let open = state.open.get(..state.depth).unwrap_or(&[]);
        // SAFETY: as in `end_named`.
        let Some(at) = open.iter().rposition(|o| unsafe { which.is(o) }) else {
            // SAFETY: as promised.
            return unsafe { self.ends_unbegun(which) };
        };
        state.depth = at;
        for (i, open) in open.iter().enumerate().skip(at).rev() {
            // SAFETY: null or a row, which only this thread writes.
            if let Some(row) = unsafe { open.row.as_mut() }.filter(|_| i > at) {
                row.unnested += 1;
            }
            ended(open, &mut self.contexts.root.ctx, &mut state.ended, now);
        }
    }

    /// A region ends that has not begun. If it has a name, that is reported.
    ///
    /// # Safety
    /// A name is a C string.
    #[cold]
    unsafe fn ends_unbegun(&mut self, which: Ends) {
        let Ends::Named(name) = which else {
            return;
        };
        self.regions.0.get_or_insert_with(State::new);
        // SAFETY: as promised; null or a row, which only this thread writes.
        if let Some(row) = unsafe { self.look_up(name, self.contexts.root.ctx).as_mut() } {
            row.unnested += 1;
        }
    }

    /// An iteration of the innermost region has ended.
    #[inline]
    pub fn iterate_named(&mut self) {
        let Some(state) = &mut self.regions.0 else {
            return;
        };
        let innermost = state.depth.checked_sub(1);
        let Some(open) = innermost.and_then(|at| state.open.get_mut(at)) else {
            return;
        };
        let now = clock::now();
        open.marked = true;
        // SAFETY: null or a row, which only this thread writes.
        if let Some(row) = unsafe { open.row.as_mut() } {
            count(row, now.saturating_sub(open.since));
        }
        open.since = now;
    }
}

/// A region has begun: it is the root from now on.
#[inline]
fn begun(open: &mut Open, root: &mut u32) {
    // SAFETY: null or a row, which only this thread writes.
    if let Some(row) = unsafe { open.row.as_mut() } {
        row.begun += 1;
        *root = row.ctx;
    }
    open.since = clock::now();
}

/// A region has ended at `now`. If the root is another one, a runtime has set it meanwhile, and will set the region's
/// again: that is noted in `again`.
#[inline]
fn ended(open: &Open, root: &mut u32, again: &mut Option<(u32, u32)>, now: u64) {
    // SAFETY: null or a row, which only this thread writes.
    let Some(row) = (unsafe { open.row.as_mut() }) else {
        return;
    };
    if *root == row.ctx {
        *root = open.before;
    } else {
        *again = match *again {
            Some((innermost, before)) if before == row.ctx => Some((innermost, open.before)),
            _ => Some((row.ctx, open.before)),
        };
    }
    row.ended += 1;
    if !open.marked {
        count(row, now.saturating_sub(open.since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> RegionRow {
        RegionRow::new(0, NONE, 0, [0; REGION_NAME])
    }

    /// Times of iterations that nothing orders.
    fn times(many: u64) -> Vec<u64> {
        (0..many).map(|i| mix(i + many) >> (14 + i % 40)).collect()
    }

    #[test]
    fn each_iteration_is_in_one_class_and_one_stretch() {
        for many in [1, 2, 31, 32, 33, 64, 65, 500, 5000] {
            let (times, mut row) = (times(many), row());
            times.iter().for_each(|ns| count(&mut row, *ns));
            assert_eq!((row.count, row.sum_ns), (many, times.iter().sum()));
            assert_eq!(row.classes.iter().sum::<u64>(), many);
            assert_eq!(Some(row.min_ns), times.iter().min().copied());
            assert_eq!(Some(row.max_ns), times.iter().max().copied());
            let each = 1 << row.shift;
            for (i, stretch) in row.stretches.iter().enumerate() {
                let of = times.iter().skip(i * each).take(each);
                assert_eq!(*stretch, of.sum::<u64>(), "{many} {i}");
            }
            let mut sorted = times.clone();
            sorted.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
            for (found, ns) in row.slowest.iter().zip(sorted) {
                assert_eq!(found.ns, ns);
                assert_eq!(times.get(found.index as usize), Some(&ns));
            }
        }
    }

    #[test]
    fn equal_beginnings_of_long_names_are_one_region() {
        let long = std::ffi::CString::new("x".repeat(100)).expect("a name");
        let longer = std::ffi::CString::new("x".repeat(200)).expect("a name");
        // SAFETY: C strings.
        let (a, b) = unsafe { (recorded(long.as_ptr()), recorded(longer.as_ptr())) };
        assert_eq!(a, b);
        assert_eq!(a.last(), Some(&0));
        let mut row = RegionRow::new(0, NONE, address_of(&a), a);
        // SAFETY: a row, and C strings.
        unsafe {
            assert!(is_of(&mut row, longer.as_ptr()));
            assert!(!is_of(&mut row, c"x".as_ptr()));
        }
        assert_ne!(address_of(&a), address_of(&[0; REGION_NAME]));
        assert!(address_of(&a) & REGION_BIT != 0);
    }
}
