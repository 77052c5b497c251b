//! The events of one thread.

use crate::guest::{clock, memory};
use crate::libraries::frames::{self, Contexts};
use crate::libraries::mapped;
use crate::trace::calls::{Calls, Remembered, UNKNOWN};
use crate::trace::keeper;
use crate::trace::kept::{name_modules, write};
#[cfg(feature = "plain-log")]
use crate::trace::plain_log::PlainLog;
use crate::trace::process::{Process, process};
use headwater_call_path::NONE;
use headwater_format::spool::layout::{REGION_BIT, is_python, text};
use headwater_model::run::python;
use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{FUNCTIONS, fields};
use headwater_mpi_call::args::Args;
use headwater_mpi_call::parameters::{Memo, Parameters, Sink};
use headwater_trace::budget::map_needed;
use headwater_trace::file::Whose;
use headwater_trace::identity::text_identity;
use headwater_trace::open::{About, MOST_FRAMES};
use headwater_trace::recorder::{Recorder, Row};
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Loss, Trace};
use rustc_hash::FxHashMap;

/// Files of a trace are written at least so long apart, nanoseconds.
const SHORTEST: u64 = 250_000_000;

/// And so many times as long as writing one took. They are for ranks that crash: what a rank that hangs has recorded, the
/// keeper writes.
const LEAST_SHARE: u64 = 1000;

/// If the system has less memory, no file is written, bytes.
const ROOM: usize = 32 << 20;

/// Call paths of more frames are cut on the outside.
const DEEPEST: usize = 256;

/// What records the events of one thread.
pub struct Tracer {
    process: &'static Process,
    recorder: Recorder,
    parameters: Parameters,
    thread: u32,
    /// Signatures by function and calling context.
    signatures: FxHashMap<u64, u32>,
    /// Calls that were made before. The place of a call depends on where it comes from and on some arguments.
    calls: Calls,
    /// The place of the call in progress.
    place: usize,
    #[cfg(feature = "plain-log")]
    log: PlainLog,
    /// When recording began, and when the next file is due.
    began: u64,
    due: u64,
}

/// A call that the library has returned from.
pub struct Returned {
    /// Number of the function.
    pub function: u16,
    /// The calling context that it came from.
    #[cfg_attr(not(feature = "plain-log"), expect(dead_code))]
    pub ctx: u32,
    /// Its error code.
    pub result: i32,
    /// When it returned.
    pub now: u64,
}

/// Lists and texts go to the recorder.
struct Lists<'a> {
    recorder: &'a mut Recorder,
    #[cfg(feature = "plain-log")]
    log: &'a mut PlainLog,
}

impl Sink for Lists<'_> {
    fn list(&mut self, values: &[i64]) -> i64 {
        let list = self.recorder.list(values);
        #[cfg(feature = "plain-log")]
        self.log.list(list, values.iter().copied());
        list
    }

    fn text(&mut self, bytes: &[u8]) -> i64 {
        let text = self.recorder.text(bytes);
        #[cfg(feature = "plain-log")]
        self.log.list(text, bytes.iter().map(|b| i64::from(*b)));
        text
    }
}

impl Tracer {
    /// For the thread with this number; `None` if the process is not traced.
    pub fn of_thread(number: u32) -> Option<Box<Self>> {
        let process = process()?;
        let recorder = Recorder::sharing(process.budget.clone(), process.slack.clone());
        Some(Box::new(Self {
            process,
            recorder: match process.lossy {
                Some(lossy) => recorder.lossy(lossy),
                None => recorder,
            },
            parameters: Parameters::new(number),
            thread: number,
            signatures: FxHashMap::default(),
            calls: Calls::new(
                whose(process.rank, number),
                process.rank,
                process.size,
                number,
            ),
            place: 0,
            began: clock::now(),
            due: clock::now() + SHORTEST,
            #[cfg(feature = "plain-log")]
            log: PlainLog::of_thread(process.rank, number),
        }))
    }

    /// Reads what the library may overwrite: a call of `function` from `ctx` is about to be made.
    #[inline]
    pub fn before(&mut self, function: u16, ctx: u32, args: &mut Args, contexts: &mut Contexts) {
        if Some(function) == self.process.abort {
            self.write(clock::now(), true);
        }
        #[cfg(feature = "plain-log")]
        self.log.before();
        let key = key(function, ctx);
        self.place = place(key, function, args);
        if self.calls.at(self.place).is_none_or(|call| call.key != key) {
            self.remember(key, function, ctx, contexts);
        }
        let sink = &mut Lists {
            recorder: &mut self.recorder,
            #[cfg(feature = "plain-log")]
            log: &mut self.log,
        };
        let Some(call) = self.calls.at(self.place) else {
            return;
        };
        let tables = &self.process.tables;
        let parameters = &mut self.parameters;
        parameters.before(tables, function, args, sink, &mut call.memo);
        self.calls.begin(self.place);
    }

    /// A call has returned. Returns whether this took long.
    #[inline]
    pub fn after(
        &mut self,
        call: Returned,
        args: &Args,
        #[cfg_attr(not(feature = "plain-log"), expect(unused))] contexts: &mut Contexts,
        delta: Delta,
    ) -> bool {
        let Returned {
            function,
            result,
            now,
            #[cfg(feature = "plain-log")]
            ctx,
            ..
        } = call;
        self.calls.end();
        let Some(Remembered {
            memo, signature, ..
        }) = self.calls.at(self.place)
        else {
            return false;
        };
        let signature = *signature;
        let sink = &mut Lists {
            recorder: &mut self.recorder,
            #[cfg(feature = "plain-log")]
            log: &mut self.log,
        };
        let tables = &self.process.tables;
        let parameters = &mut self.parameters;
        parameters.after(tables, function, args, result, sink, memo);
        #[cfg(feature = "plain-log")]
        self.log.event(
            FUNCTIONS.get(usize::from(function)).map_or("", |f| f.name),
            self.process.kinds(function),
            frames(ctx, contexts, usize::MAX),
            memo.values(),
            delta,
        );
        let row = match memo.row {
            Memo::NONE => {
                let row = self.recorder.row_of(signature, memo.values());
                memo.row = row.number().unwrap_or(Memo::NONE);
                row
            }
            number => Row::of(number),
        };
        let was_expected = self.recorder.event_in_row(signature, row, delta);
        if let Some(made) = self.parameters.made_comm()
            && self.recorder.charge(Process::FOR_EACH_MADE)
        {
            self.process.add(made);
        }
        let is_due = now >= self.due;
        if is_due {
            self.write(now, false);
        }
        is_due || !was_expected
    }

    /// The thread has left the call in progress by an exception.
    pub fn left(&mut self) {
        self.calls.leave();
    }

    /// The place of the call that begins is another one's: it is this one's from now on.
    #[inline(never)]
    fn remember(&mut self, key: u64, function: u16, ctx: u32, contexts: &mut Contexts) {
        if let Some(gate) = self.calls.make_room() {
            keeper::watch(self, gate, self.process.start);
        }
        let signature = match self.signatures.get(&key) {
            Some(signature) => *signature,
            None if self.recorder.is_full() => UNKNOWN,
            None => self.new_signature(key, function, ctx, contexts),
        };
        let name = FUNCTIONS.get(usize::from(function)).map_or("", |f| f.name);
        let kinds = self.process.kinds(function).iter().copied();
        let values = kinds.zip(fields(function).iter().map(|field| field.after));
        let about = match self.recorder.identity(signature) {
            Some((identity, frames)) => About::new(identity, name, values, ABSENT, frames),
            None => {
                let frames = self.frames(ctx, contexts, MOST_FRAMES);
                About::new(0, name, values, ABSENT, &frames)
            }
        };
        if let Some(call) = self.calls.at(self.place) {
            (call.key, call.signature, call.about) = (key, signature, about);
            call.memo.row = Memo::NONE;
        }
    }

    /// The call path of a calling context, with the frames that count as one replaced.
    #[cold]
    fn frames(&self, ctx: u32, contexts: &mut Contexts, most: usize) -> Vec<Frame> {
        let mut frames = frames(ctx, contexts, most);
        let slack = &self.process.slack;
        if !slack.ranges.is_empty() {
            for frame in &mut frames {
                let path = mapped::path(frame.module).unwrap_or_default();
                *frame = slack.in_range(*frame, &path);
            }
        }
        frames
    }

    #[cold]
    fn new_signature(&mut self, key: u64, function: u16, ctx: u32, contexts: &mut Contexts) -> u32 {
        let frames = self.frames(ctx, contexts, DEEPEST);
        let name = FUNCTIONS.get(usize::from(function)).map_or("", |f| f.name);
        let kinds = self.process.kinds(function);
        let signature = self.recorder.signature(name, kinds, &frames);
        let known = &self.signatures;
        let more = map_needed(known.len(), known.capacity(), size_of::<(u64, u32)>());
        if more == 0 || self.recorder.charge(more) {
            self.signatures.insert(key, signature);
        }
        signature
    }

    /// Whether some lists or handles did not fit.
    pub fn has_unknown(&self) -> bool {
        self.parameters.lost(&self.process.tables)
    }

    /// Writes what was recorded so far into a file, for the case that the process does not reach `MPI_Finalize`. The
    /// next one is due when the run is longer by a quarter. Each thread writes its own events. If there is too little memory
    /// for a copy, the file before remains, but the program's `last` one is written. Returns whether there was memory.
    #[cold]
    fn write(&mut self, now: u64, last: bool) -> bool {
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (rank, thread) = (self.process.rank, self.thread);
            let (kept, lost) = (self.recorder.events(), self.recorder.lost());
            if !memory::room(ROOM) {
                return false;
            }
            let mut trace = self.process.trace();
            if lost == 0 {
                trace.losses.push(Loss {
                    rank,
                    thread,
                    kept,
                    lost,
                });
            }
            let write = |mut trace| {
                name_modules(&mut trace);
                write(&trace.to_bytes(), whose(rank, thread));
            };
            self.recorder.write_copy(trace, (rank, thread), last, write)
        }));
        let then = clock::now();
        let took = then.saturating_sub(now);
        let quarter = then.saturating_sub(self.began) / 4;
        self.due = then + quarter.max(SHORTEST).max(took * LEAST_SHARE);
        made.unwrap_or(false)
    }

    /// Writes what was recorded so far, while the thread is held in a call.
    ///
    /// Returns whether there was memory for that.
    pub fn write_for_thread(&mut self) -> bool {
        self.write(clock::now(), false)
    }

    /// Adds the events to the trace of the process, as the stream of `thread`.
    pub fn finish(mut self, trace: &mut Trace, thread: u32) {
        self.calls.finish();
        self.recorder.finish(trace, self.process.rank, thread);
    }
}

fn whose(rank: u32, thread: u32) -> Whose {
    match thread {
        0 => Whose::Rank(rank),
        thread => Whose::Thread(rank, thread),
    }
}

#[inline]
fn key(function: u16, ctx: u32) -> u64 {
    u64::from(function) << 32 | u64::from(ctx)
}

/// The place of a call among those that are remembered. A line of a program often exchanges messages with several
/// partners in turn: most have a buffer each, and the partner is the fourth argument.
#[inline]
fn place(key: u64, function: u16, args: &Args) -> usize {
    let count = FUNCTIONS
        .get(usize::from(function))
        .map_or(0, |f| f.roles.len());
    let some = match count > 3 {
        true => args.raw(0) >> 3 ^ args.raw(3),
        false => 0,
    };
    Calls::place(key ^ key >> 32 ^ some)
}

/// The call path of a calling context, outermost frame first, with so many frames at most.
fn frames(mut ctx: u32, contexts: &mut Contexts, most: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while ctx != NONE
        && frames.len() < most
        && let Some(row) = contexts.row_of(ctx)
    {
        ctx = row.parent;
        // A trace replays code; a region is none.
        if row.address & REGION_BIT != 0 {
            continue;
        }
        let (module, offset) = match is_python(row.address) {
            true => python_place(row.address),
            false => mapped::place(row.address),
        }
        .unwrap_or((0, row.address));
        frames.push(Frame { module, offset });
    }
    frames.reverse();
    frames
}

/// The function that a frame of Python is in, which stands for a module, and its line.
fn python_place(address: u64) -> Option<(u64, u64)> {
    let (row, line) = frames::function_of(address)?;
    let name = python::module_of_trace(&text(&row.file), &text(&row.name));
    let identity = text_identity(name.as_bytes()) as u64;
    mapped::note_name(identity, name);
    Some((identity, u64::from(line) + 1))
}
