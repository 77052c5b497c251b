//! A timeline in Chrome's trace event format, which Perfetto, chrome://tracing, speedscope and others read.
//!
//! A process for each rank, with a track for each of its threads. Slices of the category `computation` have the name
//! of the place in which most time is spent after the call before; inside a call of MPI there is one of the category
//! `waiting` as long as it waited, and behind that one of `receiving` if messages came. Messages are flows. See "Trace
//! Event Format" (Duca and Sinclair), whose times are microseconds.
//!
//! Perfetto ties a flow to the slice that began last on a track, be it over or not, and lets it go from the slice that
//! began earlier to the other, whatever the event says. So an arrow has to end where a slice begins, and no earlier
//! than its send: that is why there is `receiving`.

use crate::error::ExportError;
use crate::stacks::{self, Stacks};
use crate::timeline::{Call, Timeline};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_graph::TopDown;
use headwater_model::run::CtxId;
use headwater_model::words;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

#[derive(Serialize)]
pub(crate) struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

impl<'a> Event<'a> {
    pub(crate) fn new(
        ph: &'static str,
        (pid, tid): (u32, u32),
        cat: &'a str,
        name: &'a str,
    ) -> Self {
        Self {
            name,
            cat,
            ph,
            pid,
            tid,
            ts: None,
            dur: None,
            id: None,
            bp: None,
            args: Map::new(),
        }
    }

    pub(crate) fn slice(track: (u32, u32), cat: &'a str, name: &'a str, time: Range<u64>) -> Self {
        Self {
            ts: Some(micros(time.start)),
            dur: Some(micros(time.end.saturating_sub(time.start))),
            ..Self::new("X", track, cat, name)
        }
    }

    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.args.insert(name.to_string(), value);
        self
    }
}

/// Writes events one by one, so that no more than one is held.
pub(crate) struct Events<'a> {
    out: &'a mut (dyn Write + Send),
    comma: &'static str,
}

impl<'a> Events<'a> {
    /// Begins a file: what it is about, then its events.
    pub(crate) fn begin(out: &'a mut (dyn Write + Send), about: &Value) -> io::Result<Self> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        serde_json::to_writer(&mut *out, about)?;
        write!(out, ",\"traceEvents\":[")?;
        Ok(Self { out, comma: "" })
    }

    /// Ends the file.
    pub(crate) fn end(self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")
    }

    pub(crate) fn add(&mut self, event: &Event<'_>) -> io::Result<()> {
        writeln!(self.out, "{}", self.comma)?;
        self.comma = ",";
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }

    /// Adds the arrow of a message: from and to a track, at a time in nanoseconds.
    pub(crate) fn arrow(
        &mut self,
        id: u64,
        send: ((u32, u32), u64),
        receive: ((u32, u32), u64),
    ) -> io::Result<()> {
        for (ph, (track, at), bp) in [("s", send, None), ("f", receive, Some("e"))] {
            self.add(&Event {
                ts: Some(micros(at)),
                id: Some(id),
                bp,
                ..Event::new(ph, track, "message", "message")
            })?;
        }
        Ok(())
    }
}

/// Process and thread by rank and thread. Number 0 is the idle process of a machine, so they begin with 1; the first
/// thread of a process has its number, as on Linux.
struct Tracks(BTreeMap<(u32, u16), (u32, u32)>);

impl Tracks {
    fn new(timeline: &Timeline, ranks: u32) -> Self {
        let all: BTreeSet<(u32, u16)> = (timeline.calls.iter())
            .map(|c| (c.rank, c.thread))
            .collect();
        let mut next = ranks + 1;
        let numbered = all.into_iter().map(|(rank, thread)| {
            let tid = if thread == 0 {
                rank + 1
            } else {
                next += 1;
                next
            };
            ((rank, thread), (rank + 1, tid))
        });
        Self(numbered.collect())
    }

    fn of(&self, call: &Call) -> (u32, u32) {
        let track = self.0.get(&(call.rank, call.thread));
        track.copied().unwrap_or_default()
    }
}

/// By MPI call: the name of the place in which the run computes most after it. Of places with as much the first.
fn mostly(run: &Recorded) -> FxHashMap<CtxId, String> {
    let view = run.on_graph();
    let mut most: FxHashMap<CtxId, (f64, u32)> = FxHashMap::default();
    for (key, of) in (0..).zip(&view.computation.keys) {
        let seconds = view.computation.busy.row(key).map_or(0.0, |r| r.sum());
        let best = most.entry(of.after).or_insert((0.0, TopDown::ROOT));
        if seconds > best.0 {
            *best = (seconds, of.vertex);
        }
    }
    let names = most.into_iter().filter(|(_, (seconds, _))| *seconds > 0.0);
    names
        .map(|(ctx, (_, vertex))| (ctx, stacks::name(&run.pag().place(vertex))))
        .collect()
}

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let timeline = Timeline::new(run, wanted)?;
        let header = &run.run().header;
        let tracks = Tracks::new(&timeline, header.ranks);
        let about = json!({
            "run": header.name,
            "program": header.program,
            "exporter": concat!("headwater ", env!("CARGO_PKG_VERSION")),
        });
        let mut events = Events::begin(out, &about)?;
        names(&tracks, &timeline, header.ranks, &mut events)?;
        calls(run, &tracks, &timeline, &mut events)?;
        messages(&tracks, &timeline, &mut events)?;
        events.end()?;
    }
    Ok(())
}

/// Names and order of tracks; the windows are on one of their own, above all others.
fn names(
    tracks: &Tracks,
    timeline: &Timeline,
    ranks: u32,
    events: &mut Events<'_>,
) -> io::Result<()> {
    let about = |name, track, value: Value| {
        let key = if name == "process_sort_index" {
            "sort_index"
        } else {
            "name"
        };
        Event::new("M", track, "", name).with(key, value)
    };
    let above = (ranks + 1, ranks + 1);
    events.add(&about("process_name", above, json!("windows")))?;
    events.add(&about("process_sort_index", above, json!(-1)))?;
    for ((rank, thread), track) in &tracks.0 {
        if track.0 == track.1 {
            events.add(&about(
                "process_name",
                *track,
                json!(format!("rank {rank}")),
            ))?;
            events.add(&about("process_sort_index", *track, json!(rank)))?;
        }
        let name = json!(format!("rank {rank} thread {thread}"));
        events.add(&about("thread_name", *track, name))?;
    }
    for (number, time) in &timeline.windows {
        let name = format!("window {number}");
        events.add(&Event::slice(above, "window", &name, time.clone()))?;
    }
    Ok(())
}

fn calls(
    run: &Recorded,
    tracks: &Tracks,
    timeline: &Timeline,
    events: &mut Events<'_>,
) -> io::Result<()> {
    let places = mostly(run);
    let stacks = Stacks::frames_of(run);
    let receivers: FxHashSet<usize> = timeline.messages.iter().map(|m| m.1).collect();
    for (index, call) in timeline.calls.iter().enumerate() {
        let track = tracks.of(call);
        if !call.computing.is_empty() {
            let name = call.after.and_then(|ctx| places.get(&ctx));
            let name = name.map_or("computation", String::as_str);
            let slice = Event::slice(track, "computation", name, call.computing.clone());
            events.add(&slice.with("busy_us", json!(micros(call.busy))))?;
        }
        let function = run.run().function(call.func);
        let mut slice = Event::slice(track, "mpi", function, call.time.clone());
        if let Some(vertex) = run.on_graph().vertex(call.ctx) {
            let place = run.pag().place(vertex);
            slice = slice.with("at", json!(words::location(&place)));
            slice = slice.with("path", json!(stacks.path_of(vertex)));
        }
        if let Some(peer) = call.peer {
            slice = slice.with("peer", json!(peer));
        }
        if call.bytes > 0 {
            slice = slice.with("bytes", json!(call.bytes));
        }
        events.add(&slice)?;
        if let Some((end, rank)) = call.wait {
            let name = format!("waiting for rank {rank}");
            let time = call.time.start..end;
            events.add(&Event::slice(track, "waiting", &name, time))?;
            let rest = end..call.time.end;
            if receivers.contains(&index) && !rest.is_empty() {
                events.add(&Event::slice(track, "receiving", "receiving", rest))?;
            }
        }
    }
    Ok(())
}

/// An arrow from each send to what completes its receive, at the beginning of a slice.
fn messages(tracks: &Tracks, timeline: &Timeline, events: &mut Events<'_>) -> io::Result<()> {
    for (id, (send, receive)) in (1..).zip(&timeline.messages) {
        let (Some(send), Some(receive)) = (timeline.calls.get(*send), timeline.calls.get(*receive))
        else {
            continue;
        };
        // None goes back in time, nor to where the call has ended: clocks are not exact.
        let end = receive.supplied();
        if end < send.time.start || end >= receive.time.end {
            continue;
        }
        let send = (tracks.of(send), send.time.start);
        events.arrow(id, send, (tracks.of(receive), end))?;
    }
    Ok(())
}
