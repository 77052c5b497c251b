//! Regions of a trace's program, and the module that is made of them: a trace knows no addresses, so each function and
//! each call in one gets an offset from its name, file and line. The same place has the same offset in every trace of
//! a program, so that scales share vertices.

use headwater_model::run::Symbol;
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a region is to the analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Computation.
    #[default]
    Code,
    /// The call of an MPI function, by its number in the table.
    Mpi(u16),
    /// A parallel region, whose threads are a team.
    Parallel,
    /// Where a team comes together; threads wait in it.
    Barrier,
    /// A task of OpenMP: whoever does it works, also where it waits for its team.
    Task,
    /// A call in which a thread sleeps or waits for the system: its time is no CPU time.
    Asleep,
}

impl Kind {
    /// What the region of an MPI function is; `Code` where the table does not have it.
    pub fn of_mpi(name: &str) -> Self {
        abi::id_of(name).map_or(Self::Code, |id| Self::Mpi(id.0))
    }
}

/// A region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Name.
    pub name: String,
    /// Source file; empty where unknown.
    pub file: String,
    /// First line, 0 where unknown.
    pub first_line: u32,
    /// Last line, 0 where unknown.
    pub last_line: u32,
    /// What it is.
    pub kind: Kind,
}

/// Index of a region.
pub type RegionIx = u32;

/// The region around everything: what no region of the trace holds.
pub const PROGRAM: RegionIx = 0;

/// Bits of an offset that are the place in a function.
const INSIDE: u32 = 24;
/// Bits of those that distinguish calls on one line.
const ON_LINE: u32 = 8;

/// All regions with their places.
pub struct Regions {
    all: Vec<Region>,
    functions: FxHashMap<RegionIx, u64>,
    sites: FxHashMap<(RegionIx, RegionIx, u32), u64>,
    taken: FxHashSet<u64>,
    /// What represents recording being switched off, and on.
    switches: [Option<RegionIx>; 2],
    symbols: Vec<Symbol>,
}

/// A hash that is the same in every build of this program (Fowler, Noll and Vo's, variant 1a).
pub fn hash(parts: &[&[u8]]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            h = (h ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    h
}

impl Regions {
    /// No regions but [`PROGRAM`], which has the program's name.
    pub fn new(program: &str) -> Self {
        let around = Region {
            name: program.to_string(),
            ..Default::default()
        };
        Self {
            all: vec![around],
            functions: FxHashMap::default(),
            sites: FxHashMap::default(),
            taken: FxHashSet::default(),
            switches: [None; 2],
            symbols: Vec::new(),
        }
    }

    /// Adds a region.
    pub fn add(&mut self, region: Region) -> RegionIx {
        self.all.push(region);
        (self.all.len() - 1) as RegionIx
    }

    /// Adds a region like another one, of another kind.
    pub fn as_kind(&mut self, region: RegionIx, kind: Kind) -> RegionIx {
        let like = self.get(region).clone();
        self.add(Region { kind, ..like })
    }

    /// What a region is.
    pub fn kind(&self, region: RegionIx) -> Kind {
        self.get(region).kind
    }

    fn get(&self, region: RegionIx) -> &Region {
        static NONE: Region = Region {
            name: String::new(),
            file: String::new(),
            first_line: 0,
            last_line: 0,
            kind: Kind::Code,
        };
        self.all.get(region as usize).unwrap_or(&NONE)
    }

    /// The offset of a region's own code.
    pub fn function(&mut self, region: RegionIx) -> u64 {
        if let Some(offset) = self.functions.get(&region) {
            return *offset;
        }
        let Region {
            name,
            file,
            first_line,
            last_line,
            ..
        } = self.get(region).clone();
        let own = hash(&[name.as_bytes(), file.as_bytes(), &first_line.to_le_bytes()]);
        // From 1 on, and well below what offsets may be.
        let mut offset = (own >> (INSIDE + 2)).max(1) << INSIDE;
        while !self.taken.insert(offset) {
            offset += 1 << INSIDE;
        }
        self.functions.insert(region, offset);
        self.symbols.push(Symbol {
            offset,
            function: true,
            name,
            file,
            first_line,
            last_line,
            ..Default::default()
        });
        offset
    }

    /// The offset of a call of `callee` in `caller`, on `line` where that is known.
    pub fn site(&mut self, caller: RegionIx, callee: RegionIx, line: u32) -> u64 {
        if let Some(offset) = self.sites.get(&(caller, callee, line)) {
            return *offset;
        }
        let function = self.function(caller);
        let (around, name) = (self.get(caller).clone(), self.get(callee).name.clone());
        let by_name = hash(&[name.as_bytes()]);
        let room = 1_u64 << INSIDE;
        // By line, so that calls are in the order of the source; where it is not known, anywhere.
        let mut inside = match line {
            0 => by_name % room,
            line => (u64::from(line) << ON_LINE | by_name & ((1 << ON_LINE) - 1)) % room,
        };
        // So many calls that a function has no room for another one are no function.
        let mut tries = 0;
        while inside == 0 || !self.taken.insert(function + inside) {
            (inside, tries) = ((inside + 1) % room, tries + 1);
            if tries > room {
                return function;
            }
        }
        let offset = function + inside;
        self.sites.insert((caller, callee, line), offset);
        // A call whose line is not known is somewhere in the function.
        let (first_line, last_line) = match line {
            0 => (around.first_line, around.last_line),
            line => (line, line),
        };
        self.symbols.push(Symbol {
            offset,
            function: false,
            name,
            file: around.file,
            first_line,
            last_line,
            ..Default::default()
        });
        offset
    }

    /// The offset of the place in `caller` at which recording is switched `on`, or off.
    pub fn switch(&mut self, caller: RegionIx, on: bool) -> u64 {
        let name = if on { "recording on" } else { "recording off" };
        let known = self.switches.get(usize::from(on)).copied().flatten();
        let region = known.unwrap_or_else(|| {
            self.add(Region {
                name: name.to_string(),
                ..Default::default()
            })
        });
        if let Some(slot) = self.switches.get_mut(usize::from(on)) {
            *slot = Some(region);
        }
        self.site(caller, region, 0)
    }

    /// What is at which offset, in their order.
    pub fn into_symbols(mut self) -> Vec<Symbol> {
        self.symbols.sort_by_key(|s| s.offset);
        self.symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_same_offset_whatever_was_met_before() {
        let region = |name: &str| Region {
            name: name.into(),
            file: "a.c".into(),
            ..Default::default()
        };
        let offsets = |names: [&str; 3]| {
            let mut regions = Regions::new("app");
            let of = names.map(|n| (n.to_string(), regions.add(region(n))));
            let ix = |name: &str| of.iter().find(|(n, _)| n == name).map(|f| f.1).unwrap();
            let (main, solve, send) = (ix("main"), ix("solve"), ix("MPI_Send"));
            let found = [
                regions.site(solve, send, 30),
                regions.site(solve, send, 12),
                regions.site(solve, main, 0),
                regions.function(main),
            ];
            (found, regions.into_symbols())
        };
        let (first, symbols) = offsets(["main", "solve", "MPI_Send"]);
        assert_eq!(first, offsets(["MPI_Send", "main", "solve"]).0);
        assert!(first[1] < first[0], "in the order of lines");
        assert!(symbols.windows(2).all(|w| w[0].offset < w[1].offset));
        let calls: Vec<&str> = (symbols.iter())
            .filter(|s| !s.function)
            .map(|s| s.name.as_str())
            .collect();
        assert_eq!(calls.len(), 3);
    }
}
