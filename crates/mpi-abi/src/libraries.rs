//! The file names of MPI libraries.

/// Whether a library of this file name is one that programs with MPI are linked to.
pub fn is_library(file: &str) -> bool {
    let stem = file.split(".so").next().unwrap_or(file);
    matches!(
        stem,
        "libmpi"
            | "libmpich"
            | "libmpi_abi"
            | "libmpifort"
            | "libmpichfort"
            | "libmpi_mpifh"
            | "libmpicxx"
    )
}
