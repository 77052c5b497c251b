//! Frames of an interpreter, in place of those of its own code.
//!
//! Paths that are equal on the machine's stack may differ in the interpreter, which runs many functions in one frame of
//! its own. So a known path that leads through the interpreter also has the interpreter's mark.

use crate::unwind::{DEEPEST, Path};

/// The addresses of a path in which the interpreter's frames are, innermost first.
pub struct Spliced {
    /// Addresses.
    pub frames: [u64; DEEPEST],
    /// How many; 0 if the path remains what it is.
    pub len: usize,
}

impl Spliced {
    /// No frames.
    pub const fn new() -> Self {
        Self {
            frames: [0; DEEPEST],
            len: 0,
        }
    }

    /// Adds a frame. Returns `false` if there is no more room.
    pub fn put(&mut self, address: u64) -> bool {
        let place = self.frames.get_mut(self.len);
        let fits = place.is_some();
        if let Some(place) = place {
            *place = address;
            self.len += 1;
        }
        fits
    }
}

impl Default for Spliced {
    fn default() -> Self {
        Self::new()
    }
}

/// The interpreter that may be in the process, for one thread.
pub trait Interpreter {
    /// A word for what the interpreter runs on the calling thread, which has just made a call from below the
    /// interpreter's own code; never 0. `leaves` says that another thread may be unloading a library, so nothing may be
    /// read directly that is in one.
    fn mark(&mut self, leaves: bool) -> u64;

    /// Prepares for [`Interpreter::splice`]. This may allocate: neither the signal handler calls it nor a call that may
    /// come from the program's allocator.
    fn prepare(&mut self);

    /// Puts the path with the interpreter's frames into `out`, which is empty and remains so if none are known. Returns
    /// whether the path leads through the interpreter. The signal handler calls this too.
    fn splice(&mut self, path: &Path, out: &mut Spliced) -> bool;

    /// Whether an address is a frame of the interpreter.
    fn is_frame(address: u64) -> bool;
}

/// No interpreter.
impl Interpreter for () {
    fn mark(&mut self, _leaves: bool) -> u64 {
        1
    }

    fn prepare(&mut self) {}

    fn splice(&mut self, _path: &Path, _out: &mut Spliced) -> bool {
        false
    }

    fn is_frame(_address: u64) -> bool {
        false
    }
}
