//! Functions and calls of a trace: the values of its events as regions.

use super::labels::{Labels, function_of, line_of};
use crate::regions::{Kind, Region, RegionIx, Regions};
use rustc_hash::FxHashMap;

/// Types of events (Extrae's).
pub mod kind {
    /// MPI calls: point to point, collective, others, one-sided, files; 0 is the end.
    pub const MPI: std::ops::RangeInclusive<u64> = 50_000_001..=50_000_005;
    /// Bytes of a collective that a rank sends.
    pub const SENT: u64 = 50_100_001;
    /// Bytes that it receives.
    pub const RECEIVED: u64 = 50_100_002;
    /// 1 on its root.
    pub const ROOT: u64 = 50_100_003;
    /// Its communicator.
    pub const COMM: u64 = 50_100_004;
    /// Callers of an MPI call, by level from 1 on: functions, and lines in them.
    pub const CALLERS: std::ops::RangeInclusive<u64> = 70_000_001..=70_000_099;
    /// From a caller's type to that of its line.
    pub const TO_LINES: u64 = 10_000_000;
    /// A function of the user's that was instrumented; 0 is its end.
    pub const FUNCTION: u64 = 60_000_019;
    /// From that to the type of its line.
    pub const TO_FUNCTION_LINE: u64 = 100;
    /// The tracer writes its buffer: 1 begins, 0 ends.
    pub const FLUSH: u64 = 40_000_003;
    /// Recording is on (1) or off (0).
    pub const TRACING: u64 = 40_000_012;
    /// Hardware counters: how much each grew since it was last told.
    pub const COUNTERS: std::ops::Range<u64> = 42_000_000..42_999_999;
}

/// Regions found so far.
pub struct Places<'a> {
    labels: &'a Labels,
    mpi: FxHashMap<(u64, u64), RegionIx>,
    functions: FxHashMap<(String, String), RegionIx>,
}

impl<'a> Places<'a> {
    /// None so far.
    pub fn new(labels: &'a Labels) -> Self {
        Self {
            labels,
            mpi: FxHashMap::default(),
            functions: FxHashMap::default(),
        }
    }

    /// The region of an MPI call.
    pub fn mpi(&mut self, regions: &mut Regions, kind: u64, value: u64) -> RegionIx {
        *self.mpi.entry((kind, value)).or_insert_with(|| {
            let name = self.labels.value(kind, value).unwrap_or("MPI call");
            let name = name.split(" [").next().unwrap_or(name).trim();
            regions.add(Region {
                name: name.to_string(),
                kind: Kind::of_mpi(name),
                ..Default::default()
            })
        })
    }

    /// The region of a function that the value of a type stands for, with the line in it, 0 where that is unknown;
    /// `None` where it stands for nothing.
    pub fn function(
        &mut self,
        regions: &mut Regions,
        (kind, value): (u64, u64),
        line: Option<(u64, u64)>,
    ) -> Option<(RegionIx, u32)> {
        let name = match self.labels.value(kind, value) {
            Some(label) => function_of(label)?.to_string(),
            // A value that nobody named is a function all the same.
            None => format!("function {value}"),
        };
        let line = line.and_then(|(kind, value)| self.labels.value(kind, value));
        let (line, file) = line.and_then(line_of).unwrap_or((0, ""));
        let key = (name, file.to_string());
        let region = *self
            .functions
            .entry(key)
            .or_insert_with_key(|(name, file)| {
                regions.add(Region {
                    name: name.clone(),
                    file: file.clone(),
                    ..Default::default()
                })
            });
        Some((region, line))
    }

    /// The path to an MPI call that its callers tell, outermost first: regions with the line of the call that led to each,
    /// and the line of the MPI call itself.
    pub fn path(
        &mut self,
        regions: &mut Regions,
        pairs: &[(u64, u64)],
    ) -> (Vec<(RegionIx, u32)>, u32) {
        let mut callers: Vec<(u64, u64)> = Vec::new();
        callers.extend(pairs.iter().filter(|(k, _)| kind::CALLERS.contains(k)));
        callers.sort_unstable();
        let of_line = |kind: u64| {
            let wanted = kind + kind::TO_LINES;
            pairs.iter().copied().find(|(k, _)| *k == wanted)
        };
        // Innermost first, each with its line.
        let mut frames = Vec::new();
        for (level, value) in callers {
            frames.extend(self.function(regions, (level, value), of_line(level)));
        }
        let own = frames.first().map_or(0, |f| f.1);
        let outer = frames.iter().skip(1).map(|f| f.1).chain([0]);
        let path = frames.iter().zip(outer).map(|(f, line)| (f.0, line));
        let mut path: Vec<(RegionIx, u32)> = path.collect();
        path.reverse();
        (path, own)
    }
}
