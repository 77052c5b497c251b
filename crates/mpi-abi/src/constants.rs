//! Constants of MPI, as numbers that are the same for all libraries.
//!
//! A trace that was recorded with one library is replayed with another one. So constants that differ between libraries
//! become numbers of ours: [`common`] makes them, and [`native`] makes them what a library calls them again.

use crate::abi::{Abi, Family};
use crate::fields::Kind;

/// A null handle.
pub const NULL: i64 = -1;
/// A handle that nobody knows, or a list or text that was too long.
pub const UNKNOWN: i64 = -2;
/// `MPI_PROC_NULL`, and `MPI_MESSAGE_NO_PROC`.
pub const PROC_NULL: i64 = -3;
/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: i64 = -4;
/// `MPI_ROOT`.
pub const ROOT: i64 = -5;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: i64 = -6;
/// `MPI_UNDEFINED`.
pub const UNDEFINED: i64 = -7;
/// A parameter that has no meaning in the call, or that could not be known.
pub const ABSENT: i64 = -8;
/// `MPI_DISPLACEMENT_CURRENT`.
pub const CURRENT: i64 = -9;
/// `MPI_DISTRIBUTE_DFLT_DARG`.
pub const DEFAULT: i64 = -10;

/// Values of [`Kind::Buffer`].
pub mod buffer {
    /// Memory of the program.
    pub const MEMORY: i64 = 0;
    /// `MPI_IN_PLACE`.
    pub const IN_PLACE: i64 = 1;
    /// `MPI_BOTTOM`, or no memory at all.
    pub const BOTTOM: i64 = 2;
}

/// Added to a number that only its library knows.
const FOREIGN: i64 = 1 << 16;

/// A constant: its name, and its values in Open MPI, in MPICH and in the standard ABI.
type Constant = (&'static str, [i64; 3]);

/// Bits: number `i` is `1 << i` in a trace.
const AMODE: [Constant; 9] = [
    ("MPI_MODE_CREATE", [1, 1, 2]),
    ("MPI_MODE_RDONLY", [2, 2, 16]),
    ("MPI_MODE_WRONLY", [4, 4, 256]),
    ("MPI_MODE_RDWR", [8, 8, 32]),
    ("MPI_MODE_DELETE_ON_CLOSE", [16, 16, 4]),
    ("MPI_MODE_UNIQUE_OPEN", [32, 32, 128]),
    ("MPI_MODE_EXCL", [64, 64, 8]),
    ("MPI_MODE_APPEND", [128, 128, 1]),
    ("MPI_MODE_SEQUENTIAL", [256, 256, 64]),
];

/// Bits, too.
const ASSERT: [Constant; 5] = [
    ("MPI_MODE_NOCHECK", [1, 1024, 1024]),
    ("MPI_MODE_NOSTORE", [8, 2048, 8192]),
    ("MPI_MODE_NOPUT", [4, 4096, 4096]),
    ("MPI_MODE_NOPRECEDE", [2, 8192, 2048]),
    ("MPI_MODE_NOSUCCEED", [16, 16384, 16384]),
];

/// One of several: number `i` is `i` in a trace.
const LOCK: [Constant; 2] = [
    ("MPI_LOCK_EXCLUSIVE", [1, 234, 301]),
    ("MPI_LOCK_SHARED", [2, 235, 302]),
];

const SPLIT_TYPE: [Constant; 4] = [
    ("MPI_COMM_TYPE_SHARED", [0, 1, 221]),
    ("MPI_COMM_TYPE_HW_GUIDED", [13, 2, 223]),
    ("MPI_COMM_TYPE_HW_UNGUIDED", [12, 3, 222]),
    ("MPI_COMM_TYPE_RESOURCE_GUIDED", [-1, 4, 224]),
];

/// The values of the standard ABI are those of MPICH 5.
const WHENCE: [Constant; 3] = [
    ("MPI_SEEK_SET", [600, 600, 403]),
    ("MPI_SEEK_CUR", [602, 602, 401]),
    ("MPI_SEEK_END", [604, 604, 402]),
];

const ORDER: [Constant; 2] = [
    ("MPI_ORDER_C", [0, 56, 12]),
    ("MPI_ORDER_FORTRAN", [1, 57, 15]),
];

const DISTRIBUTION: [Constant; 3] = [
    ("MPI_DISTRIBUTE_NONE", [2, 123, 16]),
    ("MPI_DISTRIBUTE_BLOCK", [0, 121, 17]),
    ("MPI_DISTRIBUTE_CYCLIC", [1, 122, 18]),
];

const TYPECLASS: [Constant; 3] = [
    ("MPI_TYPECLASS_INTEGER", [1, 2, 192]),
    ("MPI_TYPECLASS_REAL", [2, 1, 193]),
    ("MPI_TYPECLASS_COMPLEX", [3, 3, 194]),
];

const THREAD_LEVEL: [Constant; 4] = [
    ("MPI_THREAD_SINGLE", [0, 0, 0]),
    ("MPI_THREAD_FUNNELED", [1, 1, 1024]),
    ("MPI_THREAD_SERIALIZED", [2, 2, 2048]),
    ("MPI_THREAD_MULTIPLE", [3, 3, 4096]),
];

/// The constants of a kind, and whether they are bits.
fn constants(kind: Kind) -> Option<(&'static [Constant], bool)> {
    Some(match kind {
        Kind::Amode => (&AMODE, true),
        Kind::Assert => (&ASSERT, true),
        Kind::Lock => (&LOCK, false),
        Kind::SplitType => (&SPLIT_TYPE, false),
        Kind::Whence => (&WHENCE, false),
        Kind::Order => (&ORDER, false),
        Kind::Distributions => (&DISTRIBUTION, false),
        Kind::Typeclass => (&TYPECLASS, false),
        Kind::ThreadLevel => (&THREAD_LEVEL, false),
        _ => return None,
    })
}

/// Where the values of a family are.
fn column(abi: &Abi) -> usize {
    match abi.family {
        Family::OpenMpi => 0,
        Family::Mpich => 1,
        Family::Standard => 2,
    }
}

/// Single constants of a kind: what they are in a trace, and in a library.
fn single(abi: &Abi, kind: Kind) -> [Option<(i64, i64)>; 3] {
    let undefined = (UNDEFINED, -32766);
    let proc_null = (PROC_NULL, i64::from(abi.proc_null));
    match kind {
        Kind::Peer | Kind::Ranks | Kind::StatusSource | Kind::StatusSources => [
            Some(proc_null),
            Some((ANY_SOURCE, i64::from(abi.any_source))),
            Some(undefined),
        ],
        Kind::Root => {
            let root = if abi.family == Family::Mpich { -3 } else { -4 };
            [Some(proc_null), Some((ROOT, root)), None]
        }
        Kind::Tag | Kind::StatusTag | Kind::StatusTags => {
            [Some((ANY_TAG, i64::from(abi.any_tag))), None, None]
        }
        Kind::Color | Kind::Index | Kind::Indices | Kind::Outcount => [Some(undefined), None, None],
        Kind::View => {
            let standard = abi.family == Family::Standard;
            let current = if standard { -1 } else { -54_278_278 };
            [Some((CURRENT, current)), None, None]
        }
        Kind::DistributionArgs => {
            let default = [-1, -49767, 19].get(column(abi)).copied();
            [default.map(|d| (DEFAULT, d)), None, None]
        }
        _ => [None; 3],
    }
}

/// A value of a library as the number that is the same for all libraries. For a list, it is a value of the list.
#[inline]
pub fn common(abi: &Abi, kind: Kind, raw: i64) -> i64 {
    match kind {
        // Nearly all values are no constants.
        Kind::Peer | Kind::Root | Kind::Tag | Kind::Color | Kind::Index | Kind::Indices
            if raw >= 0 =>
        {
            raw
        }
        Kind::Int | Kind::Count | Kind::Size | Kind::Offset | Kind::Ints | Kind::Counts => raw,
        Kind::Flag | Kind::Flags => i64::from(raw != 0),
        _ => common_constant(abi, kind, raw),
    }
}

fn common_constant(abi: &Abi, kind: Kind, raw: i64) -> i64 {
    let native = column(abi);
    let value_of = |c: &Constant| c.1.get(native).copied();
    match constants(kind) {
        Some((all, true)) => {
            let bits = all.iter().enumerate();
            let set = bits.filter(|(_, c)| value_of(c).is_some_and(|bit| raw & bit != 0));
            set.fold(0, |sum, (i, _)| sum | 1 << i)
        }
        Some((all, false)) => {
            let at = all.iter().position(|c| value_of(c) == Some(raw));
            at.map_or(raw.saturating_add(FOREIGN), |at| at as i64)
        }
        None => {
            let known = single(abi, kind).into_iter().flatten();
            known
                .filter(|s| s.1 == raw)
                .map(|s| s.0)
                .next()
                .unwrap_or(raw)
        }
    }
}

/// The number of a trace as the value of a library; `None` if the library has no such value.
pub fn native(abi: &Abi, kind: Kind, value: i64) -> Option<i64> {
    let native = column(abi);
    match constants(kind) {
        Some((all, true)) => {
            let bits = all.iter().enumerate().filter(|(i, _)| value >> i & 1 != 0);
            bits.map(|(_, c)| c.1.get(native).copied())
                .try_fold(0, |sum, bit| bit.map(|bit| sum | bit))
        }
        Some((all, false)) => {
            let known = usize::try_from(value).ok().and_then(|at| all.get(at));
            let own = known.and_then(|c| c.1.get(native)).copied();
            own.filter(|own| *own >= 0)
        }
        None => {
            let known = single(abi, kind).into_iter().flatten();
            Some(
                known
                    .filter(|s| s.0 == value)
                    .map(|s| s.1)
                    .next()
                    .unwrap_or(value),
            )
        }
    }
}

/// The names of what a value says, for people: those of the bits that are set, or that of the constant.
pub fn names(kind: Kind, value: i64) -> impl Iterator<Item = &'static str> {
    let (all, bits) = constants(kind).unwrap_or((&[], false));
    let is_meant = move |i: usize| match bits {
        true => value >> i & 1 != 0,
        false => usize::try_from(value) == Ok(i),
    };
    let meant = all.iter().enumerate().filter(move |(i, _)| is_meant(*i));
    meant.map(|(_, c)| c.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{Evidence, recognise};

    fn families() -> Vec<&'static Abi> {
        let with = |ompi_world, mpir, standard| {
            let object = "libmpi.so";
            recognise(&Evidence {
                ompi_world,
                mpir,
                standard,
                object,
                version: "",
            })
        };
        [
            with(true, false, None),
            with(false, true, None),
            with(false, false, Some(1)),
        ]
        .map(|abi| abi.expect("a family"))
        .to_vec()
    }

    #[test]
    fn what_one_library_means_another_one_is_told() {
        let [ompi, mpich, standard] = families()[..] else {
            panic!("three families")
        };
        for (kind, one, other) in [
            (Kind::Peer, -2, -1),
            (Kind::Peer, -1, -2),
            (Kind::Peer, 5, 5),
            (Kind::Root, -4, -3),
            (Kind::Tag, -1, -1),
            (Kind::Color, -32766, -32766),
            (Kind::Amode, 1 | 8, 1 | 8),
            (Kind::Assert, 2 | 16, 8192 | 16384),
            (Kind::Lock, 2, 235),
            (Kind::SplitType, 0, 1),
            (Kind::Order, 1, 57),
            (Kind::DistributionArgs, -1, -49767),
            (Kind::View, -54_278_278, -54_278_278),
            (Kind::Typeclass, 2, 1),
        ] {
            let value = common(ompi, kind, one);
            assert_eq!(common(mpich, kind, other), value, "{kind:?}");
            assert_eq!(native(mpich, kind, value), Some(other), "{kind:?}");
            let third = native(standard, kind, value).expect("the standard has all");
            assert_eq!(common(standard, kind, third), value, "{kind:?}");
        }
    }

    #[test]
    fn constants_have_names() {
        let all: Vec<_> = names(Kind::Amode, 0b1001).collect();
        assert_eq!(all, ["MPI_MODE_CREATE", "MPI_MODE_RDWR"]);
        assert!(names(Kind::Lock, 1).eq(["MPI_LOCK_SHARED"]));
        assert_eq!(
            names(Kind::Lock, 9).count() + names(Kind::Int, 1).count(),
            0
        );
    }

    #[test]
    fn what_a_library_lacks_is_none() {
        let [ompi, ..] = families()[..] else {
            panic!("three families")
        };
        assert_eq!(native(ompi, Kind::SplitType, 3), None);
        assert_eq!(
            native(ompi, Kind::SplitType, common(ompi, Kind::SplitType, 7)),
            None
        );
    }
}
