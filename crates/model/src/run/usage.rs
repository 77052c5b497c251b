//! What processes and nodes used in all, as the system counts it. What the system does not say is missing.

use crate::rank::Rank;

/// What one process used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Rank.
    pub rank: Rank,
    /// The most memory that it had at once (resident), since it started, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// What it read from files, pipes and sockets by calls such as `read`, bytes.
    pub read_bytes: Option<u64>,
    /// How many such calls it made.
    pub reads: Option<u64>,
    /// What it wrote by calls such as `write`, bytes.
    pub written_bytes: Option<u64>,
    /// How many such calls it made.
    pub writes: Option<u64>,
    /// What came from a storage device for it, bytes.
    pub storage_read_bytes: Option<u64>,
    /// What it gave the system to write to a storage device, bytes.
    pub storage_written_bytes: Option<u64>,
}

/// Files of one process on one kind of file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileSystem {
    /// Rank.
    pub rank: Rank,
    /// Kind of the file system, such as `lustre`.
    pub name: String,
    /// Calls of `MPI_File_open` that opened a file there.
    pub mpi_opened: u64,
    /// Regular files there that were open at the end.
    pub open_at_end: u64,
    /// Calls of [`crate::files::CALLS`], but for `msync`, for regular files there that took over 50 µs; MPI's own are
    /// included.
    pub long_calls: u64,
    /// How long these took, ns.
    pub long_ns: u64,
}

/// Energy of a part of a node, whoever used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Energy {
    /// The rank that read the counter: the first one of its node that could.
    pub rank: Rank,
    /// Index into [`super::Header::nodes`].
    pub node: u32,
    /// The part, such as `package-0`.
    pub zone: String,
    /// Energy between both readings, microjoules; `None` if the counter may have begun again more than once.
    pub microjoules: Option<u64>,
    /// Time between both readings, pauses of recording included, ns.
    pub wall_ns: u64,
}
