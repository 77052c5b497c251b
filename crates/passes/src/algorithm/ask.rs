//! Whether to end early: what takes long asks now and then.

/// Asks whether the caller wants no more.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// Goes on to the end.
pub const NEVER: Interrupted<'static> = &|| false;

/// Steps between two questions: some milliseconds.
const EVERY: u32 = 4096;

/// Counts the steps of a loop.
pub(crate) struct Ask<'a> {
    interrupted: Interrupted<'a>,
    left: u32,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(interrupted: Interrupted<'a>) -> Self {
        let left = EVERY;
        Self { interrupted, left }
    }

    /// One step more; whether it is the last.
    pub(crate) fn ends(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = EVERY;
        (self.interrupted)()
    }
}
