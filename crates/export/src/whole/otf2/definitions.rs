//! The global definitions of an archive: what the numbers in its events mean.

use super::bytes::{number, number32, record, text};
use super::chunks::{Chunks, Sink};
use rustc_hash::FxHashMap;
use std::io;

/// Numbers of records.
mod kind {
    pub const CLOCK: u8 = 5;
    pub const STRING: u8 = 10;
    pub const SYSTEM_TREE_NODE: u8 = 12;
    pub const LOCATION_GROUP: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const COMM: u8 = 22;
}

const PROCESS: u8 = 1;
const CPU_THREAD: u8 = 1;
const FUNCTION: u8 = 1;
const MPI: u8 = 4;
const COMPILER: u8 = 2;
/// Kinds of groups, as today and as in the first version of the format.
const COMM_LOCATIONS: (u8, u8) = (4, 6);
const COMM_GROUP: (u8, u8) = (5, 4);

/// Bytes of a chunk: as many as OTF2's own writers take.
pub const CHUNK: usize = 4 << 20;
/// Ticks in a second.
pub const RESOLUTION: u64 = 1_000_000_000;

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Code {
    /// Name.
    pub name: String,
    /// Source file; empty if it is not known.
    pub file: String,
    /// First and last line; 0 if they are not known.
    pub lines: (u32, u32),
    /// Whether it is one of MPI's.
    pub is_mpi: bool,
}

/// Definitions on the way to their file.
pub struct Definitions<'s> {
    chunks: Chunks,
    strings: FxHashMap<String, u32>,
    groups: u32,
    sink: Sink<'s>,
}

impl<'s> Definitions<'s> {
    /// Definitions of a trace that takes so many ticks.
    pub fn new(ticks: u64, sink: Sink<'s>) -> io::Result<Self> {
        let mut this = Self {
            chunks: Chunks::new(CHUNK),
            strings: FxHashMap::default(),
            groups: 0,
            sink,
        };
        let mut data = Vec::new();
        number(&mut data, RESOLUTION);
        number(&mut data, 0);
        number(&mut data, ticks.max(1));
        // Nobody knows the time of day.
        number(&mut data, u64::MAX);
        this.add(kind::CLOCK, &data)?;
        this.string("")?;
        Ok(this)
    }

    fn add(&mut self, kind: u8, data: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(data.len() + 10);
        record(&mut bytes, kind, data);
        self.chunks.add(None, &bytes, self.sink)
    }

    /// The number of a text.
    pub fn string(&mut self, value: &str) -> io::Result<u32> {
        if let Some(known) = self.strings.get(value) {
            return Ok(*known);
        }
        let id = self.strings.len() as u32;
        let mut data = Vec::new();
        number32(&mut data, id);
        text(&mut data, value);
        self.add(kind::STRING, &data)?;
        self.strings.insert(value.to_string(), id);
        Ok(id)
    }

    /// The machine.
    pub fn machine(&mut self) -> io::Result<()> {
        let name = self.string("machine")?;
        let mut data = Vec::new();
        for n in [0, name, name, u32::MAX] {
            number32(&mut data, n);
        }
        self.add(kind::SYSTEM_TREE_NODE, &data)
    }

    /// A rank.
    pub fn rank(&mut self, rank: u32) -> io::Result<()> {
        let name = self.string(&format!("MPI Rank {rank}"))?;
        let mut data = Vec::new();
        number32(&mut data, rank);
        number32(&mut data, name);
        data.push(PROCESS);
        number32(&mut data, 0);
        number32(&mut data, u32::MAX);
        self.add(kind::LOCATION_GROUP, &data)
    }

    /// A thread of a rank, with the number of its events.
    pub fn location(&mut self, id: u64, rank: u32, thread: u32, events: u64) -> io::Result<()> {
        let name = match thread {
            0 => "Master thread".to_string(),
            n => format!("Thread {n}"),
        };
        let name = self.string(&name)?;
        let mut data = Vec::new();
        number(&mut data, id);
        number32(&mut data, name);
        data.push(CPU_THREAD);
        number(&mut data, events);
        number32(&mut data, rank);
        self.add(kind::LOCATION, &data)
    }

    /// A region.
    pub fn region(&mut self, id: u32, code: &Code) -> io::Result<()> {
        let (name, file) = (self.string(&code.name)?, self.string(&code.file)?);
        let mut data = Vec::new();
        number32(&mut data, id);
        number32(&mut data, name);
        number32(&mut data, 0);
        // The kind of the format's first version: unknown.
        data.push(0);
        number32(&mut data, file);
        number32(&mut data, code.lines.0);
        number32(&mut data, code.lines.1);
        number32(&mut data, name);
        data.push(FUNCTION);
        data.push(if code.is_mpi { MPI } else { COMPILER });
        number32(&mut data, 0);
        self.add(kind::REGION, &data)
    }

    /// The locations of the ranks.
    pub fn ranks(&mut self, locations: &[u64]) -> io::Result<()> {
        self.group(COMM_LOCATIONS, locations).map(|_| ())
    }

    fn group(&mut self, (kind, old): (u8, u8), members: &[u64]) -> io::Result<u32> {
        let id = self.groups;
        self.groups += 1;
        let mut data = Vec::new();
        number32(&mut data, id);
        number32(&mut data, 0);
        data.push(old);
        number32(&mut data, members.len() as u32);
        for member in members {
            number(&mut data, *member);
        }
        data.push(kind);
        data.push(MPI);
        number32(&mut data, 0);
        self.add(kind::GROUP, &data)?;
        Ok(id)
    }

    /// A communicator with its ranks.
    pub fn communicator(&mut self, id: u32, name: &str, ranks: &[u32]) -> io::Result<()> {
        let members: Vec<u64> = ranks.iter().map(|r| u64::from(*r)).collect();
        let group = self.group(COMM_GROUP, &members)?;
        let name = self.string(name)?;
        let mut data = Vec::new();
        for n in [id, name, group, u32::MAX, 0] {
            number32(&mut data, n);
        }
        self.add(kind::COMM, &data)
    }

    /// Ends the file; returns how many definitions it has.
    pub fn finish(mut self) -> io::Result<u64> {
        self.chunks.finish(self.sink)?;
        Ok(self.chunks.records())
    }
}

/// The anchor file of an archive.
pub fn anchor(event_chunk: usize, locations: u64, definitions: u64) -> Vec<u8> {
    let mut out = vec![3, 0x42];
    text(&mut out, "OTF2");
    // Formats of this file and of the archive, and the version of OTF2 that they are of.
    out.extend_from_slice(&[3, 2, 3, 0, 0]);
    for n in [event_chunk as u64, CHUNK as u64] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    // A file for each location, without compression.
    out.extend_from_slice(&[1, 1]);
    for n in [locations, definitions] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    let creator = concat!("Headwater ", env!("CARGO_PKG_VERSION"));
    for words in ["", creator, ""] {
        text(&mut out, words);
    }
    // No properties, an identity that is the same for the same trace, no snapshots, no thumbnails.
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(locations ^ definitions.rotate_left(32)).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&[2, 1, 0]);
    out
}
