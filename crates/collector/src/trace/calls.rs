//! The calls that a thread made lately, and the one that it is in, in a file that stays whatever ends the process
//! (`headwater_trace::open`).
//!
//! So the call in which a rank hangs is known, although it becomes an event only when it returns. If there is no room for
//! the file, all this is in memory of the process, and that call is not known.

use crate::storage::spool::map_new;
use crate::trace::gate::Gate;
use crate::trace::kept;
use headwater_mpi_call::parameters::Memo;
use headwater_trace::file::Whose;
use headwater_trace::open::{About, Head, MAGIC};
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// So many calls are remembered, a power of two.
const REMEMBERED: usize = 64;

/// No signature.
pub const UNKNOWN: u32 = u32::MAX;

/// A call that was made before. What each call looks at comes first: the program's own computation may have driven all of
/// it from the caches.
#[repr(C, align(64))]
pub struct Remembered {
    /// Its function and calling context.
    pub key: u64,
    /// [`UNKNOWN`] if there is no memory for it.
    pub signature: u32,
    /// What it has said.
    pub memo: Memo,
    /// For whoever reads the file.
    pub about: About,
}

/// What is in the file.
#[repr(C)]
struct Mapped {
    head: Head,
    /// For the keeper alone: readers of the file ignore it.
    held: AtomicU32,
    places: [Remembered; REMEMBERED],
}

/// The calls of a thread.
pub struct Calls {
    /// Lives as long as the process. None before the first call: a thread may begin while others must wait for the spool,
    /// and its name is needed.
    places: Option<&'static mut [Remembered; REMEMBERED]>,
    gate: Option<Gate>,
    /// As it is written first, with the number of calls begun since.
    head: Head,
    whose: Whose,
}

impl Remembered {
    const NOTHING: Self = Self {
        key: u64::MAX,
        signature: UNKNOWN,
        memo: Memo::NOTHING,
        about: About::NOTHING,
    };
}

impl Calls {
    /// None yet, of a thread of this rank.
    pub fn new(whose: Whose, rank: u32, size: u32, thread: u32) -> Self {
        let entry = |at: usize| (offset_of!(Remembered, memo) + at) as u32;
        let head = Head {
            magic: MAGIC,
            current: 0,
            rank,
            size,
            thread,
            entries_at: offset_of!(Mapped, places) as u32,
            entry_bytes: size_of::<Remembered>() as u32,
            fields_at: entry(Memo::FIELDS_AT),
            values_at: entry(Memo::VALUES_AT),
            about_at: offset_of!(Remembered, about) as u32,
            begun: 0,
        };
        Self {
            places: None,
            gate: None,
            head,
            whose,
        }
    }

    /// Makes the file, if there is none. Returns the gate of a new one.
    #[cold]
    pub fn make_room(&mut self) -> Option<Gate> {
        if self.places.is_some() {
            return None;
        }
        let bytes = size_of::<Mapped>();
        let file = kept::path_of_call(self.whose).and_then(|path| map_new(&path, bytes));
        let at = file.map_or_else(
            || NonNull::from(Box::leak(Box::<Mapped>::new_uninit())).cast(),
            |file| file.cast::<Mapped>(),
        );
        // SAFETY: fresh memory of this size, which begins with a page or is as the allocator aligns it, which nobody else
        // has and nobody frees. All of it is written before the references to it are made, and these are to different
        // parts of it.
        let (places, gate) = unsafe {
            let at = at.as_ptr();
            (&raw mut (*at).places).write([const { Remembered::NOTHING }; REMEMBERED]);
            (&raw mut (*at).head).write(self.head);
            (&raw mut (*at).held).write(AtomicU32::new(0));
            let state = (&raw mut (*at).head).byte_add(Head::STATE_AT);
            let gate = Gate::new(AtomicU64::from_ptr(state.cast()), &(*at).held);
            (&mut (*at).places, gate)
        };
        self.places = Some(places);
        self.gate = Some(gate);
        self.gate
    }

    /// The number of the place of a call.
    #[inline]
    pub fn place(mixed: u64) -> usize {
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % REMEMBERED
    }

    /// What is at a place.
    #[inline]
    pub fn at(&mut self, place: usize) -> Option<&mut Remembered> {
        self.places.as_mut()?.get_mut(place)
    }

    /// The call at a place begins. From here on, the keeper may have what records the thread's events.
    #[inline]
    pub fn begin(&mut self, place: usize) {
        self.head.begun = self.head.begun.wrapping_add(1);
        if let Some(gate) = &self.gate {
            gate.open(Head::state(place as u32 + 1, self.head.begun));
        }
    }

    /// It has ended. What records the thread's events is the thread's own again.
    #[inline]
    pub fn end(&mut self) {
        if let Some(gate) = &self.gate {
            gate.close(Head::state(0, self.head.begun));
        }
    }

    /// The thread has left it by an exception: it becomes no event.
    pub fn leave(&mut self) {
        self.head.begun = self.head.begun.wrapping_sub(1);
        self.end();
    }

    /// The thread calls MPI no more.
    pub fn finish(&mut self) {
        self.end();
        if let Some(path) = kept::path_of_call(self.whose) {
            let _ = std::fs::remove_file(path);
        }
    }
}
