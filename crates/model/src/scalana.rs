//! Numbers and names in the files of ScalAna's artifact: types of vertices, and the MPI functions of its `in.txt` (ScalAna, section
//! III-A). Import reads them and export writes them.

/// A loop.
pub const LOOP: i64 = -1;
/// A branch.
pub const BRANCH: i64 = -2;
/// One way of a branch.
pub const COMPOUND: i64 = -3;
/// A function.
pub const FUNCTION: i64 = -4;
/// A call of a function of the program.
pub const CALL: i64 = -5;
/// A call of a recursive function.
pub const RECURSIVE: i64 = -6;
/// A call through a pointer.
pub const INDIRECT: i64 = -7;
/// Neighbours that were merged.
pub const COMBINED: i64 = -8;
/// Computation.
pub const COMPUTATION: i64 = -9;

/// Ids and names of the `in.txt` that ScalAna comes with.
pub const FUNCTIONS: [(u32, &str); 45] = [
    (0, "MPI_Init"),
    (1, "MPI_Init_thread"),
    (2, "MPI_Finalize"),
    (3, "MPI_Bsend"),
    (4, "MPI_Bsend_init"),
    (5, "MPI_Recv_init"),
    (6, "MPI_Send_init"),
    (7, "MPI_Ibsend"),
    (8, "MPI_Irecv"),
    (9, "MPI_Irsend"),
    (10, "MPI_Isend"),
    (11, "MPI_Issend"),
    (12, "MPI_Recv"),
    (13, "MPI_Rsend"),
    (14, "MPI_Rsend_init"),
    (15, "MPI_Send"),
    (16, "MPI_Sendrecv"),
    (17, "MPI_Sendrecv_replace"),
    (18, "MPI_Ssend"),
    (19, "MPI_Ssend_init"),
    (25, "MPI_Wait"),
    (26, "MPI_Waitall"),
    (27, "MPI_Waitany"),
    (28, "MPI_Waitsome"),
    (29, "MPI_Cancel"),
    (30, "MPI_Request_free"),
    (31, "MPI_Start"),
    (32, "MPI_Startall"),
    (33, "MPI_Iprobe"),
    (34, "MPI_Probe"),
    (35, "MPI_Allgather"),
    (36, "MPI_Allgatherv"),
    (37, "MPI_Allreduce"),
    (38, "MPI_Alltoall"),
    (39, "MPI_Alltoallv"),
    (40, "MPI_Barrier"),
    (41, "MPI_Bcast"),
    (42, "MPI_Gather"),
    (43, "MPI_Gatherv"),
    (44, "MPI_Reduce_scatter"),
    (45, "MPI_Reduce"),
    (46, "MPI_Scan"),
    (47, "MPI_Scatter"),
    (48, "MPI_Scatterv"),
    (92, "MPI_Abort"),
];

/// Samples per second of the paper's experiments. The files do not say it.
pub const HZ: u32 = 200;

/// What an imported run has in place of the name of its MPI library.
pub const LIBRARY: &str = "unknown; files of ScalAna";

/// The file beside the artifact's own ones in which an export says what those have no room for: the program, the samples
/// per second, and the names of vertices by their ids.
pub const EXTRA: &str = "headwater.txt";
