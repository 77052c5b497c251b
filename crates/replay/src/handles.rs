//! Handles of the library by their numbers in the trace.

use crate::library::Mpi;
use headwater_mpi_abi::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

/// All handles that the replay has.
#[derive(Debug)]
pub struct Handles<'a> {
    mpi: &'a Mpi,
    /// Each in a place that stays where it is: a call that does not block may write it later.
    made: FxHashMap<(Kind, i64), Box<[u64; 1]>>,
    /// Those that calls are about to make: the library may have written the handle, but nothing may use it yet.
    begun: FxHashSet<(Kind, i64)>,
}

impl<'a> Handles<'a> {
    /// The predefined ones.
    pub fn new(mpi: &'a Mpi) -> Self {
        Self {
            mpi,
            made: FxHashMap::default(),
            begun: FxHashSet::default(),
        }
    }

    /// Bytes of a handle in memory.
    pub fn bytes(&self, kind: Kind) -> usize {
        // A file's handle is an address in every library.
        if kind == Kind::File {
            8
        } else {
            self.mpi.abi.handle_bytes
        }
    }

    /// The null handle.
    pub fn null(&self, kind: Kind) -> u64 {
        let null = headwater_mpi_abi::constants::NULL;
        self.mpi.predefined(kind, null).unwrap_or(0)
    }

    /// What is in memory of a handle's size.
    pub fn stored(&self, kind: Kind, word: u64) -> u64 {
        if self.bytes(kind) == 4 {
            word & 0xffff_ffff
        } else {
            word
        }
    }

    /// The handle of a number.
    #[inline]
    pub fn get(&self, kind: Kind, number: i64) -> Option<u64> {
        if let Some([word]) = self.made.get(&(kind, number)).map(|place| **place) {
            return Some(self.stored(kind, word));
        }
        self.mpi.predefined(kind, number)
    }

    /// Whether calls have made a handle with this number, and have returned.
    pub fn has(&self, kind: Kind, number: i64) -> bool {
        let place = self.made.get(&(kind, number));
        let place = place.filter(|_| !self.begun.contains(&(kind, number)));
        place.is_some_and(|place| self.stored(kind, place[0]) != self.null(kind))
    }

    /// The place of a handle, which the library may write; a new one has the null handle.
    pub fn place(&mut self, kind: Kind, number: i64) -> &mut [u64] {
        let null = self.null(kind);
        let place = self.made.entry((kind, number));
        place.or_insert_with(|| Box::new([null])).as_mut()
    }

    /// A call begins that makes what has this number from now on. Returns the place for its handle.
    pub fn begin(&mut self, kind: Kind, number: i64) -> &mut [u64] {
        self.remove(kind, number);
        self.begun.insert((kind, number));
        self.place(kind, number)
    }

    /// It is made.
    pub fn finish(&mut self, kind: Kind, number: i64) {
        self.begun.remove(&(kind, number));
    }

    /// Something has this number from now on.
    pub fn set(&mut self, kind: Kind, number: i64, handle: u64) {
        self.made.insert((kind, number), Box::new([handle]));
    }

    /// What had this number exists no longer.
    pub fn remove(&mut self, kind: Kind, number: i64) {
        self.made.remove(&(kind, number));
        self.begun.remove(&(kind, number));
    }
}
