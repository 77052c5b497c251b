//! What a rank's handles mean at the moment: datatypes, groups, windows, files.

use crate::comms::WORLD;
use crate::shape::{Shape, value};
use headwater_mpi_abi::{FIRST_MADE, Kind, predefined};
use headwater_trace::trace::Trace;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The handles of a rank. Numbers are used again when an object is freed, so each is what was made last.
#[derive(Clone, Debug, Default)]
pub struct Handles {
    /// Bytes of made datatypes; `None` where nobody knows.
    sizes: FxHashMap<i64, Option<u64>>,
    /// Ranks of the program.
    pub groups: FxHashMap<i64, Vec<u32>>,
    pub windows: FxHashMap<i64, u32>,
    pub files: FxHashMap<i64, u32>,
}

/// The lists of a trace, by identity.
#[derive(Clone, Debug, Default)]
pub struct Lists(FxHashMap<i64, Vec<i64>>);

impl Lists {
    pub fn of(trace: &Trace) -> Self {
        /// Longer lists are not recorded.
        const LONGEST: u64 = 1 << 17;
        let all = trace.lists.iter().filter(|(_, l)| l.len() <= LONGEST);
        Self(
            all.map(|(identity, l)| (*identity, l.iter().collect()))
                .collect(),
        )
    }

    #[inline]
    pub fn get(&self, identity: i64) -> Option<&[i64]> {
        self.0.get(&identity).map(Vec::as_slice)
    }
}

impl Handles {
    /// Bytes of a datatype.
    #[inline]
    pub fn size(&self, datatype: i64) -> Option<u64> {
        if datatype >= FIRST_MADE {
            return self.sizes.get(&datatype).copied().flatten();
        }
        let place = usize::try_from(datatype).ok()?;
        PREDEFINED.get(place).copied().flatten()
    }

    /// A call that makes a datatype.
    pub fn made_type(&mut self, lists: &Lists, shape: &Shape, values: &[i64]) {
        let number = value(values, shape.at(Kind::NewDatatype));
        if number >= FIRST_MADE {
            let size = self.made_size(lists, shape, values);
            self.sizes.insert(number, size);
        }
    }

    fn made_size(&self, lists: &Lists, shape: &Shape, values: &[i64]) -> Option<u64> {
        let named = |name| u64::try_from(value(values, shape.named(name))).ok();
        let list = |name| lists.get(value(values, shape.named(name)));
        let old = || self.size(value(values, shape.at(Kind::Datatype)));
        let name = shape
            .name
            .trim_start_matches("MPI_Type_")
            .trim_end_matches("_c");
        match name.trim_start_matches("create_") {
            "contiguous" => named("count")?.checked_mul(old()?),
            "vector" | "hvector" | "indexed_block" | "hindexed_block" => {
                let each = named("blocklength")?.checked_mul(old()?)?;
                named("count")?.checked_mul(each)
            }
            "indexed" | "hindexed" => {
                let all: i64 = list("array_of_blocklengths")?.iter().sum();
                u64::try_from(all).ok()?.checked_mul(old()?)
            }
            "struct" => {
                let (blocks, types) = (list("array_of_blocklengths")?, list("array_of_types")?);
                let each = blocks.iter().zip(types);
                let sizes = each.map(|(n, t)| u64::try_from(*n).ok()?.checked_mul(self.size(*t)?));
                sizes.sum()
            }
            "subarray" => {
                let sub = list("array_of_subsizes")?;
                let all = sub
                    .iter()
                    .try_fold(1_u64, |p, n| p.checked_mul(u64::try_from(*n).ok()?));
                all?.checked_mul(old()?)
            }
            "resized" | "dup" => old(),
            _ => None,
        }
    }

    /// A call that makes a group; `of_comm` gives the ranks of a communicator.
    pub fn made_group(
        &mut self,
        lists: &Lists,
        shape: &Shape,
        values: &[i64],
        of_comm: impl Fn(i64) -> Option<Vec<u32>>,
    ) {
        let number = value(values, shape.at(Kind::NewGroup));
        if number < 0 {
            return;
        }
        let old = self.groups.get(&value(values, shape.at(Kind::Group)));
        let ranks = || lists.get(value(values, shape.at(Kind::Ranks)));
        let made = match shape.name {
            "MPI_Comm_group" => of_comm(value(values, shape.comm)),
            "MPI_Group_incl" => old.zip(ranks()).and_then(|(old, ranks)| {
                let of = |r: &i64| old.get(usize::try_from(*r).ok()?).copied();
                ranks.iter().map(of).collect()
            }),
            "MPI_Group_excl" => old.zip(ranks()).map(|(old, ranks)| {
                let kept = (0_i64..).zip(old).filter(|(i, _)| !ranks.contains(i));
                kept.map(|(_, rank)| *rank).collect()
            }),
            "MPI_Win_get_group" => {
                let window = self.windows.get(&value(values, shape.at(Kind::Window)));
                of_comm(window.map_or(-1, |id| -100 - i64::from(*id)))
            }
            _ => None,
        };
        match made {
            Some(ranks) => self.groups.insert(number, ranks),
            None => self.groups.remove(&number),
        };
    }

    /// The communicator of a window or file, the world if it is not known.
    pub fn comm_of(&self, shape: &Shape, values: &[i64]) -> Option<u32> {
        for kind in [Kind::Window, Kind::FreedWindow] {
            if let Some(at) = shape.at(kind) {
                return self.windows.get(values.get(at)?).copied();
            }
        }
        for kind in [Kind::File, Kind::FreedFile] {
            if let Some(at) = shape.at(kind) {
                return self.files.get(values.get(at)?).copied();
            }
        }
        Some(WORLD)
    }
}

/// Bytes of predefined datatypes by number: each message asks for one.
static PREDEFINED: LazyLock<Vec<Option<u64>>> =
    LazyLock::new(|| (0..FIRST_MADE).map(predefined_size).collect());

/// Bytes of a predefined datatype, on machines of today.
fn predefined_size(number: i64) -> Option<u64> {
    let name = predefined(Kind::Datatype, number)?
        .name
        .strip_prefix("MPI_")?;
    Some(match name {
        "CHAR" | "SIGNED_CHAR" | "UNSIGNED_CHAR" | "BYTE" | "PACKED" | "INT8_T" | "UINT8_T"
        | "CHARACTER" | "C_BOOL" | "CXX_BOOL" | "LOGICAL1" | "INTEGER1" => 1,
        "SHORT" | "UNSIGNED_SHORT" | "INT16_T" | "UINT16_T" | "LOGICAL2" | "INTEGER2" | "REAL2" => {
            2
        }
        "INT" | "UNSIGNED" | "FLOAT" | "WCHAR" | "INT32_T" | "UINT32_T" | "LOGICAL" | "INTEGER"
        | "REAL" | "LOGICAL4" | "INTEGER4" | "REAL4" | "COMPLEX4" => 4,
        "SHORT_INT" => 6,
        "DOUBLE_INT" | "LONG_INT" => 12,
        "LONG_DOUBLE" | "INTEGER16" | "REAL16" | "LOGICAL16" | "DOUBLE_COMPLEX" | "COMPLEX16"
        | "C_DOUBLE_COMPLEX" | "CXX_DOUBLE_COMPLEX" | "2DOUBLE_PRECISION" => 16,
        "LONG_DOUBLE_INT" => 20,
        "C_LONG_DOUBLE_COMPLEX" | "CXX_LONG_DOUBLE_COMPLEX" | "COMPLEX32" => 32,
        "DATATYPE_NULL" | "LB" | "UB" => 0,
        _ => 8,
    })
}
