//! Makes the calls: one loop for all functions of MPI.

mod awaited;
mod buffers;
mod shared;
mod unfinished;

use crate::error::Error;
use crate::library::{MOST_ARGUMENTS, Mpi, address, does_nothing};
use crate::memory::Region;
use crate::plan::{Other, Plan};
use crate::resolve::{Step, Value};
use crate::standard::standard;
use awaited::awaited_requests;
use buffers::is_buffer_size;
use headwater_mpi_abi::constants::{ABSENT, NULL, native};
use headwater_mpi_abi::{
    Class, FIRST_MADE, FUNCTIONS, Field, Form, Kind, Mode, id_of, may_be_left_out, predefined,
    replayable,
};
use headwater_trace::trace::Trace;
use rustc_hash::{FxHashMap, FxHashSet};
pub use shared::Common;
use shared::Shared;
use std::os::unix::ffi::OsStrExt;

/// Bytes of a result at least. Those of which calls say how long they are may be longer.
const RESULT: usize = 1 << 16;

/// A function that the trace has.
#[derive(Debug)]
struct Known {
    plan: Plan,
    /// What is called; 0 to leave it out.
    address: usize,
}

/// Replays the steps of one thread of a rank.
#[derive(Debug)]
pub struct Player<'a> {
    mpi: &'a Mpi,
    common: &'a Common<'a>,
    /// Which one of the rank's threads it is.
    at: usize,
    /// By function.
    known: FxHashMap<u16, Known>,
    /// Memory of messages: what is sent, what is received, what is compared with.
    regions: [Region; 3],
    /// Lists and texts, one for each argument.
    lists: [Vec<u64>; MOST_ARGUMENTS],
    /// Single values that are passed by address, one for each argument.
    single: Box<[u64; MOST_ARGUMENTS]>,
    results: [Region; MOST_ARGUMENTS],
    statuses: Region,
    /// Lists that calls which do not block may still read, by their requests.
    kept: FxHashMap<i64, Vec<Vec<u64>>>,
    /// Requests of sends that this thread has not completed, if there are several threads.
    sends: FxHashSet<i64>,
    /// Their handles, if another request has the number now.
    unfinished: Vec<u64>,
    /// Memory of the window that is being made.
    window: Option<Vec<u64>>,
    /// Why a call cannot be made, unless it uses a handle that nothing has made.
    why: Option<Error>,
    /// What was done until now.
    pub counts: Counts,
}

/// Calls of one thread.
#[derive(Debug, Default)]
pub struct Counts {
    /// Calls that were made.
    pub calls: u64,
    /// Those of them that returned an error.
    pub failed: u64,
    /// Calls that were left out, by function.
    pub left_out: FxHashMap<u16, u64>,
}

impl Counts {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        for (function, calls) in &other.left_out {
            *self.left_out.entry(*function).or_default() += calls;
        }
    }
}

impl<'a> Player<'a> {
    /// Ready for the first step of the `at`-th thread.
    pub fn new(mpi: &'a Mpi, trace: &Trace, common: &'a Common<'a>, at: usize) -> Self {
        let ids = trace.signatures.values().filter_map(|s| id_of(&s.function));
        let ids = ids.flat_map(|id| [Some(id), standard(id)]).flatten();
        let known = ids.filter_map(|id| {
            let plan = Plan::new(id.0)?;
            let left_out = replayable(id.0).is_err() && may_be_left_out(id.0);
            let address = if left_out {
                0
            } else {
                mpi.function(plan.function.name)
            };
            Some((id.0, Known { plan, address }))
        });
        let known: FxHashMap<u16, Known> = known.collect();
        Self {
            mpi,
            common,
            at,
            known,
            regions: Default::default(),
            lists: Default::default(),
            single: Box::new([0; MOST_ARGUMENTS]),
            results: Default::default(),
            statuses: Region::default(),
            kept: FxHashMap::default(),
            sends: FxHashSet::default(),
            unfinished: Vec::new(),
            window: None,
            why: None,
            counts: Counts::default(),
        }
    }

    /// Makes the call of a step.
    ///
    /// # Errors
    /// It uses a handle that nothing has made, threads wait for each other, or there is no memory for its buffers.
    pub fn play(&mut self, step: &Step) -> Result<(), Error> {
        let Some((id, known)) = self.known.remove_entry(&step.function) else {
            return Ok(());
        };
        let named: Vec<Value>;
        let values = match self.common.sharing.is_of_one() {
            true => &step.values,
            false => {
                let mut values = step.values.clone();
                self.common.sharing.rename(self.at, id, &mut values);
                named = values;
                &named
            }
        };
        let result = match known.address {
            // A replay ends as a whole, once all threads of all ranks have played their steps.
            _ if known.plan.function.class == Class::Finalize => Some(()),
            0 => {
                *self.counts.left_out.entry(id).or_default() += 1;
                Some(())
            }
            _ => self.play_known(id, &known, values),
        };
        let function = known.plan.function.name;
        self.known.insert(id, known);
        match result {
            Some(()) => Ok(()),
            None => Err(self.why.take().unwrap_or(Error::Handle { function })),
        }
    }

    /// `None` if it cannot be made; `why` says why, unless it uses a handle that nothing has made.
    fn play_known(&mut self, id: u16, known: &Known, values: &[Value]) -> Option<()> {
        let plan = &known.plan;
        let mut arguments = [0u64; MOST_ARGUMENTS];
        let common = self.common;
        let mut guard = self.ready(plan, values)?;
        let shared = &mut *guard;
        if is_about_an_unknown_handler(shared, plan, values) {
            *self.counts.left_out.entry(id).or_default() += 1;
            // It may be the last use that another thread waits for.
            self.is_done(shared, plan, values);
            return Some(());
        }
        self.prepare(shared, plan, values);
        for (at, what) in &plan.others {
            let argument = self.other(shared, plan, (*what, *at), values)?;
            *arguments.get_mut(*at)? = argument;
        }
        for (i, field) in plan.fields.iter().enumerate() {
            if field.form == Form::Address {
                continue;
            }
            let value = values.get(i).cloned().unwrap_or(Value::Number(ABSENT));
            let argument = self.argument(shared, plan, field, &value, values)?;
            *arguments.get_mut(usize::from(field.at))? = argument;
        }
        for (which, own) in plan.buffers.iter().enumerate() {
            let argument = self.buffer(shared, plan, which, own, values)?;
            let at = plan.fields.get(own.field)?.at;
            *arguments.get_mut(usize::from(at))? = argument;
        }
        let requests = awaited_requests(shared, plan, values);
        drop(guard);
        let result = match self.await_what_was_found(plan, known.address, &arguments, &requests) {
            true => 0,
            false => self.mpi.call(known.address, &arguments),
        };
        self.counts.calls += 1;
        self.counts.failed += u64::from(result != 0);
        let shared = &mut *common.lock();
        self.after(shared, plan, values, &arguments);
        self.is_done(shared, plan, values);
        Some(())
    }

    /// There is no memory for so many bytes of a call.
    fn lacks<T>(&mut self, plan: &Plan, bytes: usize) -> Option<T> {
        let function = plan.function.name;
        self.why = Some(Error::Memory { function, bytes });
        None
    }

    /// What has to be done before a call, apart from its arguments.
    fn prepare(&mut self, shared: &mut Shared, plan: &Plan, values: &[Value]) {
        let value = |kind| plan.position(kind).and_then(|i| values.get(i));
        let name = plan.function.name;
        if plan.function.class == Class::FileOpen || name == "MPI_File_delete" {
            const CREATE: i64 = 1;
            let creates = value(Kind::Amode).is_some_and(|mode| mode.number() & CREATE != 0);
            if let (Some(scratch), Some(Value::Text(text))) = (&shared.scratch, value(Kind::Text))
                && !creates
            {
                scratch.find(text);
            }
        }
        // Sessions are begun together with MPI in the recording.
        if let Some(session) = value(Kind::Session).map(Value::number)
            && session >= 0
            && shared.handles.get(Kind::Session, session).is_none()
        {
            let info = shared.handles.null(Kind::Info);
            let handler = self.mpi.predefined(Kind::Errhandler, 0x141).unwrap_or(0);
            let place = address(shared.handles.place(Kind::Session, session));
            self.mpi.ask("MPI_Session_init", &[info, handler, place]);
        }
    }

    /// An argument that is no field.
    fn other(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        (what, at): (Other, usize),
        values: &[Value],
    ) -> Option<u64> {
        Some(match what {
            Other::Status => self.status(plan, 1)?,
            Other::Callback => does_nothing(),
            Other::Allocated => shared.allocated.pop().unwrap_or(0),
            Other::Result => {
                /// No longer result than of so many elements.
                const MOST: i64 = 1 << 24;
                let longest = values.iter().map(|v| match v {
                    Value::Number(n) if (0..MOST).contains(n) => *n,
                    Value::List(list) => list.len() as i64,
                    _ => 0,
                });
                let bytes = 8 * longest.max().unwrap_or(0) as usize;
                self.result(plan, at, bytes)?
            }
        })
    }

    /// Memory for the result of an argument.
    fn result(&mut self, plan: &Plan, at: usize, bytes: usize) -> Option<u64> {
        let bytes = bytes.max(RESULT);
        match self.results.get_mut(at)?.at_least(bytes) {
            0 => self.lacks(plan, bytes),
            place => Some(place),
        }
    }

    /// Memory for so many statuses.
    fn status(&mut self, plan: &Plan, count: usize) -> Option<u64> {
        let bytes = count.saturating_mul(self.mpi.abi.status_bytes);
        match self.statuses.at_least(bytes) {
            0 => self.lacks(plan, bytes),
            place => Some(place),
        }
    }

    fn argument(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        field: &Field,
        value: &Value,
        values: &[Value],
    ) -> Option<u64> {
        let at = usize::from(field.at);
        let number = value.number();
        let kind = field.kind.handle();
        Some(match field.form {
            Form::Int | Form::Long | Form::OldLong if is_buffer_size(plan, field) => {
                self.attached_size(number) as u64
            }
            Form::Int | Form::Long | Form::OldLong => self.constant(field.kind, number) as u64,
            Form::Handle => self.handle(shared, kind, number)?,
            // The library may write it later, if the call does not block.
            Form::Pointed if field.kind == Kind::NewComm && number >= FIRST_COMM => {
                address(shared.handles.begin(kind, number))
            }
            Form::Pointed => {
                let word = match field.kind.is_new() {
                    true => shared.handles.null(kind),
                    false => self.handle(shared, kind, number)?,
                };
                self.single(at, word)
            }
            Form::PointedInt | Form::PointedLong => {
                self.single(at, if field.after { 0 } else { number as u64 })
            }
            Form::Ints | Form::Longs | Form::OldLongs if field.after => {
                let requests = plan
                    .position(Kind::Requests)
                    .and_then(|i| values.get(i)?.list());
                let bytes = 4 * requests.map_or(0, <[i64]>::len);
                self.result(plan, at, bytes)?
            }
            Form::Ints => self.numbers(at, field.kind, value, 4)?,
            Form::Longs | Form::OldLongs => self.numbers(at, field.kind, value, 8)?,
            Form::Handles => self.handle_list(shared, at, field.kind.element()?, value)?,
            Form::Text => self.text(shared, at, field, value)?,
            Form::Status => {
                let requests = plan
                    .position(Kind::Requests)
                    .and_then(|i| values.get(i)?.list());
                let count = requests.map_or(1, |r| r.len().max(1));
                self.status(plan, count)?
            }
            Form::Address => 0,
        })
    }

    fn constant(&self, kind: Kind, number: i64) -> i64 {
        if number == ABSENT {
            0
        } else {
            native(self.mpi.abi, kind, number).unwrap_or(0)
        }
    }

    /// A handle; if the call does not look at it, one of its kind.
    fn handle(&self, shared: &Shared, kind: Kind, number: i64) -> Option<u64> {
        match (number, kind) {
            (ABSENT, Kind::Datatype) => self.mpi.predefined(kind, 0x247),
            (ABSENT, _) => Some(shared.handles.null(kind)),
            // Another thread may have completed it in the recording.
            (_, Kind::Request) if !self.common.sharing.is_of_one() => {
                let found = shared.handles.get(kind, number);
                found.or(Some(shared.handles.null(kind)))
            }
            _ => shared.handles.get(kind, number),
        }
    }

    fn single(&mut self, at: usize, word: u64) -> u64 {
        self.single.get_mut(at..=at).map_or(0, |place| {
            place.fill(word);
            address(place)
        })
    }

    /// The address of a list of numbers of 4 or 8 bytes; 0 for none.
    fn numbers(&mut self, at: usize, kind: Kind, value: &Value, bytes: usize) -> Option<u64> {
        let Value::List(list) = value else {
            return Some(0);
        };
        let abi = self.mpi.abi;
        let each = list
            .iter()
            .map(|n| native(abi, kind, *n).unwrap_or(0) as u64);
        let place = self.lists.get_mut(at)?;
        fill(place, each, bytes);
        Some(address(place))
    }

    fn handle_list(
        &mut self,
        shared: &Shared,
        at: usize,
        kind: Kind,
        value: &Value,
    ) -> Option<u64> {
        let Value::List(list) = value else {
            return Some(0);
        };
        let bytes = shared.handles.bytes(kind);
        let each: Option<Vec<u64>> = list.iter().map(|n| self.handle(shared, kind, *n)).collect();
        let place = self.lists.get_mut(at)?;
        fill(place, each?.into_iter(), bytes);
        Some(address(place))
    }

    fn text(&mut self, shared: &Shared, at: usize, field: &Field, value: &Value) -> Option<u64> {
        let Value::Text(text) = value else {
            return Some(0);
        };
        let path = match &shared.scratch {
            Some(scratch) if field.name == "filename" => Some(scratch.path(text)),
            _ => None,
        };
        let bytes = path.as_ref().map_or(&**text, |p| p.as_os_str().as_bytes());
        let place = self.lists.get_mut(at)?;
        place.clear();
        // A word more: NUL ends it.
        place.extend(bytes.chunks(8).chain([&[][..]]).map(|chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(w, b)| *w = *b);
            u64::from_ne_bytes(word)
        }));
        Some(address(place))
    }

    /// What the call has made, given up and completed.
    fn after(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        values: &[Value],
        arguments: &[u64; MOST_ARGUMENTS],
    ) {
        for (field, value) in plan.fields.iter().zip(values) {
            let (at, kind, number) = (usize::from(field.at), field.kind.handle(), value.number());
            match field.form {
                Form::Pointed if field.kind.is_new() => {
                    self.made(shared, plan, values, field, number)
                }
                Form::Pointed if field.kind.is_freed() => freed(shared, kind, number),
                Form::Pointed if matches!(kind, Kind::Request | Kind::Message) => {
                    let word = self.single.get(at).copied().unwrap_or(0);
                    self.completed(shared, plan, kind, number, word);
                }
                Form::Handles if kind == Kind::Requests => {
                    self.completed_list(shared, plan, at, value.list().unwrap_or(&[]));
                }
                _ => {}
            }
        }
        let name = plan.function.name;
        if name == "MPI_Alloc_mem" {
            // The address that it has returned is the first word of its result.
            let at = plan.others.first().map_or(0, |(at, _)| *at);
            let place = self.results.get_mut(at).map(|r| r.first_word());
            shared.allocated.push(place.unwrap_or(0));
        } else if name.contains("detach") {
            shared.attached.pop();
        }
        if plan.keeps {
            self.keep(shared, plan, values, arguments);
        }
    }

    fn made(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        values: &[Value],
        field: &Field,
        number: i64,
    ) {
        let kind = field.kind.handle();
        let name = plan.function.name;
        if kind == Kind::Comm {
            if number >= FIRST_COMM {
                shared.made_comm(plan, values, number);
                let of = plan.comm.and_then(|i| values.get(i)).map(Value::number);
                shared.sizes.made_comm(number, name, of);
            }
            return;
        }
        if number < 0 || number < FIRST_MADE && predefined(kind, number).is_some() {
            return;
        }
        let word = self.single.get(usize::from(field.at)).copied().unwrap_or(0);
        let handle = shared.handles.stored(kind, word);
        if kind == Kind::Request {
            self.begins(shared, plan, number);
        }
        shared.handles.set(kind, number, handle);
        match kind {
            Kind::Datatype => shared.sizes.forget_datatype(number),
            Kind::Window => {
                if let Some(memory) = self.window.take() {
                    shared.windows.insert(number, memory);
                }
            }
            _ => {}
        }
    }

    /// A request or message that the call may have completed.
    fn completed(&mut self, shared: &mut Shared, plan: &Plan, kind: Kind, number: i64, word: u64) {
        let may = plan.function.class != Class::Start && plan.function.class != Class::Cancel;
        if may && number != NULL && shared.handles.stored(kind, word) == shared.handles.null(kind) {
            shared.handles.remove(kind, number);
            if kind == Kind::Request {
                shared.completed(number);
                self.ends(number);
            }
        }
    }

    fn completed_list(&mut self, shared: &mut Shared, plan: &Plan, at: usize, list: &[i64]) {
        let bytes = shared.handles.bytes(Kind::Request);
        for (i, number) in list.iter().enumerate() {
            let words = self.lists.get(at).map_or(&[][..], Vec::as_slice);
            let word = match bytes {
                4 => words.get(i / 2).map(|w| w >> (32 * (i % 2))),
                _ => words.get(i).copied(),
            };
            self.completed(shared, plan, Kind::Request, *number, word.unwrap_or(0));
        }
    }

    /// Lists that the call may still read stay where they are.
    fn keep(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        values: &[Value],
        arguments: &[u64; MOST_ARGUMENTS],
    ) {
        let completes = plan.function.class.is_completing();
        let request = plan.position(Kind::NewRequest).and_then(|i| values.get(i));
        let request = request.map_or(NULL, Value::number);
        // What had the number before is completed.
        self.kept.remove(&request);
        for (list, argument) in self.lists.iter_mut().zip(arguments) {
            if !completes && *argument != 0 && list.as_ptr() as u64 == *argument {
                let list = std::mem::take(list);
                match plan.function.mode {
                    Mode::Persistent => shared.persistent.push(list),
                    _ => self.kept.entry(request).or_default().push(list),
                }
            }
        }
    }
}

fn freed(shared: &mut Shared, kind: Kind, number: i64) {
    shared.handles.remove(kind, number);
    if kind == Kind::Window {
        shared.windows.remove(&number);
    }
}

/// Error handlers that were not recorded cannot be set or freed.
fn is_about_an_unknown_handler(shared: &Shared, plan: &Plan, values: &[Value]) -> bool {
    let mut all = plan.fields.iter().zip(values);
    all.any(|(field, value)| {
        let kind = field.kind.handle();
        kind == Kind::Errhandler
            && !field.kind.is_new()
            && shared.handles.get(kind, value.number()).is_none()
    })
}

/// The number of the first communicator that a call has made.
const FIRST_COMM: i64 = headwater_mpi_abi::FIRST_MADE_COMM;

/// Fills a list with numbers of 4 or 8 bytes.
fn fill(place: &mut Vec<u64>, mut numbers: impl Iterator<Item = u64>, bytes: usize) {
    place.clear();
    if bytes == 8 {
        place.extend(numbers);
    } else {
        while let Some(low) = numbers.next() {
            let high = numbers.next().unwrap_or(0);
            let [low, high] = [low, high].map(|n| (n as u32).to_ne_bytes());
            let mut word = [0; 8];
            word.iter_mut()
                .zip(low.into_iter().chain(high))
                .for_each(|(w, b)| *w = b);
            place.push(u64::from_ne_bytes(word));
        }
    }
    // An empty list has an address, too.
    if place.is_empty() {
        place.push(0);
    }
}

/// The functions that a replay leaves out.
pub fn left_out(trace: &Trace) -> Vec<&'static str> {
    let ids = trace.signatures.values().filter_map(|s| id_of(&s.function));
    let ids = ids.filter(|id| replayable(id.0).is_err() && may_be_left_out(id.0));
    let mut names: Vec<&str> = ids
        .filter_map(|id| FUNCTIONS.get(usize::from(id.0)))
        .map(|f| f.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
