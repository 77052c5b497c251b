//! Calls of the C library that concern files.

/// Those in which sleep is recorded.
pub const CALLS: [&str; 9] = [
    "fsync",
    "fdatasync",
    "msync",
    "read",
    "write",
    "pread",
    "pwrite",
    "pread64",
    "pwrite64",
];
