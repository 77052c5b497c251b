//! Finds communicators, RMA windows and files by their handles, without a lock.
//!
//! This is open addressing on levels. Each level has twice the places of the one before. No level is filled beyond a
//! quarter, because searches become long in a fuller one when many handles come and go. Programs have few handles at
//! a time, so hardly any is beyond the first level.
//!
//! A place that was freed is distinguished from one that was never taken, as long as handles may lie behind it. So
//! however many handles come and go, a search is as short as the handles that are present allow.

use crate::comms::Comm;
use crate::host::Host;
use headwater_model::hash::mix;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Places of the first level; a power of two, as in all levels.
const FIRST: usize = 1024;

/// A place.
struct Place {
    /// The handle, [`EMPTY`] or [`GONE`].
    handle: AtomicU64,
    comm: AtomicPtr<Comm>,
}

/// The handle of a place that was never taken, or that no handle lies behind.
const EMPTY: u64 = 0;
/// The handle of a place that was freed.
const GONE: u64 = u64::MAX;

impl Place {
    /// One that is free.
    const fn new() -> Self {
        Self {
            handle: AtomicU64::new(EMPTY),
            comm: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// Communicators by their handles.
pub struct Handles {
    first: Box<[Place]>,
    /// The second level; null for none.
    more: AtomicPtr<Level>,
}

/// A further level.
struct Level {
    places: Box<[Place]>,
    next: AtomicPtr<Level>,
}

/// How many places of each level are taken. Only the owner of this may change places.
pub struct Taken(Vec<usize>);

impl Handles {
    /// None yet.
    pub fn new() -> Self {
        Self {
            first: (0..FIRST).map(|_| Place::new()).collect(),
            more: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The communicator behind a handle.
    #[inline]
    pub fn find(&self, handle: u64) -> Option<&'static Comm> {
        let place = position(&self.first, handle).and_then(|at| self.first.get(at));
        let place = place.or_else(|| self.beyond(handle))?;
        // SAFETY: leaked memory, which is used again only after the communicator was freed. The program must not free
        // it while it uses the handle.
        unsafe { place.comm.load(Ordering::Relaxed).as_ref() }
    }

    /// The place of a handle on a further level.
    #[inline]
    fn beyond(&self, handle: u64) -> Option<&Place> {
        let mut next = &self.more;
        // SAFETY: null, or a leaked level.
        while let Some(level) = unsafe { next.load(Ordering::Acquire).as_ref() } {
            if let Some(at) = position(&level.places, handle) {
                return level.places.get(at);
            }
            next = &level.next;
        }
        None
    }

    /// Levels from the first on.
    fn levels(&self) -> impl Iterator<Item = &[Place]> {
        let mut next = &self.more;
        let more = std::iter::from_fn(move || {
            // SAFETY: null, or a leaked level.
            let level = unsafe { next.load(Ordering::Acquire).as_ref() }?;
            next = &level.next;
            Some(&*level.places)
        });
        std::iter::once(&*self.first).chain(more)
    }

    /// Adds a level. Returns whether there is memory for one.
    fn grow(&self, host: &dyn Host) -> bool {
        let count = 2 * self.levels().last().map_or(0, <[Place]>::len);
        if !host.has_room(2 * count * size_of::<Place>()) {
            return false;
        }
        let places = (0..count).map(|_| Place::new()).collect();
        let level = Box::into_raw(Box::new(Level {
            places,
            next: AtomicPtr::new(std::ptr::null_mut()),
        }));
        let mut last = &self.more;
        // SAFETY: null, or a leaked level.
        while let Some(level) = unsafe { last.load(Ordering::Acquire).as_ref() } {
            last = &level.next;
        }
        last.store(level, Ordering::Release);
        true
    }
}

/// Where a handle is among the places of a level.
#[inline]
fn position(places: &[Place], handle: u64) -> Option<usize> {
    let mask = places.len().wrapping_sub(1);
    let mut at = mix(handle) as usize & mask;
    for _ in 0..places.len() {
        match places.get(at)?.handle.load(Ordering::Acquire) {
            EMPTY => return None,
            found if found == handle => return Some(at),
            _ => at = (at + 1) & mask,
        }
    }
    None
}

/// Puts a handle into the first free place.
fn put(places: &[Place], handle: u64, comm: *mut Comm) -> bool {
    let mask = places.len().wrapping_sub(1);
    let first = mix(handle) as usize;
    let mut all = (0..places.len()).filter_map(|i| places.get(first.wrapping_add(i) & mask));
    let free = all.find(|p| [EMPTY, GONE].contains(&p.handle.load(Ordering::Relaxed)));
    if let Some(place) = free {
        place.comm.store(comm, Ordering::Relaxed);
        place.handle.store(handle, Ordering::Release);
    }
    free.is_some()
}

/// Frees a place, and with it those freed earlier that no handle lies behind any more. A thread that searches
/// meanwhile for a handle behind them finds the end one place earlier.
fn give_up(places: &[Place], at: usize) -> Option<*mut Comm> {
    let mask = places.len().wrapping_sub(1);
    let place = places.get(at)?;
    let comm = place.comm.load(Ordering::Relaxed);
    place.handle.store(GONE, Ordering::Release);
    let (mut at, mut behind) = (at, places.get((at + 1) & mask)?);
    while behind.handle.load(Ordering::Relaxed) == EMPTY {
        let place = places.get(at)?;
        if place.handle.load(Ordering::Relaxed) != GONE {
            break;
        }
        place.handle.store(EMPTY, Ordering::Release);
        (at, behind) = (at.wrapping_sub(1) & mask, place);
    }
    Some(comm)
}

impl Taken {
    /// None is.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds a communicator. A handle that comes again means the newer one. Adds nothing if there is no memory for
    /// another level.
    pub fn insert(&mut self, all: &Handles, handle: u64, comm: *mut Comm, host: &dyn Host) {
        for places in all.levels() {
            if let Some(place) = position(places, handle).and_then(|at| places.get(at)) {
                place.comm.store(comm, Ordering::Release);
                return;
            }
        }
        for (level, places) in all.levels().enumerate() {
            if self.0.len() == level {
                self.0.push(0);
            }
            if let Some(taken) = self.0.get_mut(level).filter(|t| **t < places.len() / 4)
                && put(places, handle, comm)
            {
                *taken += 1;
                return;
            }
        }
        if all.grow(host) {
            self.insert(all, handle, comm, host);
        }
    }

    /// Removes a communicator. Returns its memory, which nobody uses any more.
    pub fn remove(&mut self, all: &Handles, handle: u64) -> Option<*mut Comm> {
        for (level, places) in all.levels().enumerate() {
            if let Some(at) = position(places, handle) {
                if let Some(taken) = self.0.get_mut(level) {
                    *taken = taken.saturating_sub(1);
                }
                return give_up(places, at);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comm(number: u64) -> *mut Comm {
        std::ptr::without_provenance_mut(number as usize)
    }

    /// How many places are looked at for a handle that is not there, at the most.
    fn longest_search(places: &[Place]) -> usize {
        let free = |i: usize| places[i % places.len()].handle.load(Ordering::Relaxed) == EMPTY;
        let searches = (0..places.len()).map(|i| (i..).take_while(|i| !free(*i)).count());
        searches.max().expect("there are places")
    }

    #[test]
    fn a_search_stays_short_however_many_come_and_go() {
        let places: Vec<Place> = (0..FIRST).map(|_| Place::new()).collect();
        // One at a time leaves nothing behind.
        for handle in 1..5000 {
            assert!(put(&places, handle, comm(handle)));
            let at = position(&places, handle).expect("it is there");
            assert_eq!(give_up(&places, at), Some(comm(handle)));
            assert_eq!(position(&places, handle), None);
        }
        assert_eq!(longest_search(&places), 0);
        // As many at a time as a level takes, the oldest of which goes whenever one comes.
        let most = FIRST as u64 / 4;
        for handle in 1..20_000 {
            if handle > most {
                let at = position(&places, handle - most).expect("the oldest is there");
                give_up(&places, at);
            }
            assert!(put(&places, handle, comm(handle)));
        }
        let there = (20_000 - most..20_000).all(|h| position(&places, h).is_some());
        assert!(there);
        let longest = longest_search(&places);
        assert!(longest < FIRST / 8, "{longest}");
    }

    #[test]
    fn thousands_may_be_there_at_once() {
        let (all, mut taken) = (Handles::new(), Taken::none());
        let mine = |h: u64| h << 20 | 7;
        (1..5000).for_each(|h| taken.insert(&all, mine(h), comm(8 * h), &crate::tests::Nobody));
        let at = |h| {
            let place = position(&all.first, mine(h)).and_then(|at| all.first.get(at));
            let place = place.or_else(|| all.beyond(mine(h)));
            place.map(|p| p.comm.load(Ordering::Relaxed))
        };
        assert!((1..5000).all(|h| at(h) == Some(comm(8 * h))));
        for h in (1..5000).filter(|h| h % 3 != 0) {
            assert_eq!(taken.remove(&all, mine(h)), Some(comm(8 * h)));
        }
        assert!((1..5000).all(|h| at(h).is_some() == (h % 3 == 0)));
        // A handle that comes again means the newer one.
        taken.insert(&all, mine(3), comm(80), &crate::tests::Nobody);
        assert_eq!(at(3), Some(comm(80)));
        assert_eq!(taken.remove(&all, mine(3)), Some(comm(80)));
        assert_eq!(at(3), None);
        (1..5000).for_each(|h| {
            taken.remove(&all, mine(h));
        });
        assert!(taken.0.iter().all(|t| *t == 0));
    }
}
