//! The events of a rank as they are replayed: what was decided at run time is part of them.
//!
//! * A receive from whoever sends receives from the rank whose message came, with the tag that it had.
//! * A call that completes some of its requests has those only; the others are null.
//! * A poll that found nothing is left out, and so is what its status would say. Computation before it remains.
//!
//! So a replay can neither deadlock nor run ahead, and all that its own trace can differ in is gone: the steps of a trace
//! are those of the trace of its replay.

use crate::computation::{Draw, Executions, OwnWork, Pace, Source};
use crate::draws::Draws;
use headwater_mpi_abi::constants::{ABSENT, ANY_SOURCE, ANY_TAG, NULL};
use headwater_mpi_abi::{Class, FUNCTIONS, Field, Function, Kind, fields, id_of};
use headwater_trace::expand::Events;
use headwater_trace::outliers::Upcoming;
use headwater_trace::times::Times;
use headwater_trace::trace::{BEGIN, Trace};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// A value of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A list.
    List(Rc<[i64]>),
    /// A text.
    Text(Rc<[u8]>),
}

impl Value {
    /// The number; [`ABSENT`] for anything else.
    #[inline]
    pub fn number(&self) -> i64 {
        match self {
            Self::Number(n) => *n,
            _ => ABSENT,
        }
    }

    /// The list.
    pub fn list(&self) -> Option<&[i64]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

/// A call to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The function.
    pub function: u16,
    /// A value for each of its fields.
    pub values: Vec<Value>,
    /// Computation before it, nanoseconds.
    pub computation: f64,
}

/// What is known before the first step.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// Source and tag of the message of each receive that does not block and is from whoever sends, in the order in which
    /// they were posted. `None` if there is not one message.
    messages: VecDeque<Option<(i64, i64)>>,
    /// The sum of all times, nanoseconds.
    pub nanoseconds: f64,
    /// What this rank computes.
    own: OwnWork,
    executions: Executions,
}

/// Steps through all events of a thread of a rank.
pub fn ahead(trace: &Trace, rank: u32, thread: u32) -> Ahead {
    let mut reader = Reader::new(trace, (rank, thread), OwnWork::default());
    let mut draw = Draw::default();
    let mut ahead = Ahead::default();
    let shortest = trace.shortest_outliers(thread);
    let mut shortest = Upcoming::new(&shortest);
    // By request: which receive of `ahead.messages`, and whether a message is known.
    let mut posted: FxHashMap<i64, (usize, bool)> = FxHashMap::default();
    let mut step = Step::default();
    while let Some(call) = reader.next(&mut step, &mut draw) {
        ahead.nanoseconds += step.computation + call;
        // Programs mostly are at the same place at the same event on all ranks.
        let of_any = shortest.next();
        if let Some(times) = reader.times {
            let event = (reader.source, reader.place.0);
            let executions = &mut ahead.executions;
            executions.add(event, times, reader.outlier, of_any);
        }
        let Some(function) = FUNCTIONS.get(usize::from(step.function)) else {
            continue;
        };
        let all = fields(step.function);
        let completes = function.class.is_completing();
        if let Some(request) = position(all, Kind::NewRequest).filter(|_| !completes) {
            if is_wild(all, &step.values) {
                let at = ahead.messages.len();
                ahead.messages.push_back(None);
                posted.insert(number(&step.values, request), (at, false));
            } else if !posted.is_empty() {
                posted.remove(&number(&step.values, request));
            }
        }
        if function.class == Class::Cancel
            && let Some(request) = position(all, Kind::Request)
        {
            // What the status of a receive says that was called off is no message's.
            posted.remove(&number(&step.values, request));
        }
        if !completes || posted.is_empty() {
            continue;
        }
        let (sources, tags) = said(all, &step.values);
        let done = completed(all, &step.values);
        for (i, request) in done.iter().enumerate() {
            let of = |list: &[i64]| list.get(i).copied().filter(|n| *n >= 0);
            let message = of(&sources).zip(of(&tags));
            if let (Some((at, known)), Some(message)) = (posted.get_mut(request), message)
                && let Some(place) = ahead.messages.get_mut(*at)
            {
                // A persistent one may receive others' messages later.
                *place = Some(message).filter(|m| !*known || *place == Some(*m));
                *known = true;
            }
        }
    }
    ahead.own = ahead.executions.own(trace, rank, thread);
    ahead
}

fn position(all: &[Field], kind: Kind) -> Option<usize> {
    all.iter().position(|f| f.kind == kind)
}

#[inline]
fn number(values: &[Value], at: usize) -> i64 {
    values.get(at).map_or(ABSENT, Value::number)
}

/// Whether a call receives from whoever sends, or with any tag.
fn is_wild(all: &[Field], values: &[Value]) -> bool {
    all.iter()
        .zip(values)
        .any(|(field, value)| match field.kind {
            Kind::Peer => *value == Value::Number(ANY_SOURCE),
            Kind::Tag => *value == Value::Number(ANY_TAG),
            _ => false,
        })
}

/// Sources and tags that the statuses of a call have.
fn said(all: &[Field], values: &[Value]) -> (Vec<i64>, Vec<i64>) {
    let of = |one: Kind, many: Kind| {
        let at = all.iter().position(|f| f.kind == one || f.kind == many);
        match at.and_then(|at| values.get(at)) {
            Some(Value::List(list)) => list.to_vec(),
            Some(Value::Number(n)) => vec![*n],
            _ => Vec::new(),
        }
    };
    (
        of(Kind::StatusSource, Kind::StatusSources),
        of(Kind::StatusTag, Kind::StatusTags),
    )
}

/// The requests that a call has completed, in the order of its statuses.
fn completed(all: &[Field], values: &[Value]) -> Vec<i64> {
    let value = |kind| position(all, kind).and_then(|at| values.get(at));
    let list = match value(Kind::Requests) {
        Some(Value::List(list)) => list,
        _ => {
            return value(Kind::Request)
                .map(Value::number)
                .into_iter()
                .collect();
        }
    };
    let at = |i: i64| usize::try_from(i).ok().and_then(|i| list.get(i)).copied();
    if let Some(indices) = value(Kind::Indices) {
        let all = indices.list().unwrap_or(&[]).iter();
        return all.map(|i| at(*i).unwrap_or(NULL)).collect();
    }
    match value(Kind::Index) {
        Some(index) => at(index.number()).into_iter().collect(),
        None => list.to_vec(),
    }
}

/// The events of a rank with their lists and texts.
struct Reader<'a> {
    events: Events<'a>,
    rank: u32,
    /// How many events were read.
    read: u64,
    /// Gives the values of a lossy trace.
    draws: Option<Draws<'a>>,
    values: Vec<i64>,
    /// Functions by signature.
    functions: FxHashMap<u64, u16>,
    lists: FxHashMap<i64, Rc<[i64]>>,
    thread: u32,
    /// Lists of requests, as all threads name them.
    requests: FxHashMap<i64, Rc<[i64]>>,
    texts: FxHashMap<i64, Rc<[u8]>>,
    own: OwnWork,
    /// The signature of the event, and of the one before it.
    place: (u64, u64),
    /// Where the time before the event comes from.
    source: Source,
    /// The computation that the trace has one by one, and the one before the event, if it is among them.
    upcoming: Upcoming<'a>,
    outlier: Option<u64>,
    times: Option<&'a Times>,
}

impl<'a> Reader<'a> {
    fn new(trace: &'a Trace, (rank, thread): (u32, u32), own: OwnWork) -> Self {
        let signatures = trace.signatures.iter();
        let functions = signatures.filter_map(|(id, s)| Some((*id, id_of(&s.function)?.0)));
        let lists = trace.lists.iter();
        let texts = trace.texts.iter();
        Self {
            thread,
            rank,
            read: 0,
            draws: None,
            values: Vec::new(),
            events: trace.events(rank, thread),
            requests: FxHashMap::default(),
            functions: functions.collect(),
            lists: lists
                .map(|(id, list)| (*id, list.iter().collect()))
                .collect(),
            texts: texts
                .map(|(id, text)| (*id, text.as_slice().into()))
                .collect(),
            own,
            place: (BEGIN, BEGIN),
            source: (0, BEGIN),
            upcoming: Upcoming::of(trace, rank, thread),
            outlier: None,
            times: None,
        }
    }

    /// Reads the next event into `step`. Returns the time of the call, nanoseconds.
    fn next(&mut self, step: &mut Step, draw: &mut Draw) -> Option<f64> {
        let happened = self.events.next()?;
        let signature = happened.event.signature;
        step.function = self.functions.get(&signature).copied().unwrap_or(u16::MAX);
        step.values.clear();
        let mut values = happened.values;
        if let Some(draws) = &self.draws {
            self.values.clear();
            self.values.extend_from_slice(values);
            draws.fill(self.rank, self.read, signature, &mut self.values);
            values = &self.values;
        }
        self.read += 1;
        let all = fields(step.function).iter().zip(values);
        step.values.extend(all.map(|(field, value)| {
            let list = field.kind.is_list().then(|| self.lists.get(value));
            let text = (field.kind == Kind::Text).then(|| self.texts.get(value));
            match (list.flatten(), text.flatten()) {
                (Some(list), _) if field.kind == Kind::Requests => {
                    let named = self.requests.entry(*value);
                    let name = |n: &i64| request(self.thread, *n);
                    let named = named.or_insert_with(|| list.iter().map(name).collect());
                    Value::List(named.clone())
                }
                _ if field.kind.handle() == Kind::Request => {
                    Value::Number(request(self.thread, *value))
                }
                (Some(list), _) => Value::List(list.clone()),
                (_, Some(text)) => Value::Text(text.clone()),
                _ => Value::Number(*value),
            }
        }));
        let before = self.place.0;
        self.place = (signature, before);
        self.outlier = self.upcoming.next();
        self.source = (std::ptr::from_ref(happened.event).addr(), before);
        self.times = happened.event.times.get(&before).map(AsRef::as_ref);
        let Some(times) = self.times else {
            step.computation = 0.0;
            return Some(0.0);
        };
        let own = self.own.of(self.place);
        step.computation = draw.of(self.source, times, own, self.outlier);
        Some(times.call.mean())
    }
}

/// The name of a request that all threads of a rank have in common: in a trace, a thread counts its own ones from 0, and those
/// of others have the thread's number plus 1 above their own.
fn request(thread: u32, number: i64) -> i64 {
    match number {
        ..0 => number,
        n if n >> 32 == 0 => i64::from(thread) << 32 | n,
        n => n - (1 << 32),
    }
}

/// The steps of a thread of a rank.
pub struct Steps<'a> {
    reader: Reader<'a>,
    ahead: Ahead,
    draw: Draw,
    step: Step,
    /// Computation before events that were left out.
    left: f64,
    /// Polls that found nothing.
    idle: u64,
}

impl std::fmt::Debug for Steps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").field("step", &self.step).finish()
    }
}

impl<'a> Steps<'a> {
    /// Before the first one of a rank and thread. `ahead` is that of the same.
    pub fn new(trace: &'a Trace, (rank, thread): (u32, u32), mut ahead: Ahead, pace: Pace) -> Self {
        let own = std::mem::take(&mut ahead.own);
        let executions = std::mem::take(&mut ahead.executions);
        Self {
            reader: Reader::new(trace, (rank, thread), own),
            draw: Draw::new(pace, (rank, thread), &executions),
            ahead,
            step: Step::default(),
            left: 0.0,
            idle: 0,
        }
    }

    /// Draws the values of a lossy trace.
    pub fn drawing(mut self, draws: Draws<'a>) -> Self {
        self.reader.draws = Some(draws);
        self
    }

    /// The number of the last step's event.
    pub fn event(&self) -> u64 {
        self.reader.read.saturating_sub(1)
    }

    /// The next step; `None` at the end.
    #[allow(
        clippy::should_implement_trait,
        reason = "a step is lent, so that its memory is used again"
    )]
    pub fn next(&mut self) -> Option<&Step> {
        loop {
            self.reader.next(&mut self.step, &mut self.draw)?;
            self.left += self.step.computation;
            let Some(function) = FUNCTIONS.get(usize::from(self.step.function)) else {
                continue;
            };
            let all = fields(self.step.function);
            if is_idle(function, all, &self.step.values) {
                self.idle += 1;
                continue;
            }
            decide(function, all, &mut self.step.values, &mut self.ahead);
            self.step.computation = std::mem::take(&mut self.left);
            return Some(&self.step);
        }
    }

    /// How many polls found nothing until now.
    pub fn idle(&self) -> u64 {
        self.idle
    }

    /// Computation after the last step, nanoseconds.
    pub fn rest(&mut self) -> f64 {
        std::mem::take(&mut self.left)
    }
}

/// Whether a call has looked for something and found nothing.
fn is_idle(function: &Function, all: &[Field], values: &[Value]) -> bool {
    let looks = matches!(function.class, Class::Test | Class::Probe | Class::Arrived)
        || function.name == "MPI_Win_test"
        || function.name.starts_with("MPI_Request_get_status");
    let value = |kind| {
        let at = all.iter().position(|f| f.kind == kind && f.after);
        at.map(|at| number(values, at))
    };
    looks && (value(Kind::Flag) == Some(0) || value(Kind::Outcount) == Some(0))
}

/// Makes what was decided at run time a part of the values.
fn decide(function: &Function, all: &[Field], values: &mut [Value], ahead: &mut Ahead) {
    let completes = function.class.is_completing();
    let requests = position(all, Kind::Requests);
    let by_index = position(all, Kind::Indices).or(position(all, Kind::Index));
    if let (Some(requests), Some(index)) = (requests, by_index)
        && let Some(list) = values.get(requests).and_then(Value::list)
    {
        let done: Vec<i64> = match values.get(index) {
            Some(Value::List(indices)) => indices.to_vec(),
            Some(Value::Number(index)) => vec![*index],
            _ => Vec::new(),
        };
        let kept = list.iter().zip(0i64..).map(
            |(request, i)| {
                if done.contains(&i) { *request } else { NULL }
            },
        );
        let kept: Rc<[i64]> = kept.collect();
        if let Some(place) = values.get_mut(requests) {
            *place = Value::List(kept);
        }
    }
    let made = position(all, Kind::NewRequest);
    if !completes && is_wild(all, values) {
        let message = match made {
            Some(_) => ahead.messages.pop_front().flatten(),
            None => {
                let (sources, tags) = said(all, values);
                let first = |list: Vec<i64>| list.first().copied().filter(|n| *n >= 0);
                first(sources).zip(first(tags))
            }
        };
        if let Some((source, tag)) = message {
            for (field, value) in all.iter().zip(values.iter_mut()) {
                match field.kind {
                    Kind::Peer if *value == Value::Number(ANY_SOURCE) => {
                        *value = Value::Number(source);
                    }
                    Kind::Tag if *value == Value::Number(ANY_TAG) => *value = Value::Number(tag),
                    _ => {}
                }
            }
        }
    }
    use Kind::{Received, ReceivedSizes, StatusSource, StatusSources, StatusTag, StatusTags};
    let of_status = [
        StatusSource,
        StatusTag,
        Received,
        StatusSources,
        StatusTags,
        ReceivedSizes,
    ];
    for (field, value) in all.iter().zip(values) {
        if of_status.contains(&field.kind) {
            *value = Value::Number(ABSENT);
        }
    }
}

#[cfg(test)]
mod tests;
