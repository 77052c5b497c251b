//! Requests: what a handle refers to until it is completed (ScalAna, Figure 5).
//!
//! The streams of messages, whose numbers identify the messages, are here too.

use crate::host::Host;
use headwater_model::hash::mix;

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Sends.
    Send,
    /// Receives.
    Recv,
    /// Moves a message that a probe has matched.
    Matched,
    /// Takes part in a collective.
    Collective,
}

/// A request.
#[derive(Clone, Copy)]
pub struct Request {
    /// Its number, in the order in which the process made them; given by [`Requests::insert`].
    pub made: u64,
    /// Its handle.
    pub handle: u64,
    /// What it does.
    pub work: Work,
    /// Whether it can be started again.
    pub persistent: bool,
    /// Whether it is active. A persistent request is inactive between its completion and its next start.
    pub active: bool,
    /// Whether the program asked to cancel it, which may or may not have succeeded.
    pub cancelled: bool,
    /// Handle of its communicator.
    pub comm: u64,
    /// Function that made it, and index of its communicator.
    pub made_by: (u16, u16),
    /// Partner as the program passed it, a rank of the communicator.
    pub peer: i32,
    /// Tag as the program passed it.
    pub tag: i32,
    /// Bytes.
    pub bytes: u64,
    /// Id of the message or of the instance of the collective; 0 until it is known.
    pub id: u64,
    /// World rank of the root of a collective.
    pub root: u32,
    /// Context and clock of the posting call.
    pub post: (u32, u64),
    /// Thread that posted it; the context in `post` is one of this thread's.
    pub thread: u32,
}

/// Requests of a process: open addressing with backward shift on removal.
///
/// While one thread leaves the call that completed a request, another thread may get the same handle for a new
/// request. So each request has a number, and the earlier one is set aside until its thread asks for it.
pub struct Requests {
    places: Vec<Option<Request>>,
    used: usize,
    /// How many were made so far.
    pub made: u64,
    aside: Vec<Request>,
    /// Whether threads may call MPI at the same time.
    threaded: bool,
    host: &'static dyn Host,
}

/// The most requests that are set aside. One that no thread asks for was completed in a way that is not seen.
const MOST_ASIDE: usize = 64;

impl Requests {
    /// No requests; `threaded` says whether threads may call MPI at the same time.
    pub fn new(threaded: bool, host: &'static dyn Host) -> Self {
        Self {
            places: vec![None; 1024],
            used: 0,
            made: 0,
            aside: Vec::with_capacity(MOST_ASIDE),
            threaded,
            host,
        }
    }

    fn start(&self, handle: u64) -> usize {
        mix(handle) as usize & (self.places.len() - 1)
    }

    fn position(&self, handle: u64) -> Option<usize> {
        let mask = self.places.len() - 1;
        let mut at = self.start(handle);
        while let Some(Some(r)) = self.places.get(at) {
            if r.handle == handle {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// The request behind a handle.
    #[inline]
    pub fn get(&mut self, handle: u64) -> Option<&mut Request> {
        let at = self.position(handle)?;
        self.places.get_mut(at)?.as_mut()
    }

    /// Makes room by doubling, which is rare.
    #[cold]
    fn grow(&mut self) {
        if !self.host.has_room(4 * size_of_val(self.places.as_slice())) {
            self.host.stop();
            self.places.fill(None);
            self.used = 0;
            return;
        }
        let old = std::mem::take(&mut self.places);
        self.places = vec![None; 2 * old.len()];
        self.used = 0;
        old.into_iter().flatten().for_each(|r| self.place(r));
    }

    /// Adds a request. Always inlined, so that it is made in its place: copying what was just written field by field
    /// would wait for all pending stores of the processor.
    #[inline(always)]
    pub fn insert(&mut self, request: Request) {
        self.made += 1;
        let made = self.made;
        self.place(Request { made, ..request });
    }

    /// Sets the request in this place aside, until its thread asks for it.
    #[cold]
    fn step_aside(&mut self, at: usize) {
        if let Some(Some(old)) = self.places.get(at).filter(|_| self.threaded) {
            if self.aside.len() == MOST_ASIDE {
                self.aside.remove(0);
            }
            self.aside.push(*old);
        }
    }

    /// Returns the request that a call has completed; `made` requests had been made when the call began. A persistent
    /// request becomes inactive, any other is removed.
    #[inline]
    pub fn finish(&mut self, handle: u64, made: u64) -> Option<Request> {
        let found = self.get(handle).filter(|r| r.made <= made);
        let Some(known) = found else {
            return self.take_from_aside(handle, made);
        };
        let request = *known;
        (known.active, known.cancelled) = (false, false);
        if !request.persistent {
            self.remove(handle);
        }
        Some(request)
    }

    #[cold]
    fn take_from_aside(&mut self, handle: u64, made: u64) -> Option<Request> {
        let its = |r: &Request| r.handle == handle && r.made <= made;
        let at = self.aside.iter().position(its)?;
        Some(self.aside.remove(at))
    }

    #[inline(always)]
    fn place(&mut self, request: Request) {
        if 2 * self.used >= self.places.len() {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = self.start(request.handle);
        while let Some(Some(r)) = self.places.get(at) {
            if r.handle == request.handle {
                self.step_aside(at);
                break;
            }
            at = (at + 1) & mask;
        }
        if let Some(place) = self.places.get_mut(at) {
            self.used += usize::from(place.is_none());
            *place = Some(request);
        }
    }

    /// Removes a request.
    #[inline]
    pub fn remove(&mut self, handle: u64) {
        let Some(mut hole) = self.position(handle) else {
            return;
        };
        let mask = self.places.len() - 1;
        let mut at = hole;
        if let Some(place) = self.places.get_mut(hole) {
            *place = None;
        }
        self.used -= 1;
        loop {
            at = (at + 1) & mask;
            let Some(Some(r)) = self.places.get(at) else {
                return;
            };
            let home = self.start(r.handle);
            // Moves back only an entry that a search would not find across the hole.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places.swap(hole, at);
                hole = at;
            }
        }
    }
}

/// The most streams: a program that uses each tag only once would fill the memory with them.
const MOST_STREAMS: usize = 1 << 16;

/// Replaces the last number of a stream whose ends no longer count the same.
const LOST: u64 = u64::MAX;

/// Sequence numbers of messages in one direction of one (communicator, partner, tag).
pub struct Streams {
    places: Vec<(u64, u64)>,
    used: usize,
    /// Whether there were more streams than fit.
    pub full: bool,
    some_lost: bool,
    host: &'static dyn Host,
}

impl Streams {
    /// No messages yet.
    pub fn new(host: &'static dyn Host) -> Self {
        Self {
            places: vec![(0, 0); 1024],
            used: 0,
            full: false,
            some_lost: false,
            host,
        }
    }

    fn place(&mut self, stream: u64) -> Option<&mut (u64, u64)> {
        let key = stream | 1;
        let mask = self.places.len() - 1;
        let mut at = mix(key) as usize & mask;
        while self
            .places
            .get(at)
            .is_some_and(|p| ![0, key].contains(&p.0))
        {
            at = (at + 1) & mask;
        }
        self.places.get_mut(at).filter(|p| p.0 == key)
    }

    /// Takes a number of a stream back if it `is_last`, because its message will not come. If later numbers were used
    /// since, they no longer match those of the sender: no more messages of the stream are known.
    #[cold]
    pub fn take_back(&mut self, stream: u64, is_last: impl FnOnce(u64) -> bool) {
        let Some(place) = self.place(stream).filter(|p| p.1 != LOST) else {
            return;
        };
        let last = is_last(place.1);
        place.1 = if last { place.1 - 1 } else { LOST };
        self.some_lost |= !last;
    }

    /// Whether the numbers of a stream are no longer valid.
    #[inline]
    pub fn lost(&mut self, stream: u64) -> bool {
        self.some_lost && self.place(stream).is_some_and(|p| p.1 == LOST)
    }

    /// The number of the next message of a stream, from 1; 0 if it is not known.
    #[inline]
    pub fn next(&mut self, stream: u64) -> u64 {
        let key = stream | 1;
        let mask = self.places.len() - 1;
        let mut at = mix(key) as usize & mask;
        while let Some(place) = self.places.get_mut(at) {
            if place.0 == key {
                if place.1 == LOST {
                    return 0;
                }
                place.1 += 1;
                return place.1;
            }
            if place.0 == 0 {
                if self.used == MOST_STREAMS {
                    self.full = true;
                    return 0;
                }
                *place = (key, 1);
                self.used += 1;
                if 2 * self.used > self.places.len() {
                    self.grow();
                }
                return 1;
            }
            at = (at + 1) & mask;
        }
        0
    }

    #[cold]
    fn grow(&mut self) {
        if !self.host.has_room(4 * size_of_val(self.places.as_slice())) {
            self.host.stop();
            self.places.fill((0, 0));
            self.used = 0;
            return;
        }
        let old = std::mem::take(&mut self.places);
        self.places = vec![(0, 0); 2 * old.len()];
        let mask = self.places.len() - 1;
        for (key, n) in old.into_iter().filter(|p| p.0 != 0) {
            let mut at = mix(key) as usize & mask;
            while self.places.get(at).is_some_and(|p| p.0 != 0) {
                at = (at + 1) & mask;
            }
            if let Some(place) = self.places.get_mut(at) {
                *place = (key, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_after_others_are_removed() {
        let mut requests = Requests::new(false, &crate::tests::Nobody);
        let request = |handle| Request {
            made: 0,
            handle,
            work: Work::Send,
            persistent: false,
            active: true,
            cancelled: false,
            comm: 0,
            made_by: (0, u16::MAX),
            peer: 0,
            tag: 0,
            bytes: handle,
            id: 0,
            root: 0,
            post: (0, 0),
            thread: 0,
        };
        (1..5000).for_each(|h| requests.insert(request(h)));
        (1..5000)
            .filter(|h| h % 3 == 0)
            .for_each(|h| requests.remove(h));
        for h in 1..5000 {
            assert_eq!(requests.get(h).map(|r| r.bytes), (h % 3 != 0).then_some(h));
        }
    }

    #[test]
    fn streams_count_each_for_itself() {
        let mut streams = Streams::new(&crate::tests::Nobody);
        for round in 1..4 {
            for s in (0..4000u64).map(|s| s * 2) {
                assert_eq!(streams.next(s), round);
            }
        }
    }

    #[test]
    fn streams_do_not_fill_the_memory() {
        let mut streams = Streams::new(&crate::tests::Nobody);
        let known = (0..80_000u64).filter(|s| streams.next(s * 2) == 1).count();
        assert_eq!((known, streams.full), (MOST_STREAMS, true));
        assert_eq!(streams.next(0), 2, "those that are known go on");
    }

    #[test]
    fn only_the_last_number_can_be_taken_back() {
        let mut streams = Streams::new(&crate::tests::Nobody);
        assert_eq!((streams.next(8), streams.next(8)), (1, 2));
        streams.take_back(8, |n| n == 2);
        assert_eq!(streams.next(8), 2);
        streams.take_back(8, |n| n == 1);
        assert!(streams.lost(8) && !streams.lost(6));
        assert_eq!(streams.next(8), 0);
    }
}
