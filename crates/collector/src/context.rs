//! Calling contexts: interned call paths, and a cache from a call's place on the stack to them.
//!
//! An MPI call from the same return address with the same stack pointer nearly always has the same
//! call path. It is the same for certain if every return address above still stands in its stack
//! slot, so a hit compares them all: a few loads instead of unwinding, and exact. Where a thread works for
//! another one, paths hang under a root (`root`), and hits are of the same root.

use crate::apart::{self, Apart};
use crate::known::Known;
use crate::openmp;
use crate::root::{Origin, Root};
use crate::stack::Stack;
use crate::table::{Table, mix2};
use crate::thread::Caller;
use crate::unwind::{Cache, DEEPEST, Path, Start, Tables};
use headwater_format::spool::layout::ContextRow;

/// No context.
pub const NONE: u32 = u32::MAX;

/// Contexts of other threads that are remembered; a power of two.
const ADOPTED: usize = 64;

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
    known: Known,
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
            known: Known::new(),
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
        match self.known.find(from, &self.root, self.stack) {
            Some(ctx) => ctx,
            None => self.unwind_call(tables, from),
        }
    }

    /// The same where there may be no tables for the moment: of a call that would have to be unwound, the return
    /// address alone.
    #[inline]
    pub fn of_call_by(&mut self, tables: Option<&Tables>, from: Caller) -> u32 {
        match (self.known.find(from, &self.root, self.stack), tables) {
            (Some(ctx), _) => ctx,
            (None, Some(tables)) => self.unwind_call(tables, from),
            (None, None) => self.place(from.return_address),
        }
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

    /// Forgets all known paths, as when a library has come or gone: the same address may be other code now.
    pub fn forget(&mut self) {
        self.known.forget();
    }

    #[cold]
    fn unwind_call(&mut self, tables: &Tables, from: Caller) -> u32 {
        self.unwound += 1;
        let ctx = self.of_path(tables, start_of(from), 0);
        self.known.keep(from, &self.root, ctx, &self.path);
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
        // Slots of another one may not be there any more.
        self.known.forget();
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
