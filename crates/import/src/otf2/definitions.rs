//! The definitions of an archive: regions, processes and their threads, communicators, metrics, call sites. Those that
//! the import does not need are skipped.

use super::bytes::Bytes;
use super::chunks::Chunks;
use crate::ImportError;
use crate::regions::{Kind, Region};
use rustc_hash::FxHashMap;
use std::path::Path;

/// Numbers of records, the same in global and local files but for the clock and the mapping tables.
mod kind {
    pub const CLOCK: u8 = 5;
    pub const STRING: u8 = 10;
    pub const SYSTEM_TREE_NODE: u8 = 12;
    pub const LOCATION_GROUP: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const METRIC_MEMBER: u8 = 19;
    pub const METRIC_CLASS: u8 = 20;
    pub const METRIC_INSTANCE: u8 = 21;
    pub const COMM: u8 = 22;
    pub const RMA_WIN: u8 = 24;
    pub const SOURCE_CODE_LOCATION: u8 = 33;
    pub const CALLING_CONTEXT: u8 = 34;
    pub const INTER_COMM: u8 = 43;
}

/// Paradigms that matter.
pub mod paradigm {
    /// OpenMP.
    pub const OPENMP: u8 = 3;
    /// MPI.
    pub const MPI: u8 = 4;
}

/// Roles of regions that matter.
mod role {
    pub const PARALLEL: u8 = 5;
    pub const BARRIER: u8 = 15;
    pub const IMPLICIT_BARRIER: u8 = 16;
    pub const FILE_IO: u8 = 27;
    pub const FILE_IO_METADATA: u8 = 38;
}

/// Kinds of groups.
pub mod group {
    /// The locations that talk to each other; members of others are places in it.
    pub const COMM_LOCATIONS: u8 = 4;
    /// Some of them.
    pub const COMM_GROUP: u8 = 5;
    /// Whoever asks.
    pub const COMM_SELF: u8 = 6;
}

/// The kind of location that runs a program's instructions.
pub const CPU_THREAD: u8 = 1;

/// Clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Ticks in a second.
    pub resolution: u64,
    /// Tick that the trace begins at.
    pub offset: u64,
    /// That moment in nanoseconds since 1970, where the archive records it.
    pub unix_ns: Option<u64>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Its number, by which its files are named.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// [`CPU_THREAD`], or something else.
    pub kind: u8,
    /// Its process.
    pub group: u32,
}

/// Ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// See [`group`].
    pub kind: u8,
    /// See [`paradigm`].
    pub paradigm: u8,
    /// Members.
    pub members: Vec<u64>,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comm {
    /// Its members.
    pub group: u32,
    /// Those on the other side, of an inter-communicator.
    pub other: Option<u32>,
}

/// Values that are read together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricClass {
    /// Their descriptions.
    pub members: Vec<u32>,
}

/// One value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricMember {
    /// Name.
    pub name: String,
    /// Lowest four bits: 0 for a sum since the start.
    pub mode: u8,
    /// Type of the value.
    pub value: u8,
}

/// A call path with the line of its last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallingContext {
    /// Its innermost region.
    pub region: u32,
    /// Line in that region's file, 0 where unknown.
    pub line: u32,
    /// The path without it.
    pub parent: u32,
}

/// All definitions.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Clock.
    pub clock: Clock,
    /// Regions.
    pub regions: FxHashMap<u32, Region>,
    /// Names of the processes, with the node that each is on.
    pub processes: FxHashMap<u32, (String, u32)>,
    /// Threads, in the order of their numbers.
    pub locations: Vec<Location>,
    /// Groups.
    pub groups: FxHashMap<u32, Group>,
    /// Communicators, in the order of their numbers.
    pub comms: Vec<(u32, Comm)>,
    /// Windows with their communicators.
    pub windows: FxHashMap<u32, u32>,
    /// Metrics.
    pub members: FxHashMap<u32, MetricMember>,
    /// Those read together; an instance of a class is that class.
    pub classes: FxHashMap<u32, MetricClass>,
    /// Call paths.
    pub contexts: FxHashMap<u32, CallingContext>,
    nodes: FxHashMap<u32, Node>,
    strings: FxHashMap<u32, String>,
}

/// A part of the machine.
#[derive(Debug, Default)]
struct Node {
    name: String,
    class: String,
    parent: u32,
}

/// A region whose texts come later.
struct RawRegion {
    id: u32,
    name: u32,
    file: u32,
    lines: (u32, u32),
    role: u8,
    paradigm: u8,
}

/// Records that name others that come later.
#[derive(Default)]
struct Raw {
    strings: FxHashMap<u32, String>,
    regions: Vec<RawRegion>,
    processes: Vec<(u32, u32, u32)>,
    locations: Vec<(u32, Location)>,
    members: Vec<(u32, u32, MetricMember)>,
    instances: Vec<(u32, u32)>,
    nodes: Vec<(u32, u32, u32, u32)>,
    lines: FxHashMap<u32, u32>,
    contexts: Vec<(u32, u32, u32, u32)>,
}

impl Definitions {
    /// Reads the global definitions of an archive.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub fn read(path: &Path, chunk: usize) -> Result<Self, ImportError> {
        let mut this = Self::default();
        let mut raw = Raw::default();
        let mut chunks = Chunks::open(path, chunk, "what the archive's definitions are")?;
        chunks.each(|kind, bytes| this.record(&mut raw, kind, &mut bytes.record()?))?;
        this.resolve(raw);
        if this.clock.resolution == 0 {
            return Err(ImportError::damaged(path, "it defines no clock"));
        }
        Ok(this)
    }

    fn record(&mut self, raw: &mut Raw, kind: u8, r: &mut Bytes<'_>) -> Option<()> {
        match kind {
            kind::CLOCK => {
                self.clock.resolution = r.u64()?;
                self.clock.offset = r.u64()?;
                let _length = r.u64()?;
                // Older archives do not have it.
                self.clock.unix_ns = r.u64().filter(|ns| *ns != u64::MAX);
            }
            kind::STRING => {
                raw.strings.insert(r.u32()?, r.text()?);
            }
            kind::SYSTEM_TREE_NODE => raw.nodes.push((r.u32()?, r.u32()?, r.u32()?, r.u32()?)),
            kind::LOCATION_GROUP => {
                let (id, name, _kind) = (r.u32()?, r.u32()?, r.u8()?);
                raw.processes.push((id, name, r.u32()?));
            }
            kind::LOCATION => {
                let (id, name, kind, _events) = (r.u64()?, r.u32()?, r.u8()?, r.u64()?);
                let location = Location {
                    id,
                    kind,
                    group: r.u32()?,
                    ..Default::default()
                };
                raw.locations.push((name, location));
            }
            kind::REGION => raw.region(r)?,
            kind::GROUP => {
                let (id, _name, _old_kind, n) = (r.u32()?, r.u32()?, r.u8()?, r.u32()?);
                // Each member takes a byte at the least.
                let fits = n as usize <= r.left();
                let members = (0..n).map_while(|_| r.u64()).collect();
                let group = Group {
                    members,
                    kind: r.u8().filter(|_| fits)?,
                    paradigm: r.u8()?,
                };
                self.groups.insert(id, group);
            }
            kind::METRIC_MEMBER => {
                let (id, name, _description, _kind) = (r.u32()?, r.u32()?, r.u32()?, r.u8()?);
                let member = MetricMember {
                    mode: r.u8()?,
                    value: r.u8()?,
                    ..Default::default()
                };
                raw.members.push((id, name, member));
            }
            kind::METRIC_CLASS => {
                let (id, n) = (r.u32()?, r.u8()?);
                let members = (0..n).map(|_| r.u32()).collect::<Option<_>>()?;
                self.classes.insert(id, MetricClass { members });
            }
            kind::METRIC_INSTANCE => raw.instances.push((r.u32()?, r.u32()?)),
            kind::COMM => {
                let (id, _name, group) = (r.u32()?, r.u32()?, r.u32()?);
                self.comms.push((id, Comm { group, other: None }));
            }
            kind::INTER_COMM => {
                let (id, _name, group) = (r.u32()?, r.u32()?, r.u32()?);
                let other = Some(r.u32()?);
                self.comms.push((id, Comm { group, other }));
            }
            kind::RMA_WIN => {
                let (id, _name) = (r.u32()?, r.u32()?);
                self.windows.insert(id, r.u32()?);
            }
            kind::SOURCE_CODE_LOCATION => {
                let (id, _file) = (r.u32()?, r.u32()?);
                raw.lines.insert(id, r.u32()?);
            }
            kind::CALLING_CONTEXT => {
                raw.contexts.push((r.u32()?, r.u32()?, r.u32()?, r.u32()?));
            }
            _ => {}
        }
        Some(())
    }

    fn resolve(&mut self, raw: Raw) {
        let text = |id: u32| raw.strings.get(&id).cloned().unwrap_or_default();
        let region = |r: RawRegion| {
            let name = text(r.name);
            let region = Region {
                kind: kind_of(&name, r.paradigm, r.role),
                file: text(r.file),
                first_line: r.lines.0,
                last_line: r.lines.1,
                name,
            };
            (r.id, region)
        };
        self.regions = raw.regions.into_iter().map(region).collect();
        for (id, name, class, parent) in raw.nodes {
            let (name, class) = (text(name), text(class));
            let node = Node {
                name,
                class,
                parent,
            };
            self.nodes.insert(id, node);
        }
        let processes = raw.processes.into_iter();
        self.processes = processes
            .map(|(id, name, node)| (id, (text(name), node)))
            .collect();
        let locations = raw.locations.into_iter();
        self.locations = locations
            .map(|(name, l)| Location {
                name: text(name),
                ..l
            })
            .collect();
        self.locations.sort_by_key(|l| l.id);
        self.comms.sort_by_key(|c| c.0);
        for (id, name, member) in raw.members {
            let name = text(name);
            self.members.insert(id, MetricMember { name, ..member });
        }
        for (id, class) in raw.instances {
            if let Some(class) = self.classes.get(&class).cloned() {
                self.classes.insert(id, class);
            }
        }
        for (id, region, line, parent) in raw.contexts {
            let line = raw.lines.get(&line).copied().unwrap_or(0);
            let context = CallingContext {
                region,
                line,
                parent,
            };
            self.contexts.insert(id, context);
        }
        self.strings = raw.strings;
    }

    /// The text with a number; empty where there is none.
    pub fn text(&self, id: u32) -> &str {
        self.strings.get(&id).map_or("", String::as_str)
    }

    /// The name of the node that a process is on: that of the innermost part of the machine of that class, or of the
    /// part right around the process.
    pub fn node_of(&self, process: u32) -> String {
        let first = self.processes.get(&process).map(|p| p.1);
        let mut around = Vec::new();
        let mut at = first.and_then(|id| self.nodes.get(&id));
        // A circle of parts is no machine.
        while let Some(node) = at.filter(|_| around.len() <= self.nodes.len()) {
            around.push(node);
            at = self.nodes.get(&node.parent);
        }
        let node = around.iter().find(|n| n.class == "node");
        node.or(around.first())
            .map_or_else(String::new, |n| n.name.clone())
    }
}

impl Raw {
    fn region(&mut self, r: &mut Bytes<'_>) -> Option<()> {
        let (id, name, _description, _old_kind) = (r.u32()?, r.u32()?, r.u32()?, r.u8()?);
        let file = r.u32()?;
        let line = |line: u32| if line == u32::MAX { 0 } else { line };
        let lines = (line(r.u32()?), line(r.u32()?));
        // Archives of the first version end here.
        let _canonical = r.u32();
        self.regions.push(RawRegion {
            id,
            name,
            file,
            lines,
            role: r.u8().unwrap_or(0),
            paradigm: r.u8().unwrap_or(0),
        });
        Some(())
    }
}

/// What a region is to the analysis.
fn kind_of(name: &str, paradigm: u8, role: u8) -> Kind {
    match (paradigm, role) {
        (paradigm::MPI, _) => Kind::of_mpi(name),
        (paradigm::OPENMP, role::PARALLEL) => Kind::Parallel,
        (paradigm::OPENMP, role::BARRIER | role::IMPLICIT_BARRIER) => Kind::Barrier,
        (_, role::FILE_IO | role::FILE_IO_METADATA) => Kind::Asleep,
        _ => Kind::Code,
    }
}
