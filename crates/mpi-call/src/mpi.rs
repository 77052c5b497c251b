//! What is known about MPI in one process, from the beginning of recording on.

use crate::comms::Comms;
use crate::host::Host;
use crate::library::Library;
use crate::messages::{Exclusive, Messages, Shared};
use crate::shape::Shape;
use headwater_mpi_abi::FUNCTIONS;
use std::sync::Once;

/// The library, the communicators and the messages of a process.
pub struct Mpi {
    /// The library.
    pub library: &'static Library,
    /// This process's rank in the world.
    pub rank: u32,
    /// Ranks of the world.
    pub size: u32,
    /// Communicators, and what is treated as one.
    pub comms: Comms,
    messages: Shared<Messages>,
    shapes: Vec<Shape>,
    /// Says once that calls were not counted.
    uncounted: Once,
    /// Says once that processes were started.
    pub(crate) spawned: Once,
    /// The process.
    pub(crate) host: &'static dyn Host,
}

impl Mpi {
    /// What is known when rank `rank` of `size` begins, which has sent nothing yet; `threaded` says whether threads may
    /// call MPI at the same time.
    pub fn new(
        library: &'static Library,
        rank: u32,
        size: u32,
        threaded: bool,
        host: &'static dyn Host,
    ) -> Self {
        Self {
            library,
            rank,
            size,
            comms: Comms::new(library, size, host),
            messages: Shared::new(Messages::new(rank, threaded, host), threaded),
            shapes: FUNCTIONS.iter().map(Shape::new).collect(),
            uncounted: Once::new(),
            spawned: Once::new(),
            host,
        }
    }

    /// The messages, for the calling thread alone. A thread that holds them must not ask for them again.
    #[inline]
    pub(crate) fn messages(&self) -> Exclusive<'_, Messages> {
        self.messages.lock()
    }

    /// Where the arguments of a function are.
    #[inline]
    pub fn shape(&self, function: u16) -> Option<&Shape> {
        self.shapes.get(usize::from(function))
    }

    /// A thread that is not recorded has called MPI. Its messages have no numbers, so the numbers of all later messages
    /// of the process are not valid.
    #[cold]
    pub fn uncounted_from_now_on(&self) {
        self.uncounted.call_once(|| {
            let mut m = self.messages();
            (m.sends_lost, m.receives_lost) = (true, true);
            drop(m);
            self.host.say(
                "There was no room to record all threads that called MPI: their calls are missing, and the ends of later messages of the process were not joined.",
            );
        });
    }
}
