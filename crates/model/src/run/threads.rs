//! What is recorded of the threads of a rank: how long each existed, what it did in its team, and which threads it
//! waited for.

use super::CtxId;
use crate::rank::Rank;
use serde::{Deserialize, Serialize};

/// Totals of one thread, from its first to its last sign of life, without pauses of recording.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ThreadInfo {
    /// Its rank.
    pub rank: Rank,
    /// Thread within the rank, in the order of first sight; 0 called `MPI_Init`.
    pub thread: u16,
    /// Context of the call that made it; [`CtxId::NONE`] for the first thread, and if that call was not seen.
    pub made_by: CtxId,
    /// From leaving `MPI_Init` to its first sight, wall time, without the pauses in between.
    pub begin_ns: u64,
    /// From its first to its last sign of life, wall time.
    pub wall_ns: u64,
    /// CPU time of the same stretch.
    pub cpu_ns: u64,
    /// Time ready to run but without a core in that stretch; pauses are left out of it in the same proportion as of CPU
    /// time.
    pub runq_ns: u64,
    /// Time inside MPI calls, wall time.
    pub mpi_wall_ns: u64,
}

/// What one thread of a team did from one point where the team comes together to the next, summed over
/// repetitions. A team is the threads of an OpenMP parallel region, or those that one call of
/// `pthread_create` made; it comes together at barriers and at its end.
///
/// As a [`Segment`](super::Segment) does for ranks, this says exactly *how much* each thread had to do; samples say where.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct TeamWork {
    /// Rank.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Context of the call that began the team: its identity.
    pub team: CtxId,
    /// Context of the barrier left; `team` itself at the team's start.
    pub from: CtxId,
    /// Context of the barrier entered next; `team` itself at the team's end.
    pub to: CtxId,
    /// Repetitions.
    pub count: u64,
    /// Wall time, from the start to the arrival at `to`.
    pub wall_ns: u64,
    /// CPU time of the same.
    pub cpu_ns: u64,
    /// Part of `wall - cpu` spent ready to run but without a core.
    pub runq_ns: u64,
    /// Part of `wall - cpu` spent asleep, which includes waiting for locks.
    pub blocked_ns: u64,
    /// Part of the wall time spent waiting for other threads, which are the rows of [`Run::waits`](super::Run::waits)
    /// in it, and in MPI calls.
    pub locked_ns: u64,
    /// From the arrival at `to` to the last arrival of the team. If the last arrival is unknown, until it leaves `to`.
    pub wait_ns: u64,
}

/// What a thread waited for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[repr(u8)]
pub enum WaitKind {
    /// A mutex.
    #[default]
    Mutex = 1,
    /// A read-write lock, to read.
    ReadLock = 2,
    /// A read-write lock, to write.
    WriteLock = 3,
    /// A spin lock.
    SpinLock = 4,
    /// An OpenMP lock, critical section or atomic region.
    Critical = 5,
    /// A condition variable.
    Condition = 6,
    /// A semaphore.
    Semaphore = 7,
    /// A thread's end.
    Join = 8,
    /// OpenMP tasks.
    Tasks = 9,
    /// Its turn in an ordered loop.
    Ordered = 10,
    /// The kernel's own lock (`futex`), called by a runtime or by the memory allocator.
    Futex = 11,
    /// Python's global lock (GIL).
    Gil = 12,
    /// The end of other threads' work, for which it looks between pauses of a fixed length. No recording has such a
    /// row: an analysis adds it.
    Pause = 13,
}

impl WaitKind {
    /// The kind stored as `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        use WaitKind::*;
        let all = [
            Mutex, ReadLock, WriteLock, SpinLock, Critical, Condition, Semaphore, Join, Tasks,
            Ordered, Futex, Gil,
        ];
        all.into_iter().find(|k| *k as u8 == code)
    }

    /// Whether the waiting thread could go on earlier if the holder held it for less time: not if it waits for work or
    /// for an end.
    pub fn is_lock(self) -> bool {
        use WaitKind::*;
        matches!(
            self,
            Mutex | ReadLock | WriteLock | SpinLock | Critical | Futex | Gil
        )
    }
}

/// Waiting of one thread for another, by the places of both: an edge between threads.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ThreadWait {
    /// Rank.
    pub rank: Rank,
    /// Thread that waited.
    pub thread: u16,
    /// The context of the call that waited.
    pub ctx: CtxId,
    /// What it waited for.
    pub kind: WaitKind,
    /// Thread that it waited for; `u16::MAX` where that is not known.
    pub holder: u16,
    /// Where that thread took the lock, or let this one go on. Its innermost frame is certain, its callers may be
    /// missing. [`CtxId::NONE`] if it is not known.
    pub holder_ctx: CtxId,
    /// Number of waits; taking a free lock does not count.
    pub count: u64,
    /// Wall time waited.
    pub wait_ns: u64,
    /// The same, but at most 1 ms of each wait: the scheduler may have caused longer ones, when it took the core from
    /// the holder.
    pub brief_ns: u64,
    /// Longest wait.
    pub max_ns: u64,
    /// Which locks were waited for: a bit for each, by a hash of its address. 0 where that is not known.
    pub locks: u64,
}
