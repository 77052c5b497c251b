//! Calling contexts: interned call paths, and a cache from a call's place on the stack to them.
//!
//! An MPI call from the same return address with the same stack pointer nearly always has the same
//! call path. It is the same for certain if every return address above still stands in its stack
//! slot, so a hit compares them all: a few loads instead of unwinding, and exact. Where a thread works for
//! another one, paths hang under a root (`root`), and hits are of the same root.

use crate::apart::{self, Apart};
use crate::openmp;
use crate::root::{Origin, Root};
use crate::stack::{AT_ONCE, Stack, ask};
use crate::table::{Table, mix2};
use crate::thread::Caller;
use crate::unwind::{Cache, DEEPEST, Path, Start, Tables};
use headwater_format::spool::layout::ContextRow;
use std::alloc::Layout;

/// No context.
pub const NONE: u32 = u32::MAX;

/// Entries of the cache; a power of two.
const ENTRIES: usize = 1024;
/// Return addresses that an entry can hold; deeper paths are unwound each time.
const KEPT: usize = AT_ONCE;

/// A place on the stack and its context; free where all is zero.
#[derive(Clone, Copy)]
struct Entry {
    return_address: u64,
    stack_pointer: u64,
    cut: u64,
    root: u32,
    ctx: u32,
    len: u64,
    slots: [(u64, u64); KEPT],
}

/// Contexts of other threads that are remembered; a power of two.
const ADOPTED: usize = 64;

/// Memory that is not written to costs nothing, so it comes from the system as it is.
fn free_entries() -> Box<[Entry; ENTRIES]> {
    let layout = Layout::new::<[Entry; ENTRIES]>();
    // SAFETY: numbers only, which may all be zero, in memory of the layout that the box gives back.
    unsafe {
        let at = std::alloc::alloc_zeroed(layout);
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Box::from_raw(at.cast())
    }
}

/// Whether the values still stand in slots of a stack that the program has made for itself.
#[cold]
fn elsewhere(slots: &[(u64, u64)]) -> bool {
    let (mut addresses, mut words) = ([0; KEPT], [0; KEPT]);
    for (to, (slot, _)) in addresses.iter_mut().zip(slots) {
        *to = *slot;
    }
    let (Some(addresses), Some(words)) =
        (addresses.get(..slots.len()), words.get_mut(..slots.len()))
    else {
        return false;
    };
    slots.is_empty()
        || ask(addresses, words) && words.iter().zip(slots).all(|(w, (_, value))| w == value)
}

/// Where the path of a call begins.
fn start_of(from: Caller) -> Start {
    Start {
        ip: from.return_address,
        returned: true,
        sp: from.stack_pointer,
        fp: from.frame_pointer,
        lr: 0,
    }
}

/// Contexts of one thread.
pub struct Contexts {
    table: Table<ContextRow>,
    entries: Box<[Entry; ENTRIES]>,
    cache: Cache,
    path: Box<Path>,
    stack: Stack,
    /// For what takes much of a stack.
    apart: Apart,
    /// What paths hang under at the moment.
    pub root: Root,
    /// Thread and context of others, and what they are here.
    adopted: [(u32, u32, u32); ADOPTED],
    /// Calls whose path had to be unwound.
    pub unwound: u64,
}

impl Contexts {
    /// Contexts that are interned in `table`, for a thread with this stack.
    pub fn new(table: Table<ContextRow>, stack: Stack) -> Self {
        Self {
            table,
            entries: free_entries(),
            cache: Cache::new_in(),
            path: Box::new(Path::new()),
            stack,
            apart: Apart::new(),
            root: Root::NONE,
            adopted: [(NONE, NONE, NONE); ADOPTED],
            unwound: 0,
        }
    }

    /// The context of a call: its return address and everything above.
    #[inline]
    pub fn of_call(&mut self, tables: &Tables, from: Caller) -> u32 {
        match self.known(from) {
            Ok(ctx) => ctx,
            Err(at) => self.unwind_call(tables, at, from),
        }
    }

    /// The same where there may be no tables for the moment: of a call that would have to be unwound, the return
    /// address alone.
    #[inline]
    pub fn of_call_by(&mut self, tables: Option<&Tables>, from: Caller) -> u32 {
        match (self.known(from), tables) {
            (Ok(ctx), _) => ctx,
            (Err(at), Some(tables)) => self.unwind_call(tables, at, from),
            (Err(_), None) => self.place(from.return_address),
        }
    }

    /// The context of a call that came from here before, or else the entry that is to have it.
    #[inline]
    fn known(&self, from: Caller) -> Result<u32, usize> {
        let (return_address, stack_pointer) = (from.return_address, from.stack_pointer);
        let at = mix2(return_address, stack_pointer) as usize % ENTRIES;
        if let Some(entry) = self.entries.get(at)
            && entry.return_address == return_address
            && entry.stack_pointer == stack_pointer
            && (entry.root, entry.cut) == (self.root.ctx, self.root.cut)
            && self.still_there(entry)
        {
            return Ok(entry.ctx);
        }
        Err(at)
    }

    /// Whether every return address of an entry still stands in its slot.
    #[inline]
    fn still_there(&self, entry: &Entry) -> bool {
        let slots = entry.slots.get(..entry.len as usize).unwrap_or(&[]);
        if !self.stack.holds(entry.stack_pointer) {
            return elsewhere(slots);
        }
        slots.iter().all(|(slot, value)| {
            // SAFETY: the slot lies between this call's stack pointer and the end of the thread's own stack.
            unsafe { (*slot as *const u64).read_volatile() == *value }
        })
    }

    /// Runs `f`, which may take much of a stack, on the thread's own where that has room, and otherwise apart.
    pub fn with_room<T>(&self, f: impl FnOnce() -> T) -> T {
        let here = std::ptr::from_ref(&f) as u64;
        if self.stack.left(here) > apart::BYTES as u64 {
            f()
        } else {
            self.apart.run(f)
        }
    }

    /// Forgets all entries: addresses may stand for other code now.
    pub fn forget(&mut self) {
        self.entries.iter_mut().for_each(|e| e.return_address = 0);
    }

    #[cold]
    fn unwind_call(&mut self, tables: &Tables, at: usize, from: Caller) -> u32 {
        self.unwound += 1;
        let ctx = self.of_path(tables, start_of(from), 0);
        let len = self.path.len.min(DEEPEST);
        let above = len.saturating_sub(1);
        if above <= KEPT
            && let Some(entry) = self.entries.get_mut(at)
        {
            *entry = Entry {
                return_address: from.return_address,
                stack_pointer: from.stack_pointer,
                cut: self.root.cut,
                root: self.root.ctx,
                ctx,
                len: above as u64,
                slots: [(0, 0); KEPT],
            };
            for (kept, i) in entry.slots.iter_mut().zip(1..len) {
                let slot = self.path.slot.get(i).copied().unwrap_or(0);
                *kept = (slot, self.path.ip.get(i).copied().unwrap_or(0));
            }
        }
        ctx
    }

    /// The context of an interrupted instruction. Called from the signal handler.
    pub fn of_sample(&mut self, tables: &Tables, start: Start) -> u32 {
        self.of_path(tables, start, 1)
    }

    /// The context of a path; `exact` marks its innermost address. A root counts for what is called from
    /// below it on the thread's own stack: whoever stands elsewhere has left it by `longjmp`, or goes on
    /// another stack.
    fn of_path(&mut self, tables: &Tables, start: Start, exact: u32) -> u32 {
        let below = start.sp <= self.root.cut && self.stack.holds(start.sp);
        let root = if below { self.root } else { Root::NONE };
        let (cache, path) = (&mut self.cache, &mut *self.path);
        let stack = self.stack;
        let walk = || tables.walk(start, stack, root.cut, cache, path);
        // Samples are taken by the signal handler, in which all others wait.
        if exact == 1 {
            self.apart.run_quiet(walk);
        } else {
            self.apart.run(walk);
        }
        let path = &mut *self.path;
        if root.ctx != NONE {
            path.cut_behind(openmp::tells);
        }
        self.intern(root.ctx, exact)
    }

    /// The innermost context that is not in code for which `inside` holds, of `ctx` and what it hangs under.
    pub fn without(&mut self, mut ctx: u32, inside: impl Fn(u64) -> bool) -> u32 {
        while let Some(row) = self.table.get(ctx)
            && inside(row.address)
        {
            ctx = row.parent;
        }
        ctx
    }

    /// The context of a call that was made before anything was recorded, and of whose stack these words, from its
    /// stack pointer on, are left.
    pub fn of_kept(&mut self, tables: &Tables, from: Caller, words: &[u64]) -> u32 {
        let word = |address: u64| {
            let offset = address.checked_sub(from.stack_pointer)?;
            let at = usize::try_from(offset / 8).ok()?;
            words.get(at).filter(|_| offset.is_multiple_of(8)).copied()
        };
        let (cache, path) = (&mut self.cache, &mut *self.path);
        tables.walk_with(start_of(from), u64::MAX, cache, path, word);
        self.intern(NONE, 0)
    }

    /// The stack of the thread, where another one has made this.
    pub fn set_stack(&mut self, stack: Stack) {
        self.stack = stack;
    }

    /// The path in hand under `parent`, outermost first; `exact` marks the innermost address.
    fn intern(&mut self, parent: u32, exact: u32) -> u32 {
        let mut parent = parent;
        for i in (0..self.path.len.min(DEEPEST)).rev() {
            let Some(&address) = self.path.ip.get(i) else {
                continue;
            };
            let exact = if i == 0 { exact } else { 0 };
            match self.row(address, parent, exact) {
                Some(ctx) => parent = ctx,
                None => return parent,
            }
        }
        parent
    }

    /// The context of a thread's start routine, whose first instruction this is, below the call that made the thread.
    pub fn of_routine(&mut self, address: u64, made_by: u32) -> u32 {
        self.row(address, made_by, 1).unwrap_or(NONE)
    }

    fn row(&mut self, address: u64, parent: u32, exact: u32) -> Option<u32> {
        let row = ContextRow {
            address,
            parent,
            exact,
        };
        let hash = mix2(address, u64::from(parent) << 1 | u64::from(exact));
        self.table.find_or_push(hash, |r| *r == row, || row)
    }

    /// A context that is a return address without callers; 0 is none.
    pub fn place(&mut self, address: u64) -> u32 {
        let known = if address == 0 { None } else { Some(address) };
        known.and_then(|a| self.row(a, NONE, 0)).unwrap_or(NONE)
    }

    /// The first of the rows that contexts are numbers of.
    pub fn rows(&self) -> *const ContextRow {
        self.table.rows()
    }

    /// A context for others to adopt; `thread` is the number of this one.
    pub fn origin(&self, ctx: u32, thread: u32) -> Origin {
        Origin {
            rows: self.rows(),
            ctx,
            thread,
        }
    }

    /// Another thread's context as one of this thread's, whose number is `me`.
    pub fn adopt(&mut self, origin: Origin, me: u32) -> u32 {
        if origin.thread == me || origin.ctx == NONE {
            return origin.ctx;
        }
        let key = u64::from(origin.thread) << 32 | u64::from(origin.ctx);
        let at = mix2(key, 0) as usize % ADOPTED;
        match self.adopted.get(at) {
            Some((thread, ctx, own)) if (*thread, *ctx) == (origin.thread, origin.ctx) => *own,
            _ => self.copy(origin, at),
        }
    }

    #[cold]
    fn copy(&mut self, origin: Origin, at: usize) -> u32 {
        let mut from = origin.ctx;
        self.path.len = 0;
        while from != NONE
            && let Some(place) = self.path.ip.get_mut(self.path.len)
        {
            // SAFETY: rows that contexts name were written, and stay (see `Origin`).
            let row = unsafe { origin.rows.add(from as usize).read() };
            (*place, from) = (row.address, row.parent);
            self.path.len += 1;
        }
        let own = self.intern(NONE, 0);
        if let Some(place) = self.adopted.get_mut(at) {
            *place = (origin.thread, origin.ctx, own);
        }
        own
    }
}
