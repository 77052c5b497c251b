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
    /// The function in which a thread of an OpenMP team works.
    pub const OUTLINED: u64 = 60_000_018;
    /// A function of the user's that was instrumented.
    pub const FUNCTION: u64 = 60_000_019;
    /// The function that a thread of the user's runs.
    pub const THREAD: u64 = 60_000_020;
    /// The function of an OpenMP task that is done.
    pub const TASK: u64 = 60_000_023;
    /// Functions; 0 is the end of one.
    pub const FUNCTIONS: [u64; 4] = [OUTLINED, FUNCTION, THREAD, TASK];
    /// From those to the types of their lines.
    pub const TO_FUNCTION_LINE: u64 = 100;
    /// A parallel region of OpenMP; 0 is its end.
    pub const PARALLEL: u64 = 60_000_001;
    /// A barrier of OpenMP; 0 is its end.
    pub const BARRIER: u64 = 60_000_005;
    /// The end of a loop or section that a team shares; 0 is where the thread goes on.
    pub const JOIN: u64 = 60_000_016;
    /// Its value where threads wait for each other there.
    pub const WAITS: u64 = 1;
    /// A lock with a name or address: asked for (3), held (6), given back (5), free (0).
    pub const NAMED_LOCK: u64 = 60_000_006;
    /// The lock of critical sections without a name, as above.
    pub const LOCK: u64 = 60_000_007;
    /// The address of a lock.
    pub const LOCK_NAME: u64 = 60_000_032;
    /// Whether values of this type are lines.
    pub fn is_line(kind: u64) -> bool {
        let of = kind.wrapping_sub(TO_FUNCTION_LINE);
        CALLERS.contains(&kind.wrapping_sub(TO_LINES)) || FUNCTIONS.contains(&of)
    }
    /// Whether an event of this type tells where the thread is, without callers.
    pub fn tells_place(kind: u64) -> bool {
        FUNCTIONS.contains(&kind) || [PARALLEL, BARRIER, JOIN, NAMED_LOCK, LOCK].contains(&kind)
    }
    /// The tracer writes its buffer: 1 begins, 0 ends.
    pub const FLUSH: u64 = 40_000_003;
    /// Recording is on (1) or off (0).
    pub const TRACING: u64 = 40_000_012;
    /// Hardware counters: how much each grew since it was last recorded.
    pub const COUNTERS: std::ops::Range<u64> = 42_000_000..42_999_999;
}

/// Regions found so far.
pub struct Places<'a> {
    labels: &'a Labels,
    mpi: FxHashMap<(u64, u64), RegionIx>,
    /// Whether calls of MPI have no name.
    unnamed: bool,
    /// By name, file, and where the name is an abbreviation also by number.
    functions: FxHashMap<(String, String, Option<u64>), RegionIx>,
    /// Regions of OpenMP by what they are called, and functions that are done as tasks.
    named: FxHashMap<String, RegionIx>,
    tasks: FxHashMap<RegionIx, RegionIx>,
    locks: FxHashMap<u64, u32>,
}

impl<'a> Places<'a> {
    /// None so far.
    pub fn new(labels: &'a Labels) -> Self {
        Self {
            labels,
            mpi: FxHashMap::default(),
            unnamed: false,
            functions: FxHashMap::default(),
            named: FxHashMap::default(),
            tasks: FxHashMap::default(),
            locks: FxHashMap::default(),
        }
    }

    /// The region with a name that no label tells.
    pub fn named(&mut self, regions: &mut Regions, name: &str, kind: Kind) -> RegionIx {
        if let Some(region) = self.named.get(name) {
            return *region;
        }
        let region = regions.add(Region {
            name: name.to_string(),
            kind,
            ..Default::default()
        });
        self.named.insert(name.to_string(), region);
        region
    }

    /// The region of a function where it is done as a task.
    pub fn task(&mut self, regions: &mut Regions, function: RegionIx) -> RegionIx {
        *self
            .tasks
            .entry(function)
            .or_insert_with(|| regions.as_kind(function, Kind::Task))
    }

    /// The number of the lock at an address.
    pub fn lock(&mut self, address: u64) -> u32 {
        let next = self.locks.len() as u32;
        *self.locks.entry(address).or_insert(next)
    }

    /// The region of an MPI call.
    pub fn mpi(&mut self, regions: &mut Regions, kind: u64, value: u64) -> RegionIx {
        *self.mpi.entry((kind, value)).or_insert_with(|| {
            let label = self.labels.value(kind, value);
            self.unnamed |= label.is_none();
            let name = label.unwrap_or("MPI call");
            let name = name.split(" [").next().unwrap_or(name).trim();
            regions.add(Region {
                name: name.to_string(),
                kind: Kind::of_mpi(name),
                ..Default::default()
            })
        })
    }

    /// Whether any call of MPI had no name.
    pub fn unnamed_calls(&self) -> bool {
        self.unnamed
    }

    /// The region of a function that the value of a type represents, with the line in it, 0 where that is unknown;
    /// `None` where it represents nothing.
    pub fn function(
        &mut self,
        regions: &mut Regions,
        (kind, value): (u64, u64),
        line: Option<(u64, u64)>,
    ) -> Option<(RegionIx, u32)> {
        let (name, short) = match self.labels.value(kind, value).map(function_of) {
            Some(function) => function.map(|f| (f.name.to_string(), f.short))?,
            // A value that nobody named is a function all the same.
            None => (format!("function {value}"), false),
        };
        let line = line.and_then(|(kind, value)| self.labels.value(kind, value));
        let (line, file) = line
            .and_then(line_of)
            .map_or((0, ""), |l| (l.number, l.file));
        let key = (name, file.to_string(), short.then_some(value));
        let region = *self
            .functions
            .entry(key)
            .or_insert_with_key(|(name, file, _)| {
                regions.add(Region {
                    name: name.clone(),
                    file: file.clone(),
                    ..Default::default()
                })
            });
        Some((region, line))
    }

    /// The path to an MPI call from its callers, outermost first: regions with the line of the call that led to each,
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
