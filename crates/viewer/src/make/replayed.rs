//! Recorded windows as strips: all calls and computation of all ranks on one time axis.
//!
//! The strip of a window as recorded is that of the timeline of `headwater export`. That of its replay has the calls of the
//! epochs, in which the ranks' clocks can be compared. Calls of both correspond by their order on a rank.

use headwater_dataflow::Recorded;
use headwater_dataflow::algorithm::NEVER;
use headwater_diagnosis::{Played, Replay, critical_path, last_rank, play, wait_state};
use headwater_export::Wanted;
use headwater_export::timeline::{Call, Timeline};
use headwater_graph::view::EdgeKind;
use headwater_model::run::CtxId;
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A rank and a thread of it.
pub type Track = (u32, u16);

/// A call or computation, in nanoseconds from the strip's begin.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Where it is drawn.
    pub track: Track,
    /// From.
    pub begin: u64,
    /// Until.
    pub end: u64,
    /// Index into the run's functions; `None` for computation.
    pub func: Option<u16>,
    /// Call site; for computation, the call before it.
    pub ctx: CtxId,
    /// End of waiting, which begins with the slice, and for whom.
    pub wait: Option<(u64, u32)>,
    /// Scalasca's name of the wait.
    pub state: Option<&'static str>,
    /// Partner or root.
    pub peer: Option<u32>,
    /// Bytes of a call.
    pub bytes: u64,
    /// CPU time and time asleep of computation.
    pub busy: u64,
}

/// A message between two calls.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The sender.
    pub from: Track,
    /// Begin of its call.
    pub sent: u64,
    /// The receiver.
    pub to: Track,
    /// End of its call.
    pub received: u64,
    /// Bytes.
    pub bytes: u64,
    /// Whether the receiver waited for it.
    pub late: bool,
}

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug)]
pub struct OnPath {
    /// Rank.
    pub rank: u32,
    /// From.
    pub begin: u64,
    /// Until.
    pub end: u64,
}

/// The slices of one track.
#[derive(Clone, Debug)]
pub struct Own {
    /// The track.
    pub track: Track,
    /// Its slices in the strip.
    pub slices: Range<usize>,
}

/// A window on one time axis.
#[derive(Clone, Debug, Default)]
pub struct Strip {
    /// Number of the window.
    pub number: u32,
    /// Length, nanoseconds.
    pub length: u64,
    /// By track, then begin.
    pub slices: Vec<Slice>,
    /// The tracks, ascending.
    pub tracks: Vec<Own>,
    /// Messages.
    pub messages: Vec<Sent>,
    /// The critical path.
    pub critical: Vec<OnPath>,
    /// MPI calls.
    pub calls: u64,
}

/// Calls of a window, by rank, in order.
type ByRank<'a> = FxHashMap<u32, Vec<(usize, &'a Call)>>;

/// The windows of a run on both time axes.
#[derive(Clone, Debug, Default)]
pub struct Strips {
    /// As recorded.
    pub wall: Vec<Strip>,
    /// Replayed, by the same index; `None` where no epoch is in the window.
    pub replayed: Vec<Option<Strip>>,
}

impl Strip {
    /// Sorts the slices, and finds the tracks.
    pub fn sort(&mut self) {
        self.slices.sort_by_key(|s| (s.track, s.begin));
        let mut from = 0;
        for own in self.slices.chunk_by(|a, b| a.track == b.track) {
            let slices = from..from + own.len();
            from = slices.end;
            let track = own.first().map_or((0, 0), |s| s.track);
            self.tracks.push(Own { track, slices });
        }
    }
}

/// Nanoseconds of seconds; conversions saturate.
pub fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl Strips {
    /// The windows of a run.
    pub fn new(run: &Recorded) -> Self {
        let Ok(timeline) = Timeline::new(run, &Wanted::default()) else {
            return Self::default();
        };
        let replay = play(run.run(), NEVER);
        let mut out = Self::default();
        for (index, (number, range)) in timeline.windows.iter().enumerate() {
            let from = timeline
                .calls
                .partition_point(|c| c.time.start < range.start);
            let own = timeline.calls.get(from..).unwrap_or(&[]);
            let own =
                &own[..own.partition_point(|c| c.time.start < range.end.max(range.start + 1))];
            let mut by_rank: ByRank<'_> = FxHashMap::default();
            for (i, call) in own.iter().enumerate() {
                by_rank.entry(call.rank).or_default().push((i, call));
            }
            let messages = timeline.messages.iter().filter_map(|(a, b)| {
                let at = |i: usize| i.checked_sub(from).filter(|i| *i < own.len());
                Some((at(*a)?, at(*b)?))
            });
            let messages: Vec<(usize, usize)> = messages.collect();
            let mut wall = wall_strip(own, &messages, *number, range.start);
            wall.length = range.end - range.start;
            wall.critical = on_clock(&replay, index, &by_rank, range.start);
            let strip = virtual_strip(run, &replay, index, &by_rank, own, &messages);
            out.replayed.push(strip.map(|s| Strip {
                number: *number,
                ..s
            }));
            out.wall.push(wall);
        }
        out
    }
}

fn wall_strip(calls: &[Call], messages: &[(usize, usize)], number: u32, begin: u64) -> Strip {
    let mut out = Strip {
        number,
        calls: calls.len() as u64,
        ..Strip::default()
    };
    let at = |ns: u64| ns.saturating_sub(begin);
    for call in calls {
        let track = (call.rank, call.thread);
        if call.computing.end > call.computing.start {
            out.slices.push(Slice {
                track,
                begin: at(call.computing.start),
                end: at(call.computing.end),
                func: None,
                ctx: call.after.unwrap_or(CtxId::NONE),
                wait: None,
                state: None,
                peer: None,
                bytes: 0,
                busy: call.busy.min(call.computing.end - call.computing.start),
            });
        }
        out.slices.push(Slice {
            track,
            begin: at(call.time.start),
            end: at(call.time.end),
            func: Some(call.func),
            ctx: call.ctx,
            wait: call.wait.map(|(end, rank)| (at(end), rank)),
            state: call.state,
            peer: call.peer,
            bytes: call.bytes,
            busy: 0,
        });
    }
    for (a, b) in messages {
        if let (Some(send), Some(receive)) = (calls.get(*a), calls.get(*b)) {
            out.messages.push(Sent {
                from: (send.rank, send.thread),
                sent: at(send.time.start),
                to: (receive.rank, receive.thread),
                received: at(receive.time.end),
                bytes: send.bytes,
                late: receive.wait.is_some_and(|w| w.1 == send.rank),
            });
        }
    }
    out.sort();
    out
}

/// The critical path of a window's epochs: rank and calls in order, the earliest first.
fn path(replay: &Replay, window: usize) -> Vec<(u32, (u32, u32))> {
    let mut out = Vec::new();
    for epoch in replay.epochs.iter().filter(|e| e.window == window) {
        let Some(last) = last_rank(replay, epoch) else {
            continue;
        };
        let stretches = critical_path(replay, epoch, last).into_iter().rev();
        out.extend(stretches.map(|s| (s.rank, s.calls)));
    }
    out
}

/// The critical path in recorded time.
fn on_clock(replay: &Replay, window: usize, calls: &ByRank<'_>, begin: u64) -> Vec<OnPath> {
    let stretch = |(rank, (from, to)): (u32, (u32, u32))| {
        let own = calls.get(&rank)?;
        let played = replay.windows.get(window)?.get(rank as usize)?;
        // Calls of both correspond only if there are as many.
        let all = own
            .get(from as usize..to as usize)
            .filter(|_| own.len() == played.len())?;
        let (first, last) = (all.first()?.1, all.last()?.1);
        Some(OnPath {
            rank,
            begin: first.computing.start.saturating_sub(begin),
            end: last.time.end.saturating_sub(begin),
        })
    };
    path(replay, window)
        .into_iter()
        .filter_map(stretch)
        .collect()
}

/// Wait state of a replayed call.
fn replayed_state(run: &Recorded, call: &Played) -> Option<&'static str> {
    let name = run.run().function(call.func);
    let collective = abi::by_name(name).is_some_and(|f| f.is_collective());
    let kind = match collective {
        true => EdgeKind::Collective,
        false => EdgeKind::PointToPoint,
    };
    wait_state(kind, name)
}

fn virtual_strip(
    run: &Recorded,
    replay: &Replay,
    window: usize,
    calls: &ByRank<'_>,
    recorded: &[Call],
    messages: &[(usize, usize)],
) -> Option<Strip> {
    let played = replay.windows.get(window)?;
    let epochs = || replay.epochs.iter().filter(|e| e.window == window);
    let in_epochs = || {
        epochs()
            .flat_map(|e| (0u32..).zip(&e.calls))
            .flat_map(|(rank, (from, to))| {
                let list = played.get(rank as usize).map_or(&[][..], Vec::as_slice);
                let calls = list.get(*from as usize..*to as usize).unwrap_or(&[]);
                (*from as usize..)
                    .zip(calls)
                    .map(move |(i, call)| (rank, i, call))
            })
    };
    let begin = in_epochs()
        .map(|(_, _, c)| c.enter - c.busy)
        .reduce(f64::min)?;
    let at = |seconds: f64| nanos((seconds - begin).max(0.0));
    let mut out = Strip::default();
    // The recorded call of a replayed one, and the other way round.
    let recorded_of = |rank: u32, i: usize| {
        let own = calls.get(&rank)?;
        let same = played.get(rank as usize)?.len() == own.len();
        own.get(i).filter(|_| same)
    };
    let mut of_recorded: FxHashMap<usize, (u32, &Played)> = FxHashMap::default();
    let mut last: FxHashMap<u32, CtxId> = FxHashMap::default();
    for (rank, i, call) in in_epochs() {
        let real = recorded_of(rank, i);
        if let Some((index, _)) = real {
            of_recorded.insert(*index, (rank, call));
        }
        let track = (rank, 0);
        if call.busy > 0.0 {
            out.slices.push(Slice {
                track,
                begin: at(call.enter - call.busy),
                end: at(call.enter),
                func: None,
                ctx: last.get(&rank).copied().unwrap_or(call.after),
                wait: None,
                state: None,
                peer: None,
                bytes: 0,
                busy: nanos(call.busy),
            });
        }
        last.insert(rank, call.ctx);
        let wait = call.waited_for.map(|(on, _)| (at(call.leave), on));
        let known = real.and_then(|(_, c)| c.state);
        out.slices.push(Slice {
            track,
            begin: at(call.enter),
            end: at(call.leave),
            func: Some(call.func),
            ctx: call.ctx,
            state: wait.and_then(|_| known.or_else(|| replayed_state(run, call))),
            wait,
            peer: real.and_then(|(_, c)| c.peer),
            bytes: real.map_or(0, |(_, c)| c.bytes),
            busy: 0,
        });
        out.calls += 1;
    }
    for (a, b) in messages {
        let (Some((from, send)), Some((to, receive))) = (of_recorded.get(a), of_recorded.get(b))
        else {
            continue;
        };
        out.messages.push(Sent {
            from: (*from, 0),
            sent: at(send.enter),
            to: (*to, 0),
            received: at(receive.leave),
            bytes: recorded.get(*a).map_or(0, |c| c.bytes),
            late: receive.waited_for.is_some_and(|w| w.0 == *from),
        });
    }
    out.critical = path(replay, window)
        .into_iter()
        .filter_map(|(rank, (from, to))| {
            let all = played.get(rank as usize)?.get(from as usize..to as usize)?;
            let (first, last) = (all.first()?, all.last()?);
            Some(OnPath {
                rank,
                begin: at(first.enter - first.busy),
                end: at(last.leave),
            })
        })
        .collect();
    out.sort();
    out.length = out.slices.iter().map(|s| s.end).max().unwrap_or(0);
    Some(out)
}
