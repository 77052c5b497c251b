//! What each rank finds out before a probabilistic replay: the messages that it will receive, and the times of its events.

use crate::draws::Draws;
use crate::error::Error;
use headwater_simulate::Op;
use headwater_trace::trace::Trace;
use headwater_virtual_run::{Happening, Note, Recorded, Run};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// When it is sent, on the common clocks, nanoseconds.
    pub time: f64,
    /// Who sends it, a rank of the program.
    pub from: u32,
    /// Who receives it.
    pub to: u32,
    /// The number of the sender's event.
    pub event: u64,
    /// The communicator, by its identity in the recording.
    pub comm: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length, bytes.
    pub bytes: u64,
}

/// What a rank knows before a replay.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Messages to the rank, in the order in which they are sent.
    pub messages: Vec<Message>,
    /// When each of its own events ends, on the common clocks, nanoseconds.
    pub ends: Vec<f64>,
    /// By identity of a communicator: its own number of it, and the ranks of the program that are its members.
    pub comms: FxHashMap<u32, (i64, Vec<u32>)>,
}

/// No event is shorter, nanoseconds: of two events that depend on each other, one is later.
const SHORTEST: f64 = 1.0;

/// A traversal context: where a rank is.
#[derive(Debug, Default)]
struct Context {
    /// Events that have begun.
    events: u64,
    /// Its clock.
    now: f64,
    /// When the current event is over, if nobody has to be waited for.
    end: f64,
    ops: VecDeque<Op>,
    /// How often it has called collectives, by communicator.
    nth: FxHashMap<u32, u64>,
    /// Collectives that do not block, by request.
    outstanding: FxHashMap<u32, (u32, u64)>,
    /// Whether it waits for a collective to which it has come.
    entered: bool,
    in_event: bool,
    is_over: bool,
}

/// A collective, by communicator and how manieth it is there.
#[derive(Debug, Default)]
struct Meeting {
    came: usize,
    end: f64,
    waiting: Vec<u32>,
}

struct Agreeing<'a, 'r> {
    run: Run<'r>,
    draws: Draws<'a>,
    me: u32,
    contexts: Vec<Context>,
    meetings: FxHashMap<(u32, u64), Meeting>,
    /// Members by communicator.
    sizes: FxHashMap<u32, usize>,
    ready: Vec<u32>,
    agreement: Agreement,
}

/// Reads the events of all ranks.
///
/// # Errors
/// Who takes part in some call is not known, so no agreement is possible. All ranks find the same.
pub fn agree(trace: &Trace, rank: u32, seed: u64) -> Result<Agreement, Error> {
    let refused = |why: &dyn std::fmt::Display| Error::NoAgreement(why.to_string());
    let recorded = Recorded::of_any(trace).map_err(|e| refused(&e))?;
    let streams = recorded.streams();
    let ranks = streams.len() as u32;
    if ranks != trace.size || (0..).zip(streams).any(|(i, (rank, _))| i != *rank) {
        return Err(refused(&"some ranks have no events, or several threads"));
    }
    let mut agreeing = Agreeing {
        run: recorded.program(),
        draws: Draws::new(trace, seed),
        me: rank,
        contexts: (0..ranks).map(|_| Context::default()).collect(),
        meetings: FxHashMap::default(),
        sizes: FxHashMap::default(),
        ready: (0..ranks).rev().collect(),
        agreement: Agreement::default(),
    };
    for (number, id) in recorded.communicators(rank) {
        if let Some(members) = recorded.members(id) {
            agreeing.agreement.comms.insert(id, (number, members));
        }
    }
    while let Some(context) = agreeing.ready.pop() {
        agreeing.go_on(context, &recorded);
    }
    let Agreeing {
        run,
        contexts,
        mut agreement,
        ..
    } = agreeing;
    for (note, _) in run.noted().iter() {
        if !matches!(
            note,
            Note::Files | Note::UnknownSource | Note::UnknownRequest
        ) {
            return Err(refused(&note.text()));
        }
    }
    if contexts.iter().any(|context| !context.is_over) {
        return Err(refused(
            &"some ranks call a collective to which others never come",
        ));
    }
    // Those of one sender are in their order.
    let key = |m: &Message| (m.time, m.from);
    agreement.messages.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    });
    Ok(agreement)
}

impl Agreeing<'_, '_> {
    /// Advances a context until it waits for others, or ends.
    fn go_on(&mut self, number: u32, recorded: &Recorded<'_>) {
        loop {
            let Some(context) = self.contexts.get_mut(number as usize) else {
                return;
            };
            if context.ops.is_empty() {
                if std::mem::take(&mut context.in_event) {
                    context.now = context.now.max(context.end);
                    if number == self.me {
                        self.agreement.ends.push(context.now);
                    }
                }
                let event = context.events;
                let draws = self.draws;
                let next = self.run.happening(number, &mut |signature, values| {
                    draws.fill(number, event, signature, values);
                });
                let Some(Happening {
                    computation,
                    call,
                    ops,
                }) = next
                else {
                    context.is_over = true;
                    return;
                };
                context.events += 1;
                context.in_event = true;
                context.now += computation;
                context.end = context.now + call.max(SHORTEST);
                context.ops = ops.into();
                continue;
            }
            if !self.op(number, recorded) {
                return;
            }
        }
    }

    /// Does the first operation of a context. Returns whether it goes on.
    fn op(&mut self, number: u32, recorded: &Recorded<'_>) -> bool {
        let Some(context) = self.contexts.get_mut(number as usize) else {
            return false;
        };
        let Some(op) = context.ops.front().copied() else {
            return true;
        };
        let goes_on = match op {
            Op::Send {
                to,
                tag,
                comm,
                bytes,
                ..
            } => {
                if to == self.me {
                    self.agreement.messages.push(Message {
                        time: context.now,
                        from: number,
                        to,
                        event: context.events - 1,
                        comm,
                        tag,
                        bytes,
                    });
                }
                true
            }
            Op::Collective { comm, request, .. } => {
                let key = match std::mem::replace(&mut context.entered, request.is_none()) {
                    true => (comm, context.nth.get(&comm).map_or(0, |n| n - 1)),
                    false => {
                        let nth = context.nth.entry(comm).or_default();
                        let key = (comm, *nth);
                        *nth += 1;
                        let end = match request {
                            Some(_) => context.now,
                            None => context.end,
                        };
                        self.come(key, end, recorded);
                        key
                    }
                };
                match request {
                    Some(request) => {
                        let context = self.contexts.get_mut(number as usize);
                        if let Some(context) = context {
                            context.outstanding.insert(request.number(), key);
                        }
                        true
                    }
                    None => self.has_ended(key, number),
                }
            }
            Op::Wait { request } => match context.outstanding.get(&request.number()).copied() {
                Some(key) => self.has_ended(key, number),
                None => true,
            },
            _ => true,
        };
        if goes_on && let Some(context) = self.contexts.get_mut(number as usize) {
            context.entered = false;
            context.ops.pop_front();
            if let Op::Wait { request } | Op::Free { request } = op {
                context.outstanding.remove(&request.number());
            }
        }
        goes_on
    }

    /// A rank enters a collective, and would leave it at `end`.
    fn come(&mut self, key: (u32, u64), end: f64, recorded: &Recorded<'_>) {
        let size = self.sizes.entry(key.0).or_insert_with(|| {
            let members = recorded.members(key.0);
            members.map_or(usize::MAX, |all| all.len())
        });
        let meeting = self.meetings.entry(key).or_default();
        meeting.came += 1;
        meeting.end = meeting.end.max(end + SHORTEST);
        if meeting.came >= *size {
            self.ready.append(&mut meeting.waiting);
        }
    }

    /// Whether all have come to a collective: then a context's clock is that of the last. If not, it waits.
    fn has_ended(&mut self, key: (u32, u64), number: u32) -> bool {
        let size = self.sizes.get(&key.0).copied().unwrap_or(usize::MAX);
        let Some(meeting) = self.meetings.get_mut(&key) else {
            return true;
        };
        if meeting.came < size {
            meeting.waiting.push(number);
            return false;
        }
        if let Some(context) = self.contexts.get_mut(number as usize) {
            context.now = context.now.max(meeting.end);
        }
        true
    }
}
