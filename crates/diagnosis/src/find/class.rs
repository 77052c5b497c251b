//! What holds for all causes of a class: one row for each class, and no default, so that a new class gets a row.

use headwater_model::diagnosis::CauseClass;

/// The parts of the whole loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// Computation that grows, or does not shrink.
    Growth,
    /// Uneven computation.
    Uneven,
    /// Waits in turn.
    Serial,
    /// Moving data.
    Transfer,
    /// The rest.
    Unknown,
}

/// What the seconds of a cause are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seconds {
    /// What ranks compute or sleep, or what they do before `MPI_Init` returned.
    Computation,
    /// Moving data in MPI calls.
    MovingData,
    /// Waits of ranks for the one before.
    WaitsInTurn,
    /// Waits of threads for one another.
    WaitsOfThreads,
    /// Waiting for a core.
    WaitsForCore,
}

/// The most that a cause can cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Most {
    /// What the rank spends in the place that spends most there.
    OneRank,
    /// What all its ranks spend there: they may be late one after another.
    AllRanks,
    /// It is unknown: waits of threads with a core for each are estimated where these seldom met.
    Unknown,
}

/// What holds for all causes of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The part of the loss that its gain is taken from first. Causes between threads also take growth of their place.
    pub part: Part,
    /// The same if all ranks are concerned.
    pub part_of_all: Part,
    /// What its ranks do, in words for many ranks and for one.
    pub does: [&'static str; 2],
    /// What its seconds are.
    pub seconds: Seconds,
    /// The most that it can cost.
    pub most: Most,
    /// Whether some ranks take longer than others by it, so that these wait. Within its error it is only a note then.
    pub differs: bool,
    /// Whether slow cores may be the reason.
    pub may_be_core: bool,
    /// Whether a stall of the machine may be the reason.
    pub may_be_stall: bool,
}

/// What holds for all causes of a class.
pub fn of(class: CauseClass) -> Class {
    match class {
        CauseClass::UnevenWork => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: ["compute", "computes"],
            seconds: Seconds::Computation,
            most: Most::AllRanks,
            differs: true,
            may_be_core: true,
            may_be_stall: true,
        },
        CauseClass::SlowerWork => Class {
            part: Part::Uneven,
            part_of_all: Part::Growth,
            does: ["compute", "computes"],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: true,
            may_be_core: true,
            may_be_stall: false,
        },
        CauseClass::NonShrinkingWork => Class {
            part: Part::Growth,
            part_of_all: Part::Growth,
            does: ["compute", "computes"],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::GrowingCommunication => Class {
            part: Part::Transfer,
            part_of_all: Part::Transfer,
            does: ["move data", "moves data"],
            seconds: Seconds::MovingData,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::LateSenderChain => Class {
            part: Part::Serial,
            part_of_all: Part::Serial,
            does: ["compute in turn, each after the one before", "computes"],
            seconds: Seconds::WaitsInTurn,
            most: Most::AllRanks,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::CollectiveAlgorithm => Class {
            part: Part::Transfer,
            part_of_all: Part::Transfer,
            does: ["move data", "moves data"],
            seconds: Seconds::MovingData,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::ThreadImbalance => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: [
                "compute longer in some threads",
                "computes longer in some threads",
            ],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::LockContention => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: [
                "hold the lock in one thread at a time",
                "holds the lock in one thread at a time",
            ],
            seconds: Seconds::WaitsOfThreads,
            most: Most::Unknown,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::SerialRegion => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: ["compute on one thread", "computes on one thread"],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::SmallRegions => Class {
            part: Part::Uneven,
            part_of_all: Part::Growth,
            does: [
                "begin and end small parallel regions",
                "begins and ends small parallel regions",
            ],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::AllocatorContention => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: [
                "allocate in several threads at once",
                "allocates in several threads at once",
            ],
            seconds: Seconds::WaitsOfThreads,
            most: Most::Unknown,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::SystemCallOrIo => Class {
            part: Part::Uneven,
            part_of_all: Part::Growth,
            does: ["are asleep in a system call", "is asleep in a system call"],
            seconds: Seconds::Computation,
            most: Most::AllRanks,
            differs: true,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::Preempted => Class {
            part: Part::Unknown,
            part_of_all: Part::Unknown,
            does: [
                "compute, but do not get their core",
                "computes, but does not get its core",
            ],
            seconds: Seconds::WaitsForCore,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
        CauseClass::OneOff => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: ["compute once for long", "computes once for long"],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: true,
            may_be_core: true,
            may_be_stall: true,
        },
        CauseClass::Startup => Class {
            part: Part::Uneven,
            part_of_all: Part::Uneven,
            does: ["compute", "computes"],
            seconds: Seconds::Computation,
            most: Most::OneRank,
            differs: false,
            may_be_core: false,
            may_be_stall: false,
        },
    }
}
