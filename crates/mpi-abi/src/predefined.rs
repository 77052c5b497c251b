//! The handles that MPI itself defines, such as `MPI_INT`, and how each library represents them.
//!
//! Traces know such a handle by a number that is the same for all libraries: that of the standard ABI (MPI 5.0, chapter
//! on the ABI, where all are below [`FIRST_MADE`]). The exceptions are those that every process counts from: the world
//! is communicator 0 and the process itself is communicator 1.

use crate::abi::Family;
use crate::constants::{NULL, PROC_NULL};
use crate::fields::Kind;

/// Handles that the program has made have numbers from here on, if there are predefined ones of their kind. Those of
/// communicators begin at [`FIRST_MADE_COMM`], those of windows, files, requests, messages and sessions at 0.
pub const FIRST_MADE: i64 = 1024;

/// The number of the first communicator that the program has made.
pub const FIRST_MADE_COMM: i64 = 2;

/// A handle that MPI defines.
#[derive(Debug)]
pub struct Predefined {
    /// Its kind.
    pub kind: Kind,
    /// Its name in C.
    pub name: &'static str,
    /// The number by which traces know it.
    pub number: i64,
    standard: Option<u64>,
    mpich: Option<u64>,
    open_mpi: &'static str,
}

/// How a library represents a predefined handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// As a constant.
    Value(u64),
    /// As the address of a symbol.
    Symbol(&'static str),
}

impl Predefined {
    /// How libraries of a family represent it; `None` if they lack it.
    pub fn native(&self, family: Family) -> Option<Native> {
        match family {
            Family::OpenMpi => {
                Some(Native::Symbol(self.open_mpi)).filter(|_| !self.open_mpi.is_empty())
            }
            Family::Mpich => self.mpich.map(Native::Value),
            Family::Standard => self.standard.map(Native::Value),
        }
    }
}

/// The predefined handle with a number; `kind` is that of an existing handle, such as [`Kind::Datatype`].
pub fn predefined(kind: Kind, number: i64) -> Option<&'static Predefined> {
    PREDEFINED
        .iter()
        .find(|p| p.kind == kind && p.number == number)
}

const fn of(
    kind: Kind,
    name: &'static str,
    number: i64,
    standard: Option<u64>,
    mpich: Option<u64>,
    open_mpi: &'static str,
) -> Predefined {
    Predefined {
        kind,
        name,
        number,
        standard,
        mpich,
        open_mpi,
    }
}

/// All predefined handles: kind, name, number, constant of the standard ABI and of MPICH, symbol of Open MPI.
#[rustfmt::skip]
pub static PREDEFINED: [Predefined; 105] = [
    of(Kind::Op, "MPI_OP_NULL", NULL, Some(0x20), Some(0x1800_0000), "ompi_mpi_op_null"),
    of(Kind::Op, "MPI_SUM", 0x21, Some(0x21), Some(0x5800_0003), "ompi_mpi_op_sum"),
    of(Kind::Op, "MPI_MIN", 0x22, Some(0x22), Some(0x5800_0002), "ompi_mpi_op_min"),
    of(Kind::Op, "MPI_MAX", 0x23, Some(0x23), Some(0x5800_0001), "ompi_mpi_op_max"),
    of(Kind::Op, "MPI_PROD", 0x24, Some(0x24), Some(0x5800_0004), "ompi_mpi_op_prod"),
    of(Kind::Op, "MPI_BAND", 0x28, Some(0x28), Some(0x5800_0006), "ompi_mpi_op_band"),
    of(Kind::Op, "MPI_BOR", 0x29, Some(0x29), Some(0x5800_0008), "ompi_mpi_op_bor"),
    of(Kind::Op, "MPI_BXOR", 0x2a, Some(0x2a), Some(0x5800_000a), "ompi_mpi_op_bxor"),
    of(Kind::Op, "MPI_LAND", 0x30, Some(0x30), Some(0x5800_0005), "ompi_mpi_op_land"),
    of(Kind::Op, "MPI_LOR", 0x31, Some(0x31), Some(0x5800_0007), "ompi_mpi_op_lor"),
    of(Kind::Op, "MPI_LXOR", 0x32, Some(0x32), Some(0x5800_0009), "ompi_mpi_op_lxor"),
    of(Kind::Op, "MPI_MINLOC", 0x38, Some(0x38), Some(0x5800_000b), "ompi_mpi_op_minloc"),
    of(Kind::Op, "MPI_MAXLOC", 0x39, Some(0x39), Some(0x5800_000c), "ompi_mpi_op_maxloc"),
    of(Kind::Op, "MPI_REPLACE", 0x3c, Some(0x3c), Some(0x5800_000d), "ompi_mpi_op_replace"),
    of(Kind::Op, "MPI_NO_OP", 0x3d, Some(0x3d), Some(0x5800_000e), "ompi_mpi_op_no_op"),
    of(Kind::Comm, "MPI_COMM_NULL", NULL, Some(0x100), Some(0x0400_0000), "ompi_mpi_comm_null"),
    of(Kind::Comm, "MPI_COMM_WORLD", 0, Some(0x101), Some(0x4400_0000), "ompi_mpi_comm_world"),
    of(Kind::Comm, "MPI_COMM_SELF", 1, Some(0x102), Some(0x4400_0001), "ompi_mpi_comm_self"),
    of(Kind::Group, "MPI_GROUP_NULL", NULL, Some(0x108), Some(0x0800_0000), "ompi_mpi_group_null"),
    of(Kind::Group, "MPI_GROUP_EMPTY", 0x109, Some(0x109), Some(0x4800_0000), "ompi_mpi_group_empty"),
    of(Kind::Window, "MPI_WIN_NULL", NULL, Some(0x110), Some(0x2000_0000), "ompi_mpi_win_null"),
    of(Kind::File, "MPI_FILE_NULL", NULL, Some(0x118), Some(0x0), "ompi_mpi_file_null"),
    of(Kind::Session, "MPI_SESSION_NULL", NULL, Some(0x120), Some(0x3800_0000), "ompi_mpi_instance_null"),
    of(Kind::Message, "MPI_MESSAGE_NULL", NULL, Some(0x128), Some(0x2c00_0000), "ompi_message_null"),
    of(Kind::Message, "MPI_MESSAGE_NO_PROC", PROC_NULL, Some(0x129), Some(0x6c00_0000), "ompi_message_no_proc"),
    of(Kind::Info, "MPI_INFO_NULL", NULL, Some(0x130), Some(0x1c00_0000), "ompi_mpi_info_null"),
    of(Kind::Info, "MPI_INFO_ENV", 0x131, Some(0x131), Some(0x5c00_0001), "ompi_mpi_info_env"),
    of(Kind::Errhandler, "MPI_ERRHANDLER_NULL", NULL, Some(0x140), Some(0x1400_0000), "ompi_mpi_errhandler_null"),
    of(Kind::Errhandler, "MPI_ERRORS_ARE_FATAL", 0x141, Some(0x141), Some(0x5400_0000), "ompi_mpi_errors_are_fatal"),
    of(Kind::Errhandler, "MPI_ERRORS_ABORT", 0x142, Some(0x142), Some(0x5400_0003), "ompi_mpi_errors_abort"),
    of(Kind::Errhandler, "MPI_ERRORS_RETURN", 0x143, Some(0x143), Some(0x5400_0001), "ompi_mpi_errors_return"),
    of(Kind::Request, "MPI_REQUEST_NULL", NULL, Some(0x180), Some(0x2c00_0000), "ompi_request_null"),
    of(Kind::Datatype, "MPI_DATATYPE_NULL", NULL, Some(0x200), Some(0x0c00_0000), "ompi_mpi_datatype_null"),
    of(Kind::Datatype, "MPI_AINT", 0x201, Some(0x201), Some(0x4c00_0843), "ompi_mpi_aint"),
    of(Kind::Datatype, "MPI_COUNT", 0x202, Some(0x202), Some(0x4c00_0845), "ompi_mpi_count"),
    of(Kind::Datatype, "MPI_OFFSET", 0x203, Some(0x203), Some(0x4c00_0844), "ompi_mpi_offset"),
    of(Kind::Datatype, "MPI_PACKED", 0x207, Some(0x207), Some(0x4c00_010f), "ompi_mpi_packed"),
    of(Kind::Datatype, "MPI_SHORT", 0x208, Some(0x208), Some(0x4c00_0203), "ompi_mpi_short"),
    of(Kind::Datatype, "MPI_INT", 0x209, Some(0x209), Some(0x4c00_0405), "ompi_mpi_int"),
    of(Kind::Datatype, "MPI_LONG", 0x20a, Some(0x20a), Some(0x4c00_0807), "ompi_mpi_long"),
    of(Kind::Datatype, "MPI_LONG_LONG", 0x20b, Some(0x20b), Some(0x4c00_0809), "ompi_mpi_long_long_int"),
    of(Kind::Datatype, "MPI_UNSIGNED_SHORT", 0x20c, Some(0x20c), Some(0x4c00_0204), "ompi_mpi_unsigned_short"),
    of(Kind::Datatype, "MPI_UNSIGNED", 0x20d, Some(0x20d), Some(0x4c00_0406), "ompi_mpi_unsigned"),
    of(Kind::Datatype, "MPI_UNSIGNED_LONG", 0x20e, Some(0x20e), Some(0x4c00_0808), "ompi_mpi_unsigned_long"),
    of(Kind::Datatype, "MPI_UNSIGNED_LONG_LONG", 0x20f, Some(0x20f), Some(0x4c00_0819), "ompi_mpi_unsigned_long_long"),
    of(Kind::Datatype, "MPI_FLOAT", 0x210, Some(0x210), Some(0x4c00_040a), "ompi_mpi_float"),
    of(Kind::Datatype, "MPI_C_FLOAT_COMPLEX", 0x212, Some(0x212), Some(0x4c00_0840), "ompi_mpi_c_float_complex"),
    of(Kind::Datatype, "MPI_CXX_FLOAT_COMPLEX", 0x213, Some(0x213), Some(0x4c00_0834), "ompi_mpi_cxx_cplex"),
    of(Kind::Datatype, "MPI_DOUBLE", 0x214, Some(0x214), Some(0x4c00_080b), "ompi_mpi_double"),
    of(Kind::Datatype, "MPI_C_DOUBLE_COMPLEX", 0x216, Some(0x216), Some(0x4c00_1041), "ompi_mpi_c_double_complex"),
    of(Kind::Datatype, "MPI_CXX_DOUBLE_COMPLEX", 0x217, Some(0x217), Some(0x4c00_1035), "ompi_mpi_cxx_dblcplex"),
    of(Kind::Datatype, "MPI_LOGICAL", 0x218, Some(0x218), Some(0x4c00_041d), "ompi_mpi_logical"),
    of(Kind::Datatype, "MPI_INTEGER", 0x219, Some(0x219), Some(0x4c00_041b), "ompi_mpi_integer"),
    of(Kind::Datatype, "MPI_REAL", 0x21a, Some(0x21a), Some(0x4c00_041c), "ompi_mpi_real"),
    of(Kind::Datatype, "MPI_COMPLEX", 0x21b, Some(0x21b), Some(0x4c00_081e), "ompi_mpi_cplex"),
    of(Kind::Datatype, "MPI_DOUBLE_PRECISION", 0x21c, Some(0x21c), Some(0x4c00_081f), "ompi_mpi_dblprec"),
    of(Kind::Datatype, "MPI_DOUBLE_COMPLEX", 0x21d, Some(0x21d), Some(0x4c00_1022), "ompi_mpi_dblcplex"),
    of(Kind::Datatype, "MPI_CHARACTER", 0x21e, Some(0x21e), Some(0x4c00_011a), "ompi_mpi_character"),
    of(Kind::Datatype, "MPI_LONG_DOUBLE", 0x220, Some(0x220), Some(0x4c00_100c), "ompi_mpi_long_double"),
    of(Kind::Datatype, "MPI_C_LONG_DOUBLE_COMPLEX", 0x224, Some(0x224), Some(0x4c00_2042), "ompi_mpi_c_long_double_complex"),
    of(Kind::Datatype, "MPI_CXX_LONG_DOUBLE_COMPLEX", 0x225, Some(0x225), Some(0x4c00_2036), "ompi_mpi_cxx_ldblcplex"),
    of(Kind::Datatype, "MPI_FLOAT_INT", 0x228, Some(0x228), Some(0x8c00_0000), "ompi_mpi_float_int"),
    of(Kind::Datatype, "MPI_DOUBLE_INT", 0x229, Some(0x229), Some(0x8c00_0001), "ompi_mpi_double_int"),
    of(Kind::Datatype, "MPI_LONG_INT", 0x22a, Some(0x22a), Some(0x8c00_0002), "ompi_mpi_long_int"),
    of(Kind::Datatype, "MPI_2INT", 0x22b, Some(0x22b), Some(0x4c00_0816), "ompi_mpi_2int"),
    of(Kind::Datatype, "MPI_SHORT_INT", 0x22c, Some(0x22c), Some(0x8c00_0003), "ompi_mpi_short_int"),
    of(Kind::Datatype, "MPI_LONG_DOUBLE_INT", 0x22d, Some(0x22d), Some(0x8c00_0004), "ompi_mpi_longdbl_int"),
    of(Kind::Datatype, "MPI_2REAL", 0x230, Some(0x230), Some(0x4c00_0821), "ompi_mpi_2real"),
    of(Kind::Datatype, "MPI_2DOUBLE_PRECISION", 0x231, Some(0x231), Some(0x4c00_1023), "ompi_mpi_2dblprec"),
    of(Kind::Datatype, "MPI_2INTEGER", 0x232, Some(0x232), Some(0x4c00_0820), "ompi_mpi_2integer"),
    of(Kind::Datatype, "MPI_C_BOOL", 0x238, Some(0x238), Some(0x4c00_013f), "ompi_mpi_c_bool"),
    of(Kind::Datatype, "MPI_CXX_BOOL", 0x239, Some(0x239), Some(0x4c00_0133), "ompi_mpi_cxx_bool"),
    of(Kind::Datatype, "MPI_WCHAR", 0x23c, Some(0x23c), Some(0x4c00_040e), "ompi_mpi_wchar"),
    of(Kind::Datatype, "MPI_INT8_T", 0x240, Some(0x240), Some(0x4c00_0137), "ompi_mpi_int8_t"),
    of(Kind::Datatype, "MPI_UINT8_T", 0x241, Some(0x241), Some(0x4c00_013b), "ompi_mpi_uint8_t"),
    of(Kind::Datatype, "MPI_CHAR", 0x243, Some(0x243), Some(0x4c00_0101), "ompi_mpi_char"),
    of(Kind::Datatype, "MPI_SIGNED_CHAR", 0x244, Some(0x244), Some(0x4c00_0118), "ompi_mpi_signed_char"),
    of(Kind::Datatype, "MPI_UNSIGNED_CHAR", 0x245, Some(0x245), Some(0x4c00_0102), "ompi_mpi_unsigned_char"),
    of(Kind::Datatype, "MPI_BYTE", 0x247, Some(0x247), Some(0x4c00_010d), "ompi_mpi_byte"),
    of(Kind::Datatype, "MPI_INT16_T", 0x248, Some(0x248), Some(0x4c00_0238), "ompi_mpi_int16_t"),
    of(Kind::Datatype, "MPI_UINT16_T", 0x249, Some(0x249), Some(0x4c00_023c), "ompi_mpi_uint16_t"),
    of(Kind::Datatype, "MPI_INT32_T", 0x250, Some(0x250), Some(0x4c00_0439), "ompi_mpi_int32_t"),
    of(Kind::Datatype, "MPI_UINT32_T", 0x251, Some(0x251), Some(0x4c00_043d), "ompi_mpi_uint32_t"),
    of(Kind::Datatype, "MPI_INT64_T", 0x258, Some(0x258), Some(0x4c00_083a), "ompi_mpi_int64_t"),
    of(Kind::Datatype, "MPI_UINT64_T", 0x259, Some(0x259), Some(0x4c00_083e), "ompi_mpi_uint64_t"),
    of(Kind::Datatype, "MPI_LOGICAL1", 0x2c0, Some(0x2c0), Some(0x4c00_0147), "ompi_mpi_logical1"),
    of(Kind::Datatype, "MPI_INTEGER1", 0x2c1, Some(0x2c1), Some(0x4c00_012d), "ompi_mpi_integer1"),
    of(Kind::Datatype, "MPI_LOGICAL2", 0x2c8, Some(0x2c8), Some(0x4c00_0248), "ompi_mpi_logical2"),
    of(Kind::Datatype, "MPI_INTEGER2", 0x2c9, Some(0x2c9), Some(0x4c00_022f), "ompi_mpi_integer2"),
    of(Kind::Datatype, "MPI_REAL2", 0x2ca, Some(0x2ca), Some(0x4c00_0226), "ompi_mpi_real2"),
    of(Kind::Datatype, "MPI_LOGICAL4", 0x2d0, Some(0x2d0), Some(0x4c00_0449), "ompi_mpi_logical4"),
    of(Kind::Datatype, "MPI_INTEGER4", 0x2d1, Some(0x2d1), Some(0x4c00_0430), "ompi_mpi_integer4"),
    of(Kind::Datatype, "MPI_REAL4", 0x2d2, Some(0x2d2), Some(0x4c00_0427), "ompi_mpi_real4"),
    of(Kind::Datatype, "MPI_COMPLEX4", 0x2d3, Some(0x2d3), Some(0x4c00_042e), "ompi_mpi_complex4"),
    of(Kind::Datatype, "MPI_LOGICAL8", 0x2d8, Some(0x2d8), Some(0x4c00_084a), "ompi_mpi_logical8"),
    of(Kind::Datatype, "MPI_INTEGER8", 0x2d9, Some(0x2d9), Some(0x4c00_0831), "ompi_mpi_integer8"),
    of(Kind::Datatype, "MPI_REAL8", 0x2da, Some(0x2da), Some(0x4c00_0829), "ompi_mpi_real8"),
    of(Kind::Datatype, "MPI_COMPLEX8", 0x2db, Some(0x2db), Some(0x4c00_0828), "ompi_mpi_complex8"),
    of(Kind::Datatype, "MPI_LOGICAL16", 0x2e0, Some(0x2e0), Some(0x4c00_104b), ""),
    of(Kind::Datatype, "MPI_INTEGER16", 0x2e1, Some(0x2e1), Some(0x4c00_1032), "ompi_mpi_integer16"),
    of(Kind::Datatype, "MPI_REAL16", 0x2e2, Some(0x2e2), Some(0x4c00_102b), "ompi_mpi_real16"),
    of(Kind::Datatype, "MPI_COMPLEX16", 0x2e3, Some(0x2e3), Some(0x4c00_102a), "ompi_mpi_complex16"),
    of(Kind::Datatype, "MPI_COMPLEX32", 0x2eb, Some(0x2eb), Some(0x4c00_202c), "ompi_mpi_complex32"),
    of(Kind::Datatype, "MPI_LB", 0x3f0, None, Some(0x4c00_0010), "ompi_mpi_lb"),
    of(Kind::Datatype, "MPI_UB", 0x3f1, None, Some(0x4c00_0011), "ompi_mpi_ub"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_one_handle_each_and_below_those_of_made_ones() {
        for (i, p) in PREDEFINED.iter().enumerate() {
            let found = predefined(p.kind, p.number).expect("it is in the table");
            assert!(std::ptr::eq(found, p), "{} is {} ({i})", p.name, found.name);
            assert!(p.number < FIRST_MADE);
        }
        let int = predefined(Kind::Datatype, 0x209).expect("MPI_INT");
        assert_eq!(int.name, "MPI_INT");
        assert_eq!(int.native(Family::Mpich), Some(Native::Value(0x4c00_0405)));
        assert_eq!(
            int.native(Family::OpenMpi),
            Some(Native::Symbol("ompi_mpi_int"))
        );
    }

    #[test]
    fn every_kind_of_handle_has_a_null() {
        use Kind::*;
        for kind in [
            Comm, Datatype, Op, Group, Window, File, Info, Errhandler, Request, Message, Session,
        ] {
            assert!(predefined(kind, NULL).is_some(), "{kind:?}");
        }
    }
}
