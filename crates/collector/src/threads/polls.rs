//! Series of idle polls.
//!
//! Programs that ask for messages millions of times a second, by `MPI_Test` or `MPI_Iprobe`, get the same answer
//! nearly each time. Polls from one place that find nothing are summed up here and counted together.

use crate::threads::thread::Call;
use headwater_mpi_call::record::Params;

/// After this time a series is counted even if it continues, nanoseconds. So hardly any of it is lost if the program
/// is killed while it polls.
pub const LONGEST_ROW: u64 = 10_000_000;

/// Longest time between two polls of a series, nanoseconds. After a longer time, CPU time is read as for any
/// computation.
const CLOSE: u64 = 20_000;

/// Calls counted together.
#[derive(Clone, Copy, Default)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// In all, nanoseconds.
    pub wall: u64,
    /// The longest, nanoseconds.
    pub longest: u64,
}

/// The series in progress.
#[derive(Clone, Copy, Default)]
pub struct Polls {
    /// Whether the last call was an idle poll, which the next call may continue.
    pub armed: bool,
    /// The first of the series.
    pub call: Call,
    /// What all of them asked for.
    pub params: Params,
    /// The calls.
    pub times: Times,
    /// Between them, nanoseconds.
    pub between: u64,
}

impl Polls {
    /// Whether a call that begins may be the next one of the series.
    #[inline]
    pub fn goes_on(&self, call: &Call) -> bool {
        self.armed
            && call.ctx == self.call.ctx
            && call.func == self.call.func
            && call.from == self.call.from
            && call.busy_ns < CLOSE
    }

    /// Adds a poll to the series.
    #[inline]
    pub fn add(&mut self, call: &Call, wall: u64) {
        if self.times.count == 0 {
            (self.call, self.between) = (*call, 0);
        }
        self.times.count += 1;
        self.times.wall += wall;
        self.times.longest = self.times.longest.max(wall);
        self.between += call.busy_ns;
    }

    /// A call has been counted by itself. If it was an idle poll, a series may begin with the next one.
    #[inline]
    pub fn arm(&mut self, idle: bool, call: &Call, params: &Params) {
        self.armed = idle;
        if idle {
            (self.call, self.params) = (*call, *params);
        }
    }
}
