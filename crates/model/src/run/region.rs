//! Regions that the program named itself, and how long their iterations took.

use super::CtxId;
use crate::rank::Rank;

/// A region below one caller, on one thread.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Region {
    /// Rank.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Its context, whose module is the region's ([`super::Module::region`]).
    pub ctx: CtxId,
    /// How often it began.
    pub begun: u64,
    /// How often it ended.
    pub ended: u64,
    /// How often it did not nest: it ended without a begin, or a region around it ended first.
    pub unnested: u64,
    /// How often a region inside it began too deep to be recorded.
    pub too_deep: u64,
    /// Iterations: the program marked them, or each begin and end is one.
    pub count: u64,
    /// Wall time of all iterations.
    pub wall_ns: u64,
    /// Wall time of the shortest one.
    pub min_ns: u64,
    /// Wall time of the longest one.
    pub max_ns: u64,
}

/// What a row of [`RegionTime`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RegionPart {
    /// The iterations whose time in nanoseconds has so many bits as `index` says, or more in the last class.
    #[default]
    Class = 0,
    /// One of the slowest iterations.
    Slowest = 1,
    /// A stretch of iterations that follow one another.
    Stretch = 2,
}

impl RegionPart {
    /// The one with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Class, Self::Slowest, Self::Stretch]
            .into_iter()
            .find(|p| *p as u8 == code)
    }
}

/// Some iterations of a region.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct RegionTime {
    /// Row in [`super::Run::regions`].
    pub region: u32,
    /// Which iterations.
    pub part: RegionPart,
    /// Class, or number of the first iteration.
    pub index: u64,
    /// Iterations.
    pub count: u64,
    /// Their wall time; 0 for a class.
    pub wall_ns: u64,
}
