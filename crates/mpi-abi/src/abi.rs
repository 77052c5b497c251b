//! How MPI libraries represent handles, statuses and constants.
//!
//! The figures are those of the libraries' own headers; see also the MPI 5.0 standard, chapter on the
//! ABI, for the last family.

/// Libraries that share a binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Open MPI 4 and 5.
    OpenMpi,
    /// MPICH and what shares its ABI: Intel MPI, MVAPICH, Cray MPICH.
    Mpich,
    /// The standard ABI of MPI 5.
    Standard,
}

/// What a library looks like from the outside.
#[derive(Debug, PartialEq, Eq)]
pub struct Abi {
    /// Which libraries.
    pub family: Family,
    /// Bytes of a handle in memory.
    pub handle_bytes: usize,
    /// Bytes of a status.
    pub status_bytes: usize,
    /// Offset of the source in a status.
    pub status_source: usize,
    /// Offset of the tag in a status.
    pub status_tag: usize,
    /// `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// `MPI_ANY_TAG`.
    pub any_tag: i32,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_STATUS_IGNORE`.
    pub status_ignore: u64,
    /// `MPI_STATUSES_IGNORE`.
    pub statuses_ignore: u64,
    /// `MPI_COMM_WORLD`, where it is not the address of a symbol.
    pub comm_world: Option<u64>,
    /// `MPI_COMM_NULL`, where it is not the address of a symbol.
    pub comm_null: Option<u64>,
    /// `MPI_BYTE`, where it is not the address of a symbol.
    pub byte: Option<u64>,
    /// `MPI_ERRORS_RETURN`, where it is not the address of a symbol.
    pub errors_return: Option<u64>,
    /// `MPI_IN_PLACE` in C.
    pub in_place: u64,
    /// `MPI_ERR_OTHER`.
    pub err_other: i32,
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
    /// Whether Fortran calls go to `PMPI_*` past the C wrappers.
    pub fortran_past_c: bool,
    /// The same for calls of `mpi_f08` that have no buffer.
    pub f08_past_c: bool,
}

const FAMILIES: [Abi; 3] = [
    Abi {
        family: Family::OpenMpi,
        handle_bytes: 8,
        status_bytes: 24,
        status_source: 0,
        status_tag: 4,
        any_source: -1,
        any_tag: -1,
        proc_null: -2,
        status_ignore: 0,
        statuses_ignore: 0,
        comm_world: None,
        comm_null: None,
        byte: None,
        errors_return: None,
        in_place: 1,
        err_other: 16,
        thread_multiple: 3,
        fortran_past_c: true,
        f08_past_c: true,
    },
    Abi {
        family: Family::Mpich,
        handle_bytes: 4,
        status_bytes: 20,
        status_source: 8,
        status_tag: 12,
        any_source: -2,
        any_tag: -1,
        proc_null: -1,
        status_ignore: 1,
        statuses_ignore: 1,
        comm_world: Some(0x4400_0000),
        comm_null: Some(0x0400_0000),
        byte: Some(0x4c00_010d),
        errors_return: Some(0x5400_0001),
        in_place: u64::MAX,
        err_other: 15,
        thread_multiple: 3,
        fortran_past_c: false,
        f08_past_c: true,
    },
    Abi {
        family: Family::Standard,
        handle_bytes: 8,
        status_bytes: 32,
        status_source: 0,
        status_tag: 4,
        any_source: -1,
        any_tag: -2,
        proc_null: -3,
        status_ignore: 0,
        statuses_ignore: 0,
        comm_world: Some(0x101),
        comm_null: Some(0x100),
        byte: Some(0x247),
        errors_return: Some(0x143),
        in_place: 1,
        err_other: 16,
        thread_multiple: 4096,
        fortran_past_c: true,
        f08_past_c: true,
    },
];

/// What can be seen of a loaded library before `MPI_Init`.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// Whether the symbol `ompi_mpi_comm_world` exists.
    pub ompi_world: bool,
    /// Base name of the object that `PMPI_Send` comes from.
    pub object: &'a str,
    /// Text of `MPI_Get_library_version`.
    pub version: &'a str,
}

/// Which library that is; `None` for one that is not known.
pub fn recognise(evidence: &Evidence<'_>) -> Option<&'static Abi> {
    let family = if evidence.object.starts_with("libmpi_abi") {
        Family::Standard
    } else if evidence.ompi_world {
        Family::OpenMpi
    } else if ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"]
        .iter()
        .any(|n| evidence.version.contains(n))
    {
        Family::Mpich
    } else {
        return None;
    };
    FAMILIES.iter().find(|a| a.family == family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart_by_what_they_provide() {
        let of = |ompi_world, object, version| {
            recognise(&Evidence {
                ompi_world,
                object,
                version,
            })
            .map(|a| a.family)
        };
        assert_eq!(
            of(true, "libmpi.so.40", "Open MPI v4.1.4"),
            Some(Family::OpenMpi)
        );
        assert_eq!(
            of(false, "libmpich.so.12", "MPICH Version: 4.0.2"),
            Some(Family::Mpich)
        );
        assert_eq!(
            of(false, "libmpi.so.12", "Intel(R) MPI Library 2021.17"),
            Some(Family::Mpich)
        );
        assert_eq!(
            of(false, "libmpi_abi.so.0", "MPICH Version: 5.0.0"),
            Some(Family::Standard)
        );
        assert_eq!(of(false, "libmpi.so.1", "Somebody's MPI"), None);
    }
}
