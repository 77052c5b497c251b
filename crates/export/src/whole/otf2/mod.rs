//! OTF2 archives (format of OTF2 2 and 3), written without the OTF2 library.
//!
//! An archive is an anchor file, global definitions, and for each thread its events and its own definitions, of which
//! there are none here. Events of a thread go out chunk by chunk. Regions are the functions of the call paths and those
//! of MPI: between two calls, functions that only the first one's path has are left, and those of the second one are
//! entered, both right after the first call. So computation between two calls is in the path of the second one.
//!
//! Recorded times are means: of a call in the trace, the mean time of all its executions on all ranks after the same
//! call, and the mean computation of its rank before it. So a message may arrive before it was sent. Simulated times
//! have no such error.

mod bytes;
mod chunks;
mod definitions;
mod events;
mod requests;

use super::lengths::Messages;
use super::ranks::{self, Comms};
use crate::error::ExportError;
use chunks::Chunks;
pub use definitions::Code;
use definitions::{Definitions, RESOLUTION, anchor};
use events::Event;
use headwater_simulate::{Done, Network, Op, Options, Program, simulate};
use headwater_trace::expand::Events;
use headwater_trace::trace::{BEGIN, Frame, Signature, Trace};
use headwater_virtual_run::{Note, Place, Recorded, Run};
use requests::Requests;
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;

/// Bytes of a chunk of events: the fewest that OTF2 takes.
const CHUNK: usize = 1 << 18;

/// The anchor file.
pub const ANCHOR: &str = "traces.otf2";
/// The global definitions.
pub const DEFINITIONS: &str = "traces.def";
/// The directory of the locations' files.
pub const LOCATIONS: &str = "traces";

/// The number of the text that names the program.
const PROGRAM: u32 = 1;

/// Where the events of locations go: the number of the location, and bytes to append to its file.
pub type Sink<'s> = &'s mut dyn FnMut(u32, &[u8]) -> io::Result<()>;

/// What function a frame is in; `None` if that is not known.
pub type CodeOf<'a> = &'a dyn Fn(&Frame) -> Option<Code>;

/// A thread.
#[derive(Debug)]
struct Location<'a> {
    events: Events<'a>,
    rank: u32,
    before: u64,
    /// Ticks at which its last call ended.
    now: u64,
    /// Functions that it is in.
    stack: Vec<u32>,
    chunks: Chunks,
}

/// The regions of calls with a signature.
#[derive(Debug)]
struct Path {
    function: u32,
    around: Arc<[u32]>,
}

/// A trace that is written.
pub struct Otf2<'a> {
    recorded: &'a Recorded<'a>,
    trace: &'a Trace,
    code: CodeOf<'a>,
    program: Option<String>,
    steps: Run<'a>,
    size: u32,
    locations: Vec<Location<'a>>,
    requests: Vec<Requests>,
    messages: Messages,
    comms: Comms,
    /// Regions by number, and their numbers.
    regions: Vec<Code>,
    numbers: FxHashMap<Code, u32>,
    paths: FxHashMap<u64, Path>,
}

impl<'a> Otf2<'a> {
    /// Goes through the trace once; `step` is called after each thread.
    ///
    /// # Errors
    /// A rank is missing.
    pub fn new(
        trace: &'a Trace,
        recorded: &'a Recorded<'a>,
        program: Option<String>,
        code: CodeOf<'a>,
        step: impl FnMut(),
    ) -> Result<Self, ExportError> {
        let size = ranks::all(recorded, "otf2")?;
        let location = |(rank, thread): &(u32, u32)| Location {
            events: trace.events(*rank, *thread),
            rank: *rank,
            before: BEGIN,
            now: 0,
            stack: Vec::new(),
            chunks: Chunks::new(CHUNK),
        };
        let steps = recorded.program();
        let mut comms = Comms::default();
        // The world is the first.
        comms.get(&steps, 0, size);
        Ok(Self {
            recorded,
            trace,
            code,
            program,
            steps,
            size,
            locations: recorded.streams().iter().map(location).collect(),
            requests: (0..size).map(|_| Requests::default()).collect(),
            messages: Messages::of(recorded, step),
            comms,
            regions: Vec::new(),
            numbers: FxHashMap::default(),
            paths: FxHashMap::default(),
        })
    }

    /// How many threads there are; each is a location with its number.
    pub fn locations(&self) -> u32 {
        self.locations.len() as u32
    }

    /// Writes the events of a location in recorded times. Each location is written once.
    ///
    /// # Errors
    /// The writer fails.
    pub fn recorded(&mut self, location: u32, sink: Sink<'_>) -> Result<(), ExportError> {
        while self.call(location, None, sink)? {}
        self.end(location, sink)
    }

    /// Writes the events of all locations in the times of a simulation.
    ///
    /// # Errors
    /// The simulation or the writer fails.
    pub fn simulated(&mut self, network: &Network, sink: Sink<'_>) -> Result<(), ExportError> {
        let mut failed = None;
        let recorded = self.recorded;
        let places = recorded.places();
        let see = |done: &Done| {
            if failed.is_none() && matches!(places.get(done.place), Some(Place::Call(_))) {
                let times = (ticks(done.enter), ticks(done.leave));
                failed = self.call(done.stream, Some(times), sink).err();
            }
        };
        let options = Options {
            critical_path: false,
        };
        simulate(recorded.program(), network, options, see)?;
        if let Some(e) = failed {
            return Err(e);
        }
        (0..self.locations()).try_for_each(|location| self.end(location, sink))
    }

    /// Leaves all functions, and ends the file.
    fn end(&mut self, location: u32, sink: Sink<'_>) -> Result<(), ExportError> {
        self.walk(location, &[], sink)?;
        if let Some(l) = self.locations.get_mut(location as usize) {
            l.chunks.finish(&mut |bytes| sink(location, bytes))?;
        }
        Ok(())
    }

    fn event(&mut self, location: u32, ticks: u64, event: Event, sink: Sink<'_>) -> io::Result<()> {
        let mut record = Vec::new();
        event.write(&mut record);
        match self.locations.get_mut(location as usize) {
            Some(l) => l
                .chunks
                .add(Some(ticks), &record, &mut |bytes| sink(location, bytes)),
            None => Ok(()),
        }
    }

    /// Leaves the functions that are not in a path, and enters those that are.
    fn walk(&mut self, location: u32, path: &[u32], sink: Sink<'_>) -> io::Result<()> {
        let Some(l) = self.locations.get_mut(location as usize) else {
            return Ok(());
        };
        let now = l.now;
        let common = l.stack.iter().zip(path).take_while(|(a, b)| a == b).count();
        let left = l.stack.split_off(common);
        l.stack.extend(path.iter().skip(common));
        for region in left.into_iter().rev() {
            self.event(location, now, Event::Leave(region), sink)?;
        }
        for region in path.iter().skip(common) {
            self.event(location, now, Event::Enter(*region), sink)?;
        }
        Ok(())
    }

    /// Writes the next call of a location; `false` if there is none. Without times, they are the recorded ones.
    fn call(
        &mut self,
        location: u32,
        times: Option<(u64, u64)>,
        sink: Sink<'_>,
    ) -> Result<bool, ExportError> {
        let Some(l) = self.locations.get_mut(location as usize) else {
            return Ok(false);
        };
        let Some(happened) = l.events.next() else {
            return Ok(false);
        };
        let identity = happened.event.signature;
        let begins = l.before == BEGIN && self.program.is_some();
        let before = std::mem::replace(&mut l.before, identity);
        let means = happened.event.times.get(&before);
        let means = means.map_or((0.0, 0.0, 0.0), |t| {
            (t.wall.mean(), t.cpu.mean(), t.call.mean())
        });
        let (rank, now) = (l.rank, l.now);
        let Some(signature) = self.trace.signatures.get(&identity) else {
            return Ok(false);
        };
        let (mut ops, mut computed) = (Vec::new(), 0.0);
        while let Some(step) = self.steps.next(location) {
            match (step.op, self.recorded.places().get(step.place)) {
                (op, Some(Place::Call(_))) => ops.push(op),
                (Op::Compute { seconds }, _) => computed += seconds,
                _ => {}
            }
            if !ops.is_empty() && !step.more {
                break;
            }
        }
        let (enter, leave) = times.unwrap_or_else(|| {
            let (wall, cpu, call) = means;
            // The rank's share of the CPU time is its share of the wall time.
            let share = if cpu > 0.0 { computed * 1e9 / cpu } else { 1.0 };
            let enter = now.saturating_add((wall * share).round() as u64);
            (enter, enter.saturating_add(call.round() as u64))
        });
        let (enter, leave) = (enter.max(now), leave.max(enter).max(now));
        let path = self.path(identity, signature);
        if begins {
            self.event(location, now, Event::Program(PROGRAM), sink)?;
        }
        self.walk(location, &path.1, sink)?;
        self.event(location, enter, Event::Enter(path.0), sink)?;
        let (mut begun, mut done) = (Vec::new(), Vec::new());
        if let Some(requests) = self.requests.get_mut(rank as usize) {
            let mut members = |comm| self.comms.numbered(&self.steps, comm, self.size);
            let call = requests::Call {
                rank,
                function: &signature.function,
                ops: &ops,
                messages: &self.messages,
                members: &mut members,
            };
            requests.call(call, &mut begun, &mut done);
        }
        for event in begun {
            self.event(location, enter, event, sink)?;
        }
        for event in done {
            self.event(location, leave, event, sink)?;
        }
        self.event(location, leave, Event::Leave(path.0), sink)?;
        if let Some(l) = self.locations.get_mut(location as usize) {
            l.now = leave;
        }
        Ok(true)
    }

    /// The region of a function of MPI, and those around it.
    fn path(&mut self, identity: u64, signature: &Signature) -> (u32, Arc<[u32]>) {
        if let Some(known) = self.paths.get(&identity) {
            return (known.function, known.around.clone());
        }
        let function = self.region(Code {
            name: signature.function.clone(),
            is_mpi: true,
            ..Code::default()
        });
        let frames: Vec<Code> = signature.frames.iter().filter_map(self.code).collect();
        let around: Arc<[u32]> = frames.into_iter().map(|code| self.region(code)).collect();
        let path = Path {
            function,
            around: around.clone(),
        };
        self.paths.insert(identity, path);
        (function, around)
    }

    fn region(&mut self, code: Code) -> u32 {
        if let Some(known) = self.numbers.get(&code) {
            return *known;
        }
        let number = self.regions.len() as u32;
        self.regions.push(code.clone());
        self.numbers.insert(code, number);
        number
    }

    /// Writes the global definitions after all events, and returns the anchor file.
    ///
    /// # Errors
    /// The writer fails.
    pub fn definitions(
        &mut self,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Vec<u8>, ExportError> {
        let last = self.locations.iter().map(|l| l.now).max();
        let mut out = Definitions::new(last.unwrap_or(0), sink)?;
        if let Some(program) = self.program.as_deref().filter(|p| !p.is_empty()) {
            // The second text after the empty one.
            let _number = out.string(program)?;
        }
        out.machine()?;
        (0..self.size).try_for_each(|rank| out.rank(rank))?;
        let mut first: Vec<u64> = Vec::new();
        let streams = self.recorded.streams();
        for ((id, l), (rank, thread)) in (0..).zip(&self.locations).zip(streams) {
            out.location(id, *rank, *thread, l.chunks.records())?;
            if first.len() == *rank as usize {
                first.push(id);
            }
        }
        for (id, code) in (0..).zip(&self.regions) {
            out.region(id, code)?;
        }
        out.ranks(&first)?;
        for (id, members) in self.comms.used() {
            let name = match id {
                0 => "MPI_COMM_WORLD".to_string(),
                _ => format!("communicator {id}"),
            };
            out.communicator(id, &name, &members)?;
        }
        let definitions = out.finish()?;
        Ok(anchor(CHUNK, self.locations.len() as u64, definitions))
    }
}

/// What of the calls is not in an archive.
pub fn missing(note: Note) -> Option<&'static str> {
    Some(match note {
        Note::UnknownFunction => "what functions do that this version does not know",
        Note::UnknownCommunicator => {
            "messages and collectives on communicators whose members are not known"
        }
        Note::MissingRank => "messages to or from ranks that are not in the trace",
        Note::UnknownDatatype => {
            "lengths of elements whose datatype is not known; one byte is assumed"
        }
        Note::UnknownRequest => "completions of unknown requests",
        Note::UnknownSource => "receives whose message is not known",
        Note::OneSided => "transfers, locks and flushes of one-sided communication",
        Note::Processes => "what is exchanged with other programs",
        Note::UnknownNeighbours | Note::Threads | Note::Files => return None,
    })
}

/// The definitions of a location: none.
pub fn no_definitions() -> Vec<u8> {
    let mut out = Vec::new();
    let mut chunks = Chunks::new(CHUNK);
    // A vector takes all bytes.
    let _ = chunks.finish(&mut |bytes| {
        out.extend_from_slice(bytes);
        Ok(())
    });
    out
}

fn ticks(seconds: f64) -> u64 {
    (seconds * RESOLUTION as f64).round() as u64
}
