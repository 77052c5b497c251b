//! Calling contexts: interned call paths, and a cache from a call's place on the stack to them.
//!
//! An MPI call from the same return address with the same stack pointer nearly always has the same
//! call path. It is the same for certain if every return address above still stands in its stack
//! slot, so a hit compares them all: a few loads instead of unwinding, and exact.

use crate::stack::{AT_ONCE, Stack, ask};
use crate::table::{Table, mix2};
use crate::thread::Caller;
use crate::unwind::{Cache, DEEPEST, Path, Start, Tables};
use headwater_format::spool::layout::ContextRow;

/// No context.
pub const NONE: u32 = u32::MAX;

/// Entries of the cache; a power of two.
const ENTRIES: usize = 1024;
/// Return addresses that an entry can hold; deeper paths are unwound each time.
const KEPT: usize = AT_ONCE;

#[derive(Clone, Copy)]
struct Entry {
    return_address: u64,
    stack_pointer: u64,
    ctx: u32,
    len: u32,
    slots: [(u64, u64); KEPT],
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

/// Contexts of one thread.
pub struct Contexts {
    table: Table<ContextRow>,
    entries: Box<[Entry]>,
    cache: Cache,
    path: Box<Path>,
    stack: Stack,
    /// Calls whose path had to be unwound.
    pub unwound: u64,
}

impl Contexts {
    /// Contexts that are interned in `table`, for a thread with this stack.
    pub fn new(table: Table<ContextRow>, stack: Stack) -> Self {
        let empty = Entry {
            return_address: 0,
            stack_pointer: 0,
            ctx: NONE,
            len: 0,
            slots: [(0, 0); KEPT],
        };
        Self {
            table,
            entries: vec![empty; ENTRIES].into_boxed_slice(),
            cache: Cache::new_in(),
            path: Box::new(Path::new()),
            stack,
            unwound: 0,
        }
    }

    /// The context of a call: its return address and everything above.
    #[inline]
    pub fn of_call(&mut self, tables: &Tables, from: Caller) -> u32 {
        let (return_address, stack_pointer) = (from.return_address, from.stack_pointer);
        let at = mix2(return_address, stack_pointer) as usize % ENTRIES;
        if let Some(entry) = self.entries.get(at)
            && entry.return_address == return_address
            && entry.stack_pointer == stack_pointer
            && self.still_there(entry)
        {
            return entry.ctx;
        }
        self.unwind_call(tables, at, from)
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

    /// Forgets all entries: addresses may stand for other code now.
    pub fn forget(&mut self) {
        self.entries.iter_mut().for_each(|e| e.return_address = 0);
    }

    #[cold]
    fn unwind_call(&mut self, tables: &Tables, at: usize, from: Caller) -> u32 {
        self.unwound += 1;
        let start = Start {
            ip: from.return_address,
            returned: true,
            sp: from.stack_pointer,
            fp: from.frame_pointer,
            lr: 0,
        };
        tables.walk(start, self.stack, &mut self.cache, &mut self.path);
        let ctx = self.intern(0);
        let len = self.path.len.min(DEEPEST);
        let above = len.saturating_sub(1);
        if above <= KEPT
            && let Some(entry) = self.entries.get_mut(at)
        {
            *entry = Entry {
                return_address: from.return_address,
                stack_pointer: from.stack_pointer,
                ctx,
                len: above as u32,
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
        tables.walk(start, self.stack, &mut self.cache, &mut self.path);
        self.intern(1)
    }

    /// Interns the path, outermost first; `exact` marks the innermost address.
    fn intern(&mut self, exact: u32) -> u32 {
        let mut parent = NONE;
        for i in (0..self.path.len.min(DEEPEST)).rev() {
            let Some(&address) = self.path.ip.get(i) else {
                continue;
            };
            let exact = if i == 0 { exact } else { 0 };
            let row = ContextRow {
                address,
                parent,
                exact,
            };
            let hash = mix2(address, u64::from(parent) << 1 | u64::from(exact));
            match self.table.find_or_push(hash, |r| *r == row, || row) {
                Some(ctx) => parent = ctx,
                None => return parent,
            }
        }
        parent
    }
}
