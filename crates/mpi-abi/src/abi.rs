//! How MPI libraries represent handles, statuses and constants.
//!
//! The figures are those of the libraries' own headers, with which a test compares them; see also the
//! MPI 5.0 standard, chapter on the ABI, for the last family.

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
    /// `MPI_IN_PLACE` in C.
    pub in_place: u64,
    /// `MPI_ERR_OTHER`.
    pub err_other: i32,
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
    /// `MPI_MODE_NOPRECEDE`.
    pub no_precede: i32,
    /// `MPI_LOCK_EXCLUSIVE`.
    pub lock_exclusive: i32,
    /// Whether Fortran calls go to `PMPI_*` past the C wrappers. For the standard ABI this and the next
    /// are those of Intel's `libmpifort_abi`, read from its code: no program could be tried.
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
        in_place: 1,
        err_other: 16,
        thread_multiple: 3,
        no_precede: 2,
        lock_exclusive: 1,
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
        in_place: u64::MAX,
        err_other: 15,
        thread_multiple: 3,
        no_precede: 8192,
        lock_exclusive: 234,
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
        in_place: 1,
        err_other: 16,
        thread_multiple: 4096,
        no_precede: 2048,
        lock_exclusive: 301,
        fortran_past_c: false,
        f08_past_c: true,
    },
];

/// What can be seen of a loaded library, also before `MPI_Init`.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// Whether the symbol `ompi_mpi_comm_world` exists.
    pub ompi_world: bool,
    /// Whether the symbol `MPIR_Err_create_code` exists, which all that comes of MPICH has for MPI-IO.
    pub mpir: bool,
    /// First number that `MPI_Abi_get_version` returns; `None` where there is no such function. Libraries
    /// that have it return -1 where their binary interface is another than that of the standard.
    pub standard: Option<i32>,
    /// Base name of the object that `PMPI_Send` comes from.
    pub object: &'a str,
    /// Text of `MPI_Get_library_version`.
    pub version: &'a str,
}

/// Which library that is; `None` for one that is not known, as those are that have `libmpi_abi` from
/// before there was a standard, with other constants.
///
/// What a library provides counts first. The text is asked last, for one whose own symbols are hidden.
pub fn recognise(evidence: &Evidence<'_>) -> Option<&'static Abi> {
    let named = |names: &[&str]| names.iter().any(|n| evidence.version.contains(n));
    let family = match evidence.standard {
        Some(1) => Family::Standard,
        Some(2..) => return None,
        _ if evidence.object.starts_with("libmpi_abi") => return None,
        _ if evidence.ompi_world => Family::OpenMpi,
        _ if evidence.mpir => Family::Mpich,
        _ if named(&["MPICH", "Intel(R) MPI", "MVAPICH"]) => Family::Mpich,
        _ => return None,
    };
    FAMILIES.iter().find(|a| a.family == family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_distinguished_by_what_they_provide() {
        let of = |ompi_world, mpir, standard, object, version| {
            recognise(&Evidence {
                ompi_world,
                mpir,
                standard,
                object,
                version,
            })
            .map(|a| a.family)
        };
        let (native, abi) = ("libmpi.so.12", "libmpi_abi.so.1");
        for (found, wanted) in [
            (
                of(true, false, None, "libmpi.so.40", "Open MPI v4.1.4"),
                Some(Family::OpenMpi),
            ),
            (
                of(true, false, Some(1), abi, "Open MPI v6"),
                Some(Family::Standard),
            ),
            (
                of(false, true, None, "libmpich.so.12", "MPICH Version: 4.0.2"),
                Some(Family::Mpich),
            ),
            (of(false, true, Some(-1), native, ""), Some(Family::Mpich)),
            (
                of(false, false, None, native, "Intel(R) MPI Library 2021.17"),
                Some(Family::Mpich),
            ),
            (
                of(false, true, Some(1), abi, "MPICH Version: 5.0.2"),
                Some(Family::Standard),
            ),
            (
                of(false, true, None, "libmpi_abi.so.0", "MPICH Version: 4.2"),
                None,
            ),
            (of(false, false, Some(2), abi, "MPICH Version: 9"), None),
            (
                of(false, false, None, "libmpi.so.1", "Somebody's MPI"),
                None,
            ),
        ] {
            assert_eq!(found, wanted);
        }
    }
}
