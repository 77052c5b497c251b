//! Calling contexts: interned call paths, and a cache that finds them by a call's place on the stack.
//!
//! An MPI call from the same return address with the same stack pointer nearly always has the same call path. It
//! certainly has if every return address above is still in its stack slot. A cache hit compares them all: this takes
//! a few loads instead of unwinding, and is exact. If a thread works for another one, its paths are below a root
//! (`root`), and a hit has the same root.

use crate::interpreter::{Interpreter, Spliced};
use crate::known::Known;
use crate::own_stack::{self, OwnStack};
use crate::root::{Origin, Root};
use crate::stack::Stack;
use crate::unwind::{Cache, Caller, DEEPEST, Path, Start, Tables};
use headwater_format::spool::layout::ContextRow;
use headwater_model::hash::mix2;

/// No context.
pub const NONE: u32 = u32::MAX;

/// Contexts of other threads that are remembered; a power of two.
const ADOPTED: usize = 64;

/// Holds the contexts of one thread: rows, whose numbers are the contexts.
///
/// # Safety
/// A row that was stored never changes, and it stays where it is as long as the process lives. The rows are in one
/// array, in the order of their numbers.
pub unsafe trait ContextStore {
    /// The number of this row, which is stored if it is new; `None` if there is no room for it. `hash` is the same for
    /// equal rows.
    fn intern(&mut self, hash: u64, row: ContextRow) -> Option<u32>;

    /// The row with this number.
    fn row(&mut self, ctx: u32) -> Option<ContextRow>;

    /// The first row.
    fn rows(&self) -> *const ContextRow;
}

/// Contexts of one thread.
pub struct Contexts<S, I = ()> {
    store: S,
    interpreter: I,
    known: Known,
    cache: Cache,
    path: Box<Path>,
    spliced: Box<Spliced>,
    stack: Stack,
    /// A stack for what needs a large one.
    own_stack: OwnStack,
    /// What paths are below at the moment.
    pub root: Root,
    /// Whether an address is in a runtime, which called the code below a root.
    ends_at: fn(u64) -> bool,
    /// Thread and context of others, and the same context here.
    adopted: [(u32, u32, u32); ADOPTED],
    /// Calls whose path had to be unwound.
    pub unwound: u64,
}

impl<S: ContextStore, I: Interpreter> Contexts<S, I> {
    /// Contexts that are interned in `store`, for a thread with this stack. Below a root, a path ends before the
    /// code for which `ends_at` holds: the runtime called the rest. The signal handler calls this too.
    pub fn new(store: S, stack: Stack, ends_at: fn(u64) -> bool, interpreter: I) -> Self {
        Self {
            store,
            interpreter,
            known: Known::new(),
            cache: Cache::new(),
            path: Box::new(Path::new()),
            spliced: Box::new(Spliced::new()),
            stack,
            own_stack: OwnStack::mapped(),
            root: Root::NONE,
            ends_at,
            adopted: [(NONE, NONE, NONE); ADOPTED],
            unwound: 0,
        }
    }

    /// The context of a call: its return address and all above it.
    #[inline]
    pub fn of_call(&mut self, tables: &Tables, from: Caller) -> u32 {
        match self.known(from, false) {
            Some(ctx) => ctx,
            None => self.unwind_call(tables, from),
        }
    }

    /// The same if there may be no tables at the moment, for a call that does not come from the program's allocator.
    /// Without tables, a call that would have to be unwound gets its return address alone.
    #[inline]
    pub fn of_call_by(&mut self, tables: Option<&Tables>, from: Caller) -> u32 {
        match (self.known(from, tables.is_none()), tables) {
            (Some(ctx), _) => ctx,
            (None, Some(tables)) => {
                self.interpreter.prepare();
                self.unwind_call(tables, from)
            }
            (None, None) => self.place(from.return_address),
        }
    }

    /// The context of a call from a known path. `leaves` as in [`Interpreter::mark`].
    #[inline]
    fn known(&mut self, from: Caller, leaves: bool) -> Option<u32> {
        let mark = || self.interpreter.mark(leaves);
        self.known.find(from, &self.root, self.stack, mark)
    }

    /// Runs `f`, which may need much stack: on the thread's own stack if that has room, otherwise on ours.
    pub fn with_room<T>(&self, f: impl FnOnce() -> T) -> T {
        let here = std::ptr::from_ref(&f) as u64;
        if self.stack.left(here) > own_stack::BYTES as u64 {
            f()
        } else {
            self.own_stack.run(f)
        }
    }

    /// Forgets all known paths, as when a library was loaded or unloaded: the same address may be other code now.
    pub fn forget(&mut self) {
        self.known.forget();
    }

    #[cold]
    fn unwind_call(&mut self, tables: &Tables, from: Caller) -> u32 {
        self.unwound += 1;
        let (ctx, is_interpreted) = self.of_path(tables, from.start(), 0);
        // It does not change before the call is over.
        let mark = match is_interpreted {
            true => self.interpreter.mark(false),
            false => 0,
        };
        self.known.keep(from, &self.root, ctx, &self.path, mark);
        ctx
    }

    /// The interpreter's frames of this thread.
    pub fn interpreter(&mut self) -> &mut I {
        &mut self.interpreter
    }

    /// Prepares for frames of an interpreter, which the signal handler cannot do.
    pub fn expect_interpreter(&mut self) {
        self.interpreter.prepare();
    }

    /// The context of an interrupted instruction. The signal handler calls this.
    pub fn of_sample(&mut self, tables: &Tables, start: Start) -> u32 {
        self.of_path(tables, start, 1).0
    }

    /// The context of a path; `exact` marks its innermost address. The root holds only for code that is called below
    /// it on the thread's own stack. Code elsewhere has left the root by `longjmp`, or runs on another stack. A root
    /// that cuts nothing off, as that of a region, holds everywhere. Also returns whether the path leads through an
    /// interpreter.
    fn of_path(&mut self, tables: &Tables, start: Start, exact: u32) -> (u32, bool) {
        let everywhere = self.root.cut == Root::EVERYWHERE;
        let below = everywhere || start.sp <= self.root.cut && self.stack.holds(start.sp);
        let root = if below { self.root } else { Root::NONE };
        let (cache, path) = (&mut self.cache, &mut *self.path);
        let (interpreter, spliced) = (&mut self.interpreter, &mut *self.spliced);
        let (stack, ends_at) = (self.stack, self.ends_at);
        let walk = || {
            tables.walk(start, stack, root.cut, cache, path);
            if root.ctx != NONE && !everywhere {
                path.cut_behind(ends_at);
            }
            spliced.len = 0;
            interpreter.splice(path, spliced)
        };
        // The signal handler takes the samples, and it blocks all other signals.
        let is_interpreted = match exact {
            1 => self.own_stack.run_quiet(walk),
            _ => self.own_stack.run(walk),
        };
        (self.intern(root.ctx, exact), is_interpreted)
    }

    /// The innermost context outside the code for which `inside` holds, among `ctx` and its callers.
    pub fn without(&mut self, mut ctx: u32, inside: impl Fn(u64) -> bool) -> u32 {
        while let Some(row) = self.store.row(ctx)
            && inside(row.address)
        {
            ctx = row.parent;
        }
        ctx
    }

    /// The context of a call that was made before anything was recorded. `words` is what is left of its stack, from
    /// its stack pointer on.
    pub fn of_kept(&mut self, tables: &Tables, from: Caller, words: &[u64]) -> u32 {
        let word = |address: u64| {
            let offset = address.checked_sub(from.stack_pointer)?;
            let at = usize::try_from(offset / 8).ok()?;
            words.get(at).filter(|_| offset.is_multiple_of(8)).copied()
        };
        let (cache, path) = (&mut self.cache, &mut *self.path);
        tables.walk_with(from.start(), u64::MAX, cache, path, word);
        self.spliced.len = 0;
        self.intern(NONE, 0)
    }

    /// Sets the stack of the thread, if another thread has made this.
    pub fn set_stack(&mut self, stack: Stack) {
        // The slots of another stack may not be there any more.
        self.known.forget();
        self.stack = stack;
    }

    /// Interns the current path below `parent`, outermost address first; `exact` marks the innermost address, if that is
    /// one of machine code.
    fn intern(&mut self, parent: u32, exact: u32) -> u32 {
        let mut parent = parent;
        let is_spliced = self.spliced.len > 0;
        let len = match is_spliced {
            true => self.spliced.len,
            false => self.path.len,
        };
        for i in (0..len.min(DEEPEST)).rev() {
            let frames = match is_spliced {
                true => &self.spliced.frames,
                false => &self.path.ip,
            };
            let Some(&address) = frames.get(i) else {
                continue;
            };
            let innermost = i == 0 && !I::is_frame(address);
            let exact = if innermost { exact } else { 0 };
            match self.row(address, parent, exact) {
                Some(ctx) => parent = ctx,
                None => return parent,
            }
        }
        parent
    }

    /// The context of a thread's start routine, below the call that made the thread; `address` is its first
    /// instruction.
    pub fn of_routine(&mut self, address: u64, made_by: u32) -> u32 {
        self.row(address, made_by, 1).unwrap_or(NONE)
    }

    /// The context of a region that the program begins now. Its address stands for its name.
    pub fn of_region(&mut self, address: u64) -> Option<u32> {
        self.row(address, self.root.ctx, 0)
    }

    fn row(&mut self, address: u64, parent: u32, exact: u32) -> Option<u32> {
        let row = ContextRow {
            address,
            parent,
            exact,
        };
        let hash = mix2(address, u64::from(parent) << 1 | u64::from(exact));
        self.store.intern(hash, row)
    }

    /// A context that is a return address without callers; [`NONE`] for address 0.
    pub fn place(&mut self, address: u64) -> u32 {
        let known = if address == 0 { None } else { Some(address) };
        known.and_then(|a| self.row(a, NONE, 0)).unwrap_or(NONE)
    }

    /// The row of a context.
    pub fn row_of(&mut self, ctx: u32) -> Option<ContextRow> {
        self.store.row(ctx)
    }

    /// The first of the rows; contexts are their numbers.
    pub fn rows(&self) -> *const ContextRow {
        self.store.rows()
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
        (self.path.len, self.spliced.len) = (0, 0);
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
