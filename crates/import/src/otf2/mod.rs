//! OTF2 archives, as Score-P and others write them (OTF2 1.x to 3.x), read without the OTF2 library.
//!
//! An archive is an anchor file (`NAME.otf2`), global definitions (`NAME.def`), and in the directory `NAME` two files
//! for each location: its own definitions and its events.

mod anchor;
mod bytes;
mod chunks;
mod comms;
mod definitions;
mod events;
mod local;
mod process;

use crate::calls::class_of;
use crate::counters::{self, Counters};
use crate::notes::Notes;
use crate::rank::{self, About};
use crate::regions::{Kind, Region, RegionIx, Regions};
use crate::windows;
use crate::{ImportError, Program, TraceMetadata};
use anchor::Anchor;
use definitions::{CPU_THREAD, Definitions, Location, group, paradigm};
use headwater_format::spool::SpoolWriter;
use headwater_mpi_abi::Class;
use process::Process;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How the name of an anchor file ends.
pub const ENDING: &str = "otf2";

/// An archive whose definitions are read.
pub struct Archive {
    path: PathBuf,
    anchor: Anchor,
    definitions: Definitions,
    /// The threads of each rank, the one that calls `MPI_Init` first.
    ranks: Vec<Vec<Location>>,
}

/// Numbers of the archive to those of the import.
pub struct Numbers {
    /// Regions.
    pub regions: FxHashMap<u32, RegionIx>,
    /// Communicators.
    pub comms: FxHashMap<u32, u16>,
    /// Windows.
    pub windows: FxHashMap<u32, u16>,
    /// Counters: of a metric class, the places of its members.
    pub counters: FxHashMap<u32, Vec<Option<usize>>>,
}

/// Bytes of an anchor file at the most: it holds a few numbers and names.
const LONGEST_ANCHOR: u64 = 1 << 20;

impl Archive {
    /// Opens the archive with the anchor file `path`.
    ///
    /// # Errors
    /// Files that are missing, damaged, or of a kind that is not read.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let bytes = headwater_files::read(path, LONGEST_ANCHOR).map_err(|e| match e.kind() {
            ErrorKind::NotFound => ImportError::NotATrace(path.to_path_buf()),
            _ => ImportError::io(path)(e),
        })?;
        let anchor = anchor::read(path, &bytes)?;
        let file = path.with_extension("def");
        let definitions = Definitions::read(&file, anchor.definition_chunk)?;
        let ranks = ranks(path, &definitions)?;
        Ok(Self {
            path: path.to_path_buf(),
            anchor,
            definitions,
            ranks,
        })
    }

    /// The file of a location with an ending.
    fn file(&self, location: &Location, ending: &str) -> PathBuf {
        let dir = self.path.with_extension("");
        dir.join(format!("{}.{ending}", location.id))
    }

    /// Bytes of the events of a rank's first thread, which mostly is the one that calls MPI.
    fn length(&self, locations: &[Location]) -> u64 {
        let file = locations.first().map(|l| self.file(l, "evt"));
        let about = file.and_then(|f| std::fs::metadata(f).ok());
        about.map_or(0, |a| a.len())
    }

    /// Writes all ranks to the spool.
    ///
    /// # Errors
    /// A damaged archive, a spool that cannot be written, nothing in the archive.
    pub fn spool(
        &self,
        spool: &mut SpoolWriter,
        program: Option<&str>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TraceMetadata, ImportError> {
        let program = Program::of(program, self.program()?);
        let mut regions = Regions::new(program.file());
        let mut comms = self.comms();
        let (counters, of_classes) = self.counters();
        let numbers = Numbers {
            regions: self.regions(&mut regions),
            comms: comms.1,
            windows: self.windows(&mut comms.0),
            counters: of_classes,
        };
        let ends = |c: Class| {
            let of = |k: &Kind| matches!(k, Kind::Mpi(f) if class_of(*f) == Some(c));
            numbers.regions.values().any(|r| of(&regions.kind(*r)))
        };
        let is_mpi = |r: &RegionIx| matches!(regions.kind(*r), Kind::Mpi(_));
        let alone = !numbers.regions.values().any(is_mpi);
        let (begins, has_end) = (ends(Class::Init), ends(Class::Finalize));
        let clock = self.definitions.clock;
        let mut about = About {
            program: program.path.clone(),
            counters: counters.names,
            unix_ns: clock.unix_ns.unwrap_or(0),
            clock_error_ns: 0,
            has_end: begins && has_end,
            comms: comms.0,
            ranks: self.ranks.len() as u32,
        };
        let (regions, sampling) = (RefCell::new(regions), RefCell::default());
        let mut notes = Notes::default();
        let lengths: Vec<u64> = self.ranks.iter().map(|l| self.length(l)).collect();
        let whole = lengths.iter().fold(0_u64, |sum, l| sum.saturating_add(*l));
        for ((rank, locations), length) in (0..).zip(&self.ranks).zip(lengths) {
            progress(rank as usize, self.ranks.len());
            let mut process = Process::new(self, &about.comms, &numbers, rank);
            let mut shared = rank::shared(
                &regions,
                &sampling,
                locations.len() > 1,
                windows::room(length, whole),
            );
            shared.alone = alone;
            let mut threads = Vec::new();
            for location in locations {
                // Each is read by itself, so what one holds takes no room from the next.
                shared.room.held = 0;
                threads.push(process.thread(location, &mut shared)?);
            }
            notes.one_sided += process.one_sided;
            notes.threads |= locations.len() > 1;
            let clock_error_ns = process.clock_error_ns;
            about.clock_error_ns = about.clock_error_ns.max(clock_error_ns);
            let host = locations.first().map_or(0, |l| l.group);
            let host = self.definitions.node_of(host);
            let rows = rank::rows(threads, &mut shared);
            let ended = rank::end(&about, rank, &host, &rows, &shared);
            notes.rank(&ended);
            spool.add(&ended.rows)?;
        }
        progress(self.ranks.len(), self.ranks.len());
        if !notes.does_anything() {
            return Err(ImportError::Empty(self.path.clone()));
        }
        let [major, minor, patch] = self.anchor.version;
        let by = match self.anchor.creator.as_str() {
            "" => String::new(),
            creator => format!(" by {creator}"),
        };
        Ok(TraceMetadata {
            symbols: regions.into_inner().into_symbols(),
            library: format!("unknown; OTF2 {major}.{minor}.{patch} trace{by}"),
            missing: [program.note(), counters.notes, notes.sentences()].concat(),
        })
    }

    /// The name of the program, if its first event says it.
    fn program(&self) -> Result<Option<String>, ImportError> {
        let first = self.ranks.first().and_then(|l| l.first());
        first.map_or(Ok(None), |location| process::program(self, location))
    }

    fn regions(&self, regions: &mut Regions) -> FxHashMap<u32, RegionIx> {
        let mut all: Vec<_> = self.definitions.regions.iter().collect();
        all.sort_by_key(|(id, _)| **id);
        let add = |(id, r): (&u32, &Region)| (*id, regions.add(r.clone()));
        all.into_iter().map(add).collect()
    }

    /// The counters that are kept, and of each class of metrics the places of its members among them.
    fn counters(&self) -> (Counters, FxHashMap<u32, Vec<Option<usize>>>) {
        let definitions = &self.definitions;
        let mut members: Vec<_> = definitions.members.iter().collect();
        members.sort_by_key(|(id, _)| **id);
        // What grows and is counted: shares and temperatures have no place in a run.
        let counts = |m: &definitions::MetricMember| m.mode & 0xf == 0 && matches!(m.value, 1..=8);
        let (members, others): (Vec<_>, Vec<_>) = members.into_iter().partition(|m| counts(m.1));
        let names: Vec<&str> = members.iter().map(|(_, m)| m.name.as_str()).collect();
        let mut chosen = counters::choose(&names);
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|(_, m)| m.name.as_str()).collect();
            chosen.notes.push(format!(
                "Metrics that are no counts that grow were left out: {}.",
                names.join(", ")
            ));
        }
        let place = |id: &u32| {
            let at = members.iter().position(|(m, _)| *m == id)?;
            chosen.places.get(at).copied().flatten()
        };
        let places = |c: &definitions::MetricClass| c.members.iter().map(place).collect();
        let of = definitions.classes.iter();
        let of = of.map(|(id, c)| (*id, places(c))).collect();
        (chosen, of)
    }
}

/// The threads of each rank: those of the process that the rank's location is in. Without MPI, each process is a rank.
fn ranks(path: &Path, definitions: &Definitions) -> Result<Vec<Vec<Location>>, ImportError> {
    let of_mpi = |(_, g): &(&u32, &definitions::Group)| {
        g.kind == group::COMM_LOCATIONS && g.paradigm == paradigm::MPI
    };
    let file = path.with_extension("def");
    let places = definitions
        .groups
        .iter()
        .filter(of_mpi)
        .min_by_key(|(id, _)| **id);
    let mut threads: BTreeMap<u32, Vec<&Location>> = BTreeMap::new();
    let mut by_id: FxHashMap<u64, &Location> = FxHashMap::default();
    for location in &definitions.locations {
        by_id.insert(location.id, location);
        if location.kind == CPU_THREAD {
            threads.entry(location.group).or_default().push(location);
        }
    }
    let Some((_, places)) = places else {
        let all = threads
            .into_values()
            .map(|l| l.into_iter().cloned().collect());
        return Ok(all.collect());
    };
    let rank = |id: &u64| {
        let first = *by_id.get(id).ok_or_else(|| {
            let why = format!("it does not define location {id}, which is a rank");
            ImportError::damaged(&file, why)
        })?;
        let own = threads.get(&first.group).into_iter().flatten();
        let others = own.copied().filter(|l| l.id != *id);
        let all = std::iter::once(first).chain(others);
        Ok(all.cloned().collect())
    };
    places.members.iter().map(rank).collect()
}
