//! The words and units that columns of views use: types and kinds of edges, units of attributes.

use headwater_model::run::WaitKind;

/// Label of an edge (PerFlow, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EdgeType {
    /// Within a function.
    IntraProcedural,
    /// From one function into another.
    InterProcedural,
    /// Between threads of a rank.
    InterThread,
    /// Between ranks.
    InterProcess,
}

impl EdgeType {
    /// The words, in the order of the codes.
    pub const WORDS: [&str; 4] = [
        "intra-procedural",
        "inter-procedural",
        "inter-thread",
        "inter-process",
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// What goes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EdgeKind {
    /// The source encloses the target.
    Contains,
    /// A call enters a function.
    Call,
    /// Program order into a loop or branch.
    ControlFlow,
    /// Program order into anything else.
    DataFlow,
    /// Messages.
    PointToPoint,
    /// A receiver that lets its sender go on.
    LateReceiver,
    /// A collective's root, or its last rank, lets the others go on.
    Collective,
    /// A team of threads begins.
    Begin,
    /// A holder lets a waiting thread go on, by what was waited for.
    Mutex,
    /// As above, a read-write lock to read.
    ReadLock,
    /// As above, a read-write lock to write.
    WriteLock,
    /// As above, a spin lock.
    SpinLock,
    /// As above, OpenMP's locks, critical sections and atomic regions.
    Critical,
    /// As above, a condition variable.
    Condition,
    /// As above, a semaphore.
    Semaphore,
    /// As above, a thread's end.
    Join,
    /// As above, OpenMP tasks.
    Tasks,
    /// As above, its turn in an ordered loop.
    Ordered,
    /// As above, the kernel's own lock.
    Futex,
    /// The last thread of an OpenMP team to arrive at a barrier, or at the end of the parallel region.
    Barrier,
    /// A holder lets a waiting thread go on: Python's global lock.
    Gil,
    /// As above, the end of a thread's work, for which it looks between pauses.
    Pause,
}

impl EdgeKind {
    /// The words, in the order of the codes.
    pub const WORDS: [&str; 22] = [
        "contains",
        "call",
        "control-flow",
        "data-flow",
        "point-to-point",
        "late-receiver",
        "collective",
        "begin",
        "mutex",
        "read-lock",
        "write-lock",
        "spin-lock",
        "critical",
        "condition",
        "semaphore",
        "join",
        "tasks",
        "ordered",
        "futex",
        "barrier",
        "gil",
        "pause",
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// Unit of an attribute, where it has one: `s`, `B`, `1` for a count.
pub fn unit(attribute: &str) -> Option<&'static str> {
    let bare = ["before_", "after_"]
        .iter()
        .find_map(|p| attribute.strip_prefix(p));
    Some(match bare.unwrap_or(attribute) {
        "time" | "total" | "busy" | "blocked" | "runq" | "mpi" | "workers" | "wait" | "longest"
        | "before" | "first" | "wall" | "cpu" | "startup" | "late_sender" | "late_receiver"
        | "excess" | "on_path" | "imbalance" | "load_before" | "waiting" | "calls"
        | "message_size" | "transfer" | "collective_wait" | "total_time" | "total_mpi"
        | "total_wait" | "total_busy" | "delay" | "waited" => "s",
        "bytes" | "sent" => "B",
        "count" | "samples" | "ranks" | "messages" | "ways" => "1",
        _ => return None,
    })
}

impl From<WaitKind> for EdgeKind {
    fn from(kind: WaitKind) -> Self {
        match kind {
            WaitKind::Mutex => Self::Mutex,
            WaitKind::ReadLock => Self::ReadLock,
            WaitKind::WriteLock => Self::WriteLock,
            WaitKind::SpinLock => Self::SpinLock,
            WaitKind::Critical => Self::Critical,
            WaitKind::Condition => Self::Condition,
            WaitKind::Semaphore => Self::Semaphore,
            WaitKind::Join => Self::Join,
            WaitKind::Tasks => Self::Tasks,
            WaitKind::Ordered => Self::Ordered,
            WaitKind::Futex => Self::Futex,
            WaitKind::Gil => Self::Gil,
            WaitKind::Pause => Self::Pause,
        }
    }
}
