//! Lets a long computation ask now and then whether to end early.

/// Asks whether the computation should end.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// Never ends early.
pub const NEVER: Interrupted<'static> = &|| false;

/// Steps between two questions; they take some milliseconds.
const EVERY: u32 = 4096;

/// Counts the steps of a loop.
pub struct Ask<'a> {
    interrupted: Interrupted<'a>,
    left: u32,
}

impl<'a> Ask<'a> {
    /// Counts from 0; `interrupted` says whether the computation should end.
    pub fn new(interrupted: Interrupted<'a>) -> Self {
        let left = EVERY;
        Self { interrupted, left }
    }

    /// Counts one step; returns whether the computation should end.
    pub fn ends(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = EVERY;
        (self.interrupted)()
    }
}
