//! Finds the number of a handle: open addressing with backward shift on removal.
//!
//! A handle may be that of several objects at a time: libraries give the same one for all requests that were done at
//! once, and for a group each time that it is asked for. Such objects form a chain, the oldest first.

use crate::parameters::numbers::Numbers;
use headwater_model::hash::mix;
use headwater_mpi_abi::constants::{NULL, UNKNOWN};

/// The most objects that a program has made of one kind at a time, as far as they have numbers.
pub const MOST_OBJECTS: usize = 1 << 15;

/// Threads with a higher number share the numbers of the last one.
const MOST_THREADS: usize = 256;

/// No object.
const NONE: u32 = u32::MAX;
/// Set in a place that refers to a predefined handle.
const FIXED: u32 = 1 << 31;

/// A place; a handle of 0 is none.
#[derive(Clone, Copy, Default)]
struct Place {
    handle: u64,
    to: u32,
}

/// An object that the program has made.
#[derive(Clone, Copy)]
struct Object<T> {
    handle: u64,
    number: i64,
    /// Thread that made it.
    thread: u32,
    /// Number of the object among all of the table's; 0 if there is none.
    made: u32,
    /// The next one with the same handle.
    next: u32,
    /// The last one, valid for the first one of a chain.
    last: u32,
    /// Whether it cannot be found at the moment, because a call has claimed it.
    apart: bool,
    about: T,
}

/// An object that a call refers to.
#[derive(Clone, Copy)]
pub struct Claim<T> {
    at: u32,
    made: u32,
    /// Where its handle was.
    place: u32,
    /// What is known about it.
    pub about: T,
}

/// Handles of one kind.
pub struct Table<T> {
    places: Vec<Place>,
    used: usize,
    /// Numbers of predefined handles.
    fixed: Vec<i64>,
    objects: Vec<Object<T>>,
    free: Vec<u32>,
    /// Free numbers, by thread.
    numbers: Vec<Numbers>,
    /// Number of the first object.
    first: i64,
    made: u32,
    /// The last handle that was looked for, and its number.
    cached: (u64, i64),
    /// Whether there were more objects than have numbers.
    pub lost: bool,
}

impl<T: Copy + Default> Table<T> {
    /// No handles; objects are numbered from `first` on.
    pub fn new(first: i64) -> Self {
        Self {
            places: vec![Place::default(); 64],
            used: 0,
            fixed: Vec::new(),
            objects: Vec::new(),
            free: Vec::new(),
            numbers: Vec::new(),
            first,
            made: 0,
            cached: (0, NULL),
            lost: false,
        }
    }

    /// The place of a handle, or the free place where it belongs.
    #[inline]
    fn search(&self, handle: u64) -> Result<usize, usize> {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = mix(handle) as usize & mask;
        loop {
            match self.places.get(at) {
                Some(place) if place.handle == 0 => return Err(at),
                Some(place) if place.handle == handle => return Ok(at),
                Some(_) => at = (at + 1) & mask,
                None => return Err(at),
            }
        }
    }

    #[inline]
    fn position(&self, handle: u64) -> Option<usize> {
        self.search(handle).ok()
    }

    #[inline]
    fn to(&self, handle: u64) -> Option<u32> {
        let at = self.position(handle)?;
        self.places.get(at).map(|p| p.to)
    }

    #[inline]
    fn object(&self, at: u32) -> Option<&Object<T>> {
        self.objects.get(at as usize).filter(|o| o.made != 0)
    }

    #[inline]
    fn object_mut(&mut self, at: u32) -> Option<&mut Object<T>> {
        self.objects.get_mut(at as usize).filter(|o| o.made != 0)
    }

    /// The number of the predefined handle or object that a place refers to.
    fn number_at(&self, to: u32) -> i64 {
        let number = if to & FIXED != 0 {
            self.fixed.get((to & !FIXED) as usize).copied()
        } else {
            self.object(to).map(|o| o.number)
        };
        number.unwrap_or(UNKNOWN)
    }

    /// The number of a handle: [`NULL`] of none, [`UNKNOWN`] of one that nobody knows.
    #[inline]
    pub fn number(&mut self, handle: u64) -> i64 {
        if self.cached.0 == handle {
            return self.cached.1;
        }
        if handle == 0 {
            return NULL;
        }
        let number = self.to(handle).map_or(UNKNOWN, |to| self.number_at(to));
        self.cached = (handle, number);
        number
    }

    /// Whether there is anything with a handle.
    pub fn is_known(&self, handle: u64) -> bool {
        self.position(handle).is_some()
    }

    /// What is known about the object behind a handle.
    pub fn about(&self, handle: u64) -> Option<&T> {
        let object = self.object(self.to(handle)?)?;
        Some(&object.about)
    }

    /// Whether the handle is one that MPI defines, and its number.
    pub fn predefined(&self, handle: u64) -> Option<i64> {
        let to = self.to(handle).filter(|to| to & FIXED != 0)?;
        Some(self.number_at(to))
    }

    /// Gives a predefined handle its number.
    pub fn fix(&mut self, handle: u64, number: i64) {
        if handle == 0 || self.to(handle).is_some() {
            return;
        }
        let to = self.fixed.len() as u32 | FIXED;
        if self.put(handle, to) {
            self.fixed.push(number);
        }
    }

    /// Adds a place, and places if half of them are taken. Returns whether there is memory.
    #[inline]
    fn put(&mut self, handle: u64, to: u32) -> bool {
        let (Ok(at) | Err(at)) = self.search(handle);
        self.put_at(at, handle, to)
    }

    /// As [`Self::put`], at the place where the handle belongs.
    #[inline]
    fn put_at(&mut self, mut at: usize, handle: u64, to: u32) -> bool {
        if 2 * self.used >= self.places.len() {
            if !self.grow() {
                return false;
            }
            at = self.search(handle).unwrap_or_else(|free| free);
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = Place { handle, to };
            self.used += 1;
        }
        self.cached = (0, NULL);
        true
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let mut more = Vec::new();
        if more.try_reserve_exact(2 * self.places.len()).is_err() {
            return false;
        }
        more.resize(2 * self.places.len(), Place::default());
        let old = std::mem::replace(&mut self.places, more);
        self.used = 0;
        for place in old.into_iter().filter(|p| p.handle != 0) {
            self.put(place.handle, place.to);
        }
        true
    }

    /// Adds an object that a thread has made, with a number of its own if it has one. Returns its number, or that of
    /// the predefined handle that it is.
    #[inline]
    pub fn add(&mut self, handle: u64, thread: u32, own: Option<i64>, about: T) -> i64 {
        let found = self.search(handle);
        let place = |at: usize| self.places.get(at).map(|place| place.to);
        if let Some(fixed) = found.ok().and_then(place).filter(|to| to & FIXED != 0) {
            return self.number_at(fixed);
        }
        let number = self.try_add(handle, found, thread, own, about);
        self.lost |= number.is_none();
        number.unwrap_or(UNKNOWN)
    }

    /// Adds an object; `found` is the place of its handle, or where that belongs.
    #[inline]
    fn try_add(
        &mut self,
        handle: u64,
        found: Result<usize, usize>,
        thread: u32,
        own: Option<i64>,
        about: T,
    ) -> Option<i64> {
        let at = self.room()?;
        let thread = thread.min(MOST_THREADS as u32 - 1);
        let number = match own {
            Some(number) => number,
            None => self.first + i64::from(self.numbers_of(thread)?.take()?),
        };
        self.made = self.made.wrapping_add(1).max(1);
        let made = self.made;
        if let Some(place) = self.objects.get_mut(at as usize) {
            *place = Object {
                handle,
                number,
                thread,
                made,
                next: NONE,
                last: at,
                apart: false,
                about,
            };
        }
        match found {
            Ok(place) => {
                let first = self.places.get(place).map_or(NONE, |place| place.to);
                self.link_last(at, first);
            }
            Err(place) if self.put_at(place, handle, at) => {}
            Err(_) => {
                self.give_up(at);
                return None;
            }
        }
        Some(number)
    }

    /// A free place for an object.
    #[inline]
    fn room(&mut self) -> Option<u32> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        self.more_room()
    }

    #[cold]
    fn more_room(&mut self) -> Option<u32> {
        let at = self.objects.len();
        if at >= MOST_OBJECTS {
            return None;
        }
        // As many places may become free as there are objects.
        self.objects.try_reserve(1).ok()?;
        self.free.try_reserve(at + 1).ok()?;
        self.objects.push(Object {
            handle: 0,
            number: 0,
            thread: 0,
            made: 0,
            next: NONE,
            last: NONE,
            apart: false,
            about: T::default(),
        });
        Some(at as u32)
    }

    #[inline]
    fn numbers_of(&mut self, thread: u32) -> Option<&mut Numbers> {
        if self.numbers.len() <= thread as usize {
            self.more_threads(thread)?;
        }
        self.numbers.get_mut(thread as usize)
    }

    #[cold]
    fn more_threads(&mut self, thread: u32) -> Option<()> {
        let n = thread as usize + 1;
        let more = n.saturating_sub(self.numbers.len());
        self.numbers.try_reserve(more).ok()?;
        self.numbers.resize_with(n, Numbers::default);
        Some(())
    }

    /// Makes an object the last one of a chain.
    #[cold]
    fn link_last(&mut self, at: u32, first: u32) {
        let last = self.object(first).map_or(NONE, |o| o.last);
        if let Some(object) = self.object_mut(last) {
            object.next = at;
        }
        if let Some(object) = self.object_mut(first) {
            object.last = at;
        }
    }

    /// Takes the first object of a chain out of it; `place` is the one of its handle.
    #[inline]
    fn unlink_first(&mut self, at: u32, place: usize) {
        let (next, last) = self.object(at).map_or((NONE, NONE), |o| (o.next, o.last));
        if let Some(object) = self.object_mut(next) {
            object.last = last;
            if let Some(place) = self.places.get_mut(place) {
                place.to = next;
            }
        } else {
            self.remove_place(place);
        }
        if let Some(object) = self.object_mut(at) {
            (object.next, object.last) = (NONE, at);
        }
        self.cached = (0, NULL);
    }

    #[inline]
    fn remove_place(&mut self, mut hole: usize) {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = hole;
        if let Some(place) = self.places.get_mut(hole) {
            *place = Place::default();
        }
        self.used = self.used.saturating_sub(1);
        loop {
            at = (at + 1) & mask;
            let Some(place) = self.places.get(at).filter(|p| p.handle != 0) else {
                return;
            };
            let home = mix(place.handle) as usize & mask;
            // Moves back only an entry that a search would not find across the hole.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places.swap(hole, at);
                hole = at;
            }
        }
    }

    /// Gives the number and the place of an object back.
    #[inline]
    fn give_up(&mut self, at: u32) {
        let Some(object) = self.object_mut(at) else {
            return;
        };
        object.made = 0;
        let (number, thread) = (object.number, object.thread);
        let number = u32::try_from(number - self.first);
        if let (Ok(number), Some(own)) = (number, self.numbers.get_mut(thread as usize)) {
            own.give(number);
        }
        // There is room: see `room`.
        if self.free.len() < self.free.capacity() {
            self.free.push(at);
        }
    }

    /// A call of a thread refers to a handle: returns its number, and the object unless the handle is predefined. If
    /// several objects have the handle, the next time another one is claimed. Numbers of another thread's objects have
    /// that thread's number plus 1 in the upper half.
    #[inline]
    pub fn claim(&mut self, handle: u64, thread: u32) -> (i64, Option<Claim<T>>) {
        if handle == 0 {
            return (NULL, None);
        }
        let Some(place) = self.position(handle) else {
            return (UNKNOWN, None);
        };
        let to = self.places.get(place).map_or(NONE, |p| p.to);
        let Some(object) = self.object(to) else {
            return (self.number_at(to), None);
        };
        let shared = object.next != NONE;
        let number = match object.thread == thread.min(MOST_THREADS as u32 - 1) {
            true => object.number,
            false => object.number | (i64::from(object.thread) + 1) << 32,
        };
        let claim = Claim {
            at: to,
            made: object.made,
            place: place as u32,
            about: object.about,
        };
        if shared {
            self.unlink_first(to, place);
            if let Some(object) = self.object_mut(to) {
                object.apart = true;
            }
        }
        (number, Some(claim))
    }

    /// The object exists no longer.
    #[inline]
    pub fn finish(&mut self, claim: &Claim<T>) {
        let Some(object) = self.object(claim.at).filter(|o| o.made == claim.made) else {
            return;
        };
        if !object.apart {
            let handle = object.handle;
            let before = claim.place as usize;
            let is_there = self
                .places
                .get(before)
                .is_some_and(|p| p.to == claim.at && p.handle == handle);
            let place = if is_there {
                Some(before)
            } else {
                self.position(handle)
            };
            match place.and_then(|p| Some((p, self.places.get(p)?.to))) {
                Some((place, first)) if first == claim.at => self.unlink_first(first, place),
                _ => self.unlink_from_within(claim.at, handle),
            }
        }
        self.give_up(claim.at);
    }

    /// Takes an object out of a chain that others were put before. The search is short, as threads are few.
    #[cold]
    fn unlink_from_within(&mut self, at: u32, handle: u64) {
        let Some(first) = self.to(handle) else { return };
        let next = self.object(at).map_or(NONE, |o| o.next);
        let mut before = first;
        for _ in 0..self.objects.len() {
            let Some(object) = self.object_mut(before) else {
                return;
            };
            if object.next == at {
                object.next = next;
                break;
            }
            before = object.next;
        }
        if let Some(first) = self.object_mut(first).filter(|o| o.last == at) {
            first.last = before;
        }
    }

    /// The object still exists: it can be found again, before others with its handle.
    #[inline]
    pub fn release(&mut self, claim: &Claim<T>) {
        let found = self
            .object(claim.at)
            .filter(|o| o.made == claim.made && o.apart);
        let Some(handle) = found.map(|o| o.handle) else {
            return;
        };
        let first = self.to(handle);
        let last = first
            .and_then(|f| self.object(f))
            .map_or(claim.at, |o| o.last);
        if let Some(object) = self.object_mut(claim.at) {
            object.apart = false;
            (object.next, object.last) = (first.unwrap_or(NONE), last);
        }
        match self.position(handle).and_then(|at| self.places.get_mut(at)) {
            Some(place) => place.to = claim.at,
            None => {
                self.lost |= !self.put(handle, claim.at);
            }
        }
        self.cached = (0, NULL);
    }

    /// The object behind a handle is given up. Returns its number.
    pub fn free(&mut self, handle: u64) -> i64 {
        let (number, claim) = self.claim(handle, 0);
        if let Some(claim) = claim {
            self.finish(&claim);
        }
        number
    }
}
