//! A thread's part in OpenMP regions: in which one it is, and whether it works, waits or has no work.
//!
//! A thread may begin regions inside others, to a depth of [`DEPTH`]; deeper ones are not seen. Between two regions,
//! a thread of a team has no work. Whatever the runtime does on it then, asleep or not, is not sampled.

mod moves;

use crate::threads::{
    region::{Level, Part, Region},
    team::{Arrival, Stretch},
};
use headwater_call_path::{NONE, Root};

/// Regions inside one another that are seen.
const DEPTH: usize = 8;

/// What a thread waits for.
#[derive(Clone, Copy)]
enum Waiting {
    /// It does not.
    No,
    /// Its team, at a barrier.
    Barrier(Arrival),
    /// Its team, at the end of the region.
    End(&'static Part),
    /// Something else. The number is the time of the tasks that it has done meanwhile, nanoseconds.
    Else(u64),
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct Now {
    region: Option<&'static Region>,
    /// The call that began the region, of the thread's own contexts.
    team: u32,
    /// Barriers of the region that it has left.
    barriers: u32,
    waiting: Waiting,
    /// It has no work until the runtime gives it another part.
    idle: bool,
}

/// What is restored at the end of a part.
#[derive(Clone, Copy)]
struct Frame {
    before: Now,
    outer: Stretch,
    root: Root,
    /// Where on the stack the part began.
    stack_pointer: u64,
}

/// A thread's part in regions.
pub struct RegionState {
    levels: [Option<&'static Level>; DEPTH],
    frames: [Option<Frame>; DEPTH],
    depth: usize,
    now: Now,
    /// The events whose beginning a runtime has reported.
    pub reported: Reported,
}

/// A wait of another kind than barriers, for [`RegionState::end_waiting`].
#[derive(Clone, Copy)]
pub struct Before(Waiting);

/// A task, for `Thread::end_task`.
#[derive(Clone, Copy)]
pub struct Task {
    before: Now,
    /// When it began, and how long the thread had waited for others until then.
    start: (u64, u64),
}

impl RegionState {
    /// In no region.
    pub const fn new() -> Self {
        Self {
            levels: [None; DEPTH],
            frames: [None; DEPTH],
            depth: 0,
            now: Now {
                region: None,
                team: NONE,
                barriers: 0,
                waiting: Waiting::No,
                idle: false,
            },
            reported: Reported::new(),
        }
    }

    /// The thread has ended, wherever it was. Another thread may continue with what was allocated.
    pub fn forget(&mut self) {
        let levels = self.levels;
        *self = Self {
            levels,
            ..Self::new()
        };
    }

    /// Regions that the thread is in.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The call that began the region, of the thread's own contexts.
    pub fn team(&self) -> u32 {
        self.now.team
    }

    /// Whether the thread waits for the runtime to give it a part of a region.
    pub fn idle(&self) -> bool {
        self.now.idle
    }

    /// Whether this thread, whose number this is, began the innermost region.
    pub fn began_by(&self, number: u32) -> bool {
        self.depth > 0 && self.now.region.is_some_and(|r| r.origin().thread == number)
    }

    /// What is needed at this depth.
    pub fn level(&mut self) -> Option<&'static Level> {
        self.level_at(self.depth)
    }

    fn level_at(&mut self, depth: usize) -> Option<&'static Level> {
        let place = self.levels.get_mut(depth)?;
        Some(place.get_or_insert_with(|| Box::leak(Box::new(Level::new()))))
    }

    /// A wait begins in which the runtime may do tasks.
    pub fn begin_waiting(&mut self) -> Before {
        Before(std::mem::replace(&mut self.now.waiting, Waiting::Else(0)))
    }

    /// Such a wait ends. Returns how much of it was spent in tasks, nanoseconds.
    pub fn end_waiting(&mut self, before: Before) -> u64 {
        match std::mem::replace(&mut self.now.waiting, before.0) {
            Waiting::Else(worked) => worked,
            _ => 0,
        }
    }
}

impl RegionState {
    /// Whether the thread's part of the innermost region is done.
    pub fn is_done(&self) -> bool {
        matches!(self.now.waiting, Waiting::End(_))
    }

    /// What is restored at the end of the innermost part.
    fn frame(&self) -> Option<Frame> {
        let at = self.depth.checked_sub(1)?;
        self.frames.get(at).copied().flatten()
    }
}

/// The first of a pair of events.
#[derive(Clone, Copy)]
pub enum Begun {
    /// Context of the barrier.
    Barrier(u32),
    /// A wait that began at this clock.
    Wait(Before, u64),
    /// A task, and the root of call paths before it.
    Task(Task, Root),
}

/// The events whose beginning was reported to a thread.
pub struct Reported {
    open: [Option<Begun>; 32],
    pub count: usize,
    /// Since when it wants a lock, 0 if it only tries; and whether the lock seemed free.
    pub wanted: (u64, bool),
}

impl Reported {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            open: [None; 32],
            count: 0,
            wanted: (0, false),
        }
    }

    /// Stores the first of a pair.
    pub fn push(&mut self, begun: Option<Begun>) {
        if let Some(place) = self.open.get_mut(self.count) {
            *place = begun;
        }
        self.count += 1;
    }

    /// The last one that is open ends.
    pub fn pop(&mut self) -> Option<Begun> {
        self.count = self.count.saturating_sub(1);
        self.open.get(self.count).copied().flatten()
    }
}
