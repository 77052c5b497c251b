//! A whole run in virtual time, from its trace: a strip like those of the windows.
//!
//! A trace has the mean times of its events, so it is simulated (Hoefler et al., LogGOPSim): each rank with a core of its
//! own, on an ideal network. That is the time axis of replayed windows.

use super::replayed::{OnPath, Sent, Slice, Strip, Track, nanos};
use headwater_dataflow::Recorded;
use headwater_export::{MessageEnd, Messages, Seen};
use headwater_model::run::CtxId;
use headwater_simulate::{Done, Network, Op, Options, simulate};
use headwater_trace::trace::{Body, Node, Trace};
use headwater_virtual_run::{self as virtual_run, Place};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Calls of a trace at the most: a strip is in memory as a whole.
const MOST: u64 = 500_000;

/// The call paths of a run, by caller's context, module and offset.
struct Paths<'a> {
    run: &'a Recorded,
    known: FxHashMap<(CtxId, &'a str, u64), CtxId>,
}

impl<'a> Paths<'a> {
    fn new(run: &'a Recorded) -> Self {
        let recorded = run.run();
        let module = |number: u32| recorded.modules.get(number as usize);
        let is_region = |number: u32| module(number).is_some_and(|m| m.region().is_some());
        // A trace has code alone: the caller of a region's code is that of the region.
        let mut callers: Vec<CtxId> = Vec::new();
        for context in &recorded.contexts {
            let parent = context.parent.index();
            let region = parent.filter(|at| {
                let around = recorded.contexts.get(*at);
                around.is_some_and(|around| is_region(around.module))
            });
            let outer = region.and_then(|at| callers.get(at).copied());
            callers.push(outer.unwrap_or(context.parent));
        }
        let all = (0..).zip(&recorded.contexts).zip(&callers);
        let all = all.filter(|((_, c), _)| !c.exact && !is_region(c.module));
        let known = all.map(|((i, c), caller)| {
            let path = module(c.module).map_or("", |m| m.path.as_str());
            ((*caller, path, c.offset), CtxId(i))
        });
        Self {
            run,
            known: known.collect(),
        }
    }

    /// The context of a signature's call, and the number of its function.
    fn of(&self, trace: &Trace, signature: u64) -> (CtxId, u16) {
        let Some(signature) = trace.signatures.get(&signature) else {
            return (CtxId::NONE, u16::MAX);
        };
        let mut ctx = CtxId::NONE;
        for frame in &signature.frames {
            let path = trace.modules.get(&frame.module).map_or("", String::as_str);
            match self.known.get(&(ctx, path, frame.offset)) {
                Some(next) => ctx = *next,
                None => {
                    ctx = CtxId::NONE;
                    break;
                }
            }
        }
        let mut functions = self.run.run().functions.iter();
        let function = functions.position(|f| *f == signature.function);
        (ctx, function.map_or(u16::MAX, |f| f as u16))
    }
}

/// Calls in a row of nodes.
fn calls(row: &[Node]) -> u64 {
    let of = |node: &Node| match &node.body {
        Body::Loop(row) => calls(row),
        Body::Event(event) => event.times.values().map(|t| t.call.count).sum(),
    };
    row.iter().map(of).fold(0, u64::saturating_add)
}

/// The strip of a whole run, with a number of its own among the windows.
///
/// # Errors
/// Why there is none, a sentence.
pub fn strip(run: &Recorded, trace: &Trace, number: u32) -> Result<Strip, String> {
    let count = (trace.streams.values())
        .map(|row| calls(row))
        .fold(0, u64::saturating_add);
    if count > MOST {
        return Err(format!(
            "The trace of the whole run has {count} calls, and this page shows traces of at most {MOST}. headwater simulate --timeline writes it for Perfetto."
        ));
    }
    let not_shown = |e: &dyn std::fmt::Display| {
        format!("The trace of the whole run cannot be shown, because it cannot be simulated: {e}.")
    };
    let recorded = virtual_run::Recorded::of(trace).map_err(|e| not_shown(&e))?;
    let streams = recorded.streams();
    let track = |stream: u32| -> Track {
        let (rank, thread) = streams.get(stream as usize).copied().unwrap_or_default();
        (rank, u16::try_from(thread).unwrap_or(u16::MAX))
    };
    let paths = Paths::new(run);
    let mut places: FxHashMap<u32, (CtxId, u16)> = FxHashMap::default();
    let mut of_place = |place: u32| {
        *places.entry(place).or_insert_with(|| {
            let at = match recorded.places().get(place) {
                Some(Place::Call(signature)) => signature,
                Some(Place::Between { before, .. }) => before,
                _ => return (CtxId::NONE, u16::MAX),
            };
            paths.of(trace, at)
        })
    };
    let mut out = Strip {
        number,
        ..Strip::default()
    };
    let messages = RefCell::new(Messages::default());
    let mut open: FxHashMap<u64, (MessageEnd, usize)> = FxHashMap::default();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let see = |done: &Done| {
        let ends = messages.borrow_mut().take(done.stream);
        let (ctx, function) = of_place(done.place);
        let cause = done.waited_for.filter(|_| done.wait > 0.0);
        let (begin, end) = (nanos(done.enter), nanos(done.leave));
        for end in ends {
            match open.remove(&end.message) {
                Some((_, other)) if end.receives => pairs.push((other, out.slices.len())),
                Some((_, other)) => pairs.push((out.slices.len(), other)),
                None => drop(open.insert(end.message, (end, out.slices.len()))),
            }
        }
        let is_call = !done.is_compute();
        out.calls += u64::from(is_call);
        out.slices.push(Slice {
            track: track(done.stream),
            begin,
            end,
            func: is_call.then_some(function),
            ctx,
            wait: cause.map(|c| (nanos(done.enter + done.wait).min(end), c.rank)),
            state: cause.map(|c| c.state.name()),
            peer: peer(&done.op),
            bytes: match done.op {
                Op::Send { bytes, .. } => bytes,
                _ => 0,
            },
            busy: if is_call { 0 } else { end - begin },
        });
    };
    let options = Options {
        critical_path: false,
    };
    let program = Seen::new(recorded.program(), &messages);
    simulate(program, &Network::Ideal, options, see).map_err(|e| not_shown(&e))?;
    out.messages = pairs
        .iter()
        .filter_map(|pair| sent(&out.slices, *pair))
        .collect();
    // A computation of no length is nothing to see.
    out.slices.retain(|s| s.func.is_some() || s.end > s.begin);
    out.sort();
    out.length = out.slices.iter().map(|s| s.end).max().unwrap_or(0);
    out.critical = critical(&out);
    Ok(out)
}

fn peer(op: &Op) -> Option<u32> {
    match op {
        Op::Send { to, .. } => Some(*to),
        Op::Recv { from, .. } => Some(*from),
        _ => None,
    }
}

/// The message between two slices.
fn sent(slices: &[Slice], (from, to): (usize, usize)) -> Option<Sent> {
    let (send, receive) = (slices.get(from)?, slices.get(to)?);
    Some(Sent {
        from: send.track,
        sent: send.begin,
        to: receive.track,
        received: receive.end,
        bytes: send.bytes,
        late: receive.wait.is_some_and(|w| w.1 == send.track.0),
    })
}

/// Backward from the end: a rank that waits goes on with the rank that it waited for, from when that one let it go on.
fn critical(strip: &Strip) -> Vec<OnPath> {
    let last = strip.slices.iter().max_by_key(|s| s.end);
    let (mut rank, mut until) = last.map_or((0, 0), |s| (s.track.0, strip.length));
    let mut out = Vec::new();
    // Each piece ends at a wait, and no wait is on the path twice.
    for _ in 0..=strip.slices.len() {
        let own = strip
            .tracks
            .binary_search_by_key(&(rank, 0), |own| own.track);
        let own = own.ok().and_then(|at| strip.tracks.get(at));
        let own = own.and_then(|own| strip.slices.get(own.slices.clone()));
        let own = own.unwrap_or(&[]);
        let before = &own[..own.partition_point(|s| s.begin < until)];
        let wait = before.iter().rev().find_map(|s| {
            let (end, on) = s.wait?;
            (end <= until && end > s.begin && on != rank).then_some((end, on))
        });
        let begin = wait.map_or(0, |(end, _)| end);
        if begin < until {
            out.push(OnPath {
                rank,
                begin,
                end: until,
            });
        }
        match wait {
            Some((end, on)) => (rank, until) = (on, end),
            None => break,
        }
    }
    out.reverse();
    out
}
