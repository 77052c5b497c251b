//! Replaces `loader` if the collector is linked into the program, and the MPI library too.
//!
//! The linker has put the addresses here. A program that is linked statically has no loader to ask.

use std::ffi::CStr;

/// Tables of names and addresses: of functions that every library has and that are linked in for us, and of symbols
/// that may be missing.
macro_rules! names {
    (always: $($always:ident)*; maybe: $($maybe:ident)*;) => {
        unsafe extern "C" {
            $(fn $always();)*
        }

        fn always(name: &CStr) -> Option<usize> {
            let known: [(&str, unsafe extern "C" fn()); _] = [$((stringify!($always), $always)),*];
            let found = known.iter().find(|k| k.0.as_bytes() == name.to_bytes())?;
            Some(found.1 as usize)
        }

        core::arch::global_asm!(
            ".pushsection .data.rel.ro.headwater_maybe,\"aw\"",
            ".balign 8",
            ".globl headwater_maybe",
            "headwater_maybe:",
            $(concat!(".weak ", stringify!($maybe)), concat!(".quad ", stringify!($maybe)),)*
            ".popsection",
        );

        const MAYBE: &[&str] = &[$(stringify!($maybe)),*];
    };
}

names! {
    always:
        PMPI_Barrier PMPI_Cartdim_get PMPI_Comm_create PMPI_Comm_create_errhandler
        PMPI_Comm_get_errhandler PMPI_Comm_get_parent PMPI_Comm_group PMPI_Comm_rank
        PMPI_Comm_set_errhandler PMPI_Comm_size PMPI_Comm_test_inter
        PMPI_Dist_graph_neighbors_count PMPI_Errhandler_free PMPI_Get_library_version
        PMPI_Graph_neighbors_count PMPI_Group_free PMPI_Group_rank PMPI_Group_size
        PMPI_Group_translate_ranks PMPI_Init PMPI_Initialized PMPI_Query_thread PMPI_Recv PMPI_Send
        PMPI_Test_cancelled PMPI_Type_size PMPI_Win_get_group;
    maybe:
        PMPI_Abi_get_version PMPI_Group_from_session_pset MPIR_Err_create_code ompi_mpi_byte
        ompi_mpi_comm_null ompi_mpi_comm_world;
}

unsafe extern "C" {
    #[link_name = "headwater_maybe"]
    static ADDRESSES: [usize; MAYBE.len()];
}

/// The address of `name`; 0 if there is none.
fn address(name: &CStr) -> usize {
    always(name).unwrap_or_else(|| {
        let at = MAYBE.iter().position(|n| n.as_bytes() == name.to_bytes());
        // SAFETY: the table above. The linker has filled it, and nobody writes to it.
        let addresses = unsafe { &ADDRESSES };
        at.and_then(|i| addresses.get(i)).copied().unwrap_or(0)
    })
}

/// The function of this name behind ours; 0 if there is none.
pub fn next(name: &CStr) -> usize {
    address(name)
}

/// The same: the linker has chosen a version.
pub fn next_newest(name: &CStr) -> usize {
    address(name)
}

/// The same: there is only one place to look.
pub fn found(name: &CStr, _caller: u64) -> usize {
    address(name)
}

/// All modules see the same functions.
pub fn through(_name: &CStr, _from: u64) -> usize {
    0
}

/// A symbol of the MPI library; 0 if there is none.
pub fn symbol(name: &CStr) -> u64 {
    address(name) as u64
}

/// Which definition comes before ours is not known: the linker took the first.
pub fn first(_name: &CStr) -> usize {
    0
}

/// All is in one file, whose name says nothing about the library.
pub fn object_of(_address: usize) -> String {
    String::new()
}
