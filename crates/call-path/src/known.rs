//! Finds call paths that were unwound before, by the place of a call on the stack.
//!
//! A call comes from a known path if it has the path's return address, stack pointer and root, if every return address
//! above is still in its stack slot, and if an interpreter on the path still has the same mark. All of them are compared,
//! so a match is certain. The mark comes last: it is asked for only where the interpreter is on the stack. Several paths may have
//! the same return address and stack pointer, as those of a function that another one calls from many lines: they are
//! stored beside each other. The slots of all paths are in one array, so that a short path takes little memory and a
//! deep one fits too. When the array is full, all paths are forgotten.

use crate::root::Root;
use crate::stack::{AT_ONCE, Stack, ask};
use crate::unwind::{Caller, DEEPEST, Path};
use headwater_model::hash::mix2;
use std::alloc::Layout;

/// Paths in a set.
const WAYS: usize = 16;
/// Sets of paths; a power of two.
const SETS: usize = 128;
/// Slots of all paths.
const SLOTS: usize = 1 << 15;

/// A place on the stack and its context. It is free if it was stored before all paths were last forgotten. At first
/// every place is free.
#[derive(Clone, Copy)]
struct Place {
    return_address: u64,
    stack_pointer: u64,
    cut: u64,
    root: u32,
    ctx: u32,
    /// The interpreter's mark; 0 if the path does not lead through it.
    mark: u64,
    /// Its slots.
    first: u32,
    len: u32,
    /// How often all paths had been forgotten when this one was stored.
    forgotten: u32,
}

/// The address of a stack slot, and the return address in it.
#[derive(Clone, Copy)]
struct Slot {
    at: u64,
    value: u64,
}

/// Known paths of one thread.
pub struct Known {
    places: Box<[Place; SETS * WAYS]>,
    slots: Box<[Slot; SLOTS]>,
    /// Slots in use.
    used: usize,
    /// Selects the path that is replaced next.
    turn: usize,
    /// How often all paths were forgotten, counted from 1.
    forgotten: u32,
}

/// Zeroed memory from the system. It is not written to here: memory costs nothing until it is written to.
///
/// # Safety
/// A value of zeros is one of `T`.
unsafe fn zeros<T>() -> Box<T> {
    let layout = Layout::new::<T>();
    // SAFETY: the layout is the one with which the box frees it. The caller promises that zeros are a value of `T`.
    unsafe {
        let at = std::alloc::alloc_zeroed(layout);
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Box::from_raw(at.cast())
    }
}

/// The first place of the set in which a call is looked up.
#[inline]
fn set_of(from: Caller) -> usize {
    mix2(from.return_address, from.stack_pointer) as usize % SETS * WAYS
}

impl Known {
    /// None yet.
    pub fn new() -> Self {
        // SAFETY: both hold numbers alone.
        unsafe {
            Self {
                places: zeros(),
                slots: zeros(),
                used: 0,
                turn: 0,
                forgotten: 1,
            }
        }
    }

    /// The context of an earlier call from here, on this stack and below this root. `mark` gives the interpreter's mark
    /// of now.
    #[inline]
    pub fn find(
        &self,
        from: Caller,
        root: &Root,
        stack: Stack,
        mut mark: impl FnMut() -> u64,
    ) -> Option<u32> {
        let mut now = 0;
        let mut has_mark = |place: &Place| {
            if place.mark != 0 && now == 0 {
                now = mark();
            }
            place.mark == 0 || place.mark == now
        };
        let set = set_of(from);
        let mut places = self.places.get(set..set + WAYS)?.iter();
        let place = places.find(|p| {
            self.is_taken(p)
                && p.return_address == from.return_address
                && p.stack_pointer == from.stack_pointer
                && (p.root, p.cut) == (root.ctx, root.cut)
                && self.still_there(p, stack)
                && has_mark(p)
        })?;
        Some(place.ctx)
    }

    #[inline]
    fn is_taken(&self, place: &Place) -> bool {
        place.forgotten == self.forgotten
    }

    /// Whether every return address of a path is still in its stack slot.
    #[inline]
    fn still_there(&self, place: &Place, stack: Stack) -> bool {
        let first = place.first as usize;
        let slots = self.slots.get(first..first + place.len as usize);
        let slots = slots.unwrap_or(&[]);
        if !stack.holds(place.stack_pointer) {
            return elsewhere(slots);
        }
        slots.iter().all(|slot| {
            // SAFETY: the slot lies between this call's stack pointer and the end of the thread's own stack.
            unsafe { (slot.at as *const u64).read_volatile() == slot.value }
        })
    }

    /// Stores that a call from here has the context `ctx` and this path, with the interpreter's mark if it leads through
    /// it, otherwise 0.
    pub fn keep(&mut self, from: Caller, root: &Root, ctx: u32, path: &Path, mark: u64) {
        let len = path.len.min(DEEPEST);
        let above = len.saturating_sub(1);
        self.turn = self.turn.wrapping_add(1);
        let set = set_of(from);
        let free = |p: &Place| !self.is_taken(p);
        let places = self.places.get(set..set + WAYS).unwrap_or(&[]);
        let way = places.iter().position(free);
        let way = set + way.unwrap_or(self.turn % WAYS);
        // A path that is replaced leaves its slots to the new one, if they are enough. So paths that come and go use
        // up no further slots.
        let left = self
            .places
            .get(way)
            .filter(|p| !free(p) && p.len as usize >= above);
        let first = match left.map(|p| p.first as usize) {
            Some(first) => first,
            None => {
                if self.used + above > SLOTS {
                    self.forget();
                }
                self.used += above;
                self.used - above
            }
        };
        let slots = self.slots.get_mut(first..first + above);
        for (slot, i) in slots.into_iter().flatten().zip(1..len) {
            let at = path.slot.get(i).copied().unwrap_or(0);
            let value = path.ip.get(i).copied().unwrap_or(0);
            *slot = Slot { at, value };
        }
        if let Some(place) = self.places.get_mut(way) {
            *place = Place {
                return_address: from.return_address,
                stack_pointer: from.stack_pointer,
                cut: root.cut,
                root: root.ctx,
                ctx,
                mark,
                first: first as u32,
                len: above as u32,
                forgotten: self.forgotten,
            };
        }
    }

    /// Forgets all paths, as when a library was loaded or unloaded: the same address may be other code now.
    pub fn forget(&mut self) {
        self.forgotten = self.forgotten.wrapping_add(1);
        self.used = 0;
    }
}

/// Whether the values are still in the slots of a stack that the program has made for itself.
#[cold]
fn elsewhere(slots: &[Slot]) -> bool {
    slots.chunks(AT_ONCE).all(|slots| {
        let (mut addresses, mut words) = ([0; AT_ONCE], [0; AT_ONCE]);
        for (to, slot) in addresses.iter_mut().zip(slots) {
            *to = slot.at;
        }
        let (Some(addresses), Some(words)) =
            (addresses.get(..slots.len()), words.get_mut(..slots.len()))
        else {
            return false;
        };
        ask(addresses, words)
            && words
                .iter()
                .zip(slots)
                .all(|(word, slot)| *word == slot.value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of these slots, whose own address comes first.
    fn path(slots: &[u64]) -> Box<Path> {
        let mut path = Box::new(Path::new());
        for (i, slot) in slots.iter().enumerate() {
            path.slot[i + 1] = std::ptr::from_ref(slot) as u64;
            path.ip[i + 1] = *slot;
        }
        path.len = slots.len() + 1;
        path
    }

    /// A call below slots on this thread's stack.
    fn below(slots: &[u64]) -> Caller {
        Caller {
            return_address: 0x4711,
            stack_pointer: slots.as_ptr() as u64 - 8,
            frame_pointer: 0,
        }
    }

    #[test]
    fn paths_at_one_depth_stand_side_by_side() {
        let mut known = Known::new();
        let mut slots = [0u64; 3];
        for way in 1..=WAYS as u64 {
            slots[1] = way;
            let from = below(&slots);
            assert_eq!(
                known.find(from, &Root::NONE, Stack::own(), || 1),
                None,
                "{way}"
            );
            known.keep(from, &Root::NONE, way as u32, &path(&slots), 0);
        }
        for way in 1..=WAYS as u64 {
            slots[1] = way;
            let found = known.find(below(&slots), &Root::NONE, Stack::own(), || 1);
            assert_eq!(found, Some(way as u32));
        }
        slots[2] = 1;
        assert_eq!(
            known.find(below(&slots), &Root::NONE, Stack::own(), || 1),
            None
        );
    }

    #[test]
    fn only_paths_of_the_interpreter_are_asked_for_its_mark() {
        let mut known = Known::new();
        let slots = [7u64; 3];
        let from = below(&slots);
        let mut asked = 0;
        let mut find = |known: &Known, mark: u64| {
            known.find(from, &Root::NONE, Stack::own(), || {
                asked += 1;
                mark
            })
        };
        known.keep(from, &Root::NONE, 1, &path(&slots), 5);
        known.keep(from, &Root::NONE, 2, &path(&slots), 6);
        assert_eq!(find(&known, 5), Some(1));
        assert_eq!(find(&known, 6), Some(2));
        assert_eq!(find(&known, 7), None);
        known.forget();
        known.keep(from, &Root::NONE, 3, &path(&slots), 0);
        assert_eq!(find(&known, 7), Some(3));
        // Once for each call, however many paths have one.
        assert_eq!(asked, 3);
    }

    #[test]
    fn deep_paths_are_kept_on_any_stack() {
        let mut known = Known::new();
        let mut slots = [0u64; DEEPEST - 1];
        slots.iter_mut().zip(1..).for_each(|(s, i)| *s = i);
        known.keep(below(&slots), &Root::NONE, 5, &path(&slots), 0);
        for stack in [Stack::own(), Stack::NONE] {
            assert_eq!(known.find(below(&slots), &Root::NONE, stack, || 1), Some(5));
        }
        slots[DEEPEST - 2] = 0;
        for stack in [Stack::own(), Stack::NONE] {
            assert_eq!(known.find(below(&slots), &Root::NONE, stack, || 1), None);
        }
    }

    #[test]
    fn where_there_is_no_more_room_paths_are_learnt_anew() {
        let mut known = Known::new();
        let slots = [7u64; 100];
        for ctx in 0..1000u32 {
            let from = Caller {
                return_address: 1 + u64::from(ctx),
                ..below(&slots)
            };
            known.keep(from, &Root::NONE, ctx, &path(&slots), 0);
            assert_eq!(known.find(from, &Root::NONE, Stack::own(), || 1), Some(ctx));
        }
        known.forget();
        let last = Caller {
            return_address: 1000,
            ..below(&slots)
        };
        assert_eq!(known.find(last, &Root::NONE, Stack::own(), || 1), None);
    }
}
