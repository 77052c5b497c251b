//! The timeline of a simulated run, in Chrome's trace event format; see `perfetto`.
//!
//! The caller gives one slice after the other, so nothing is held. Tracks are as those of recorded runs: a process for
//! each rank, with its threads.

use crate::perfetto::{Event, Events};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// A call or a computation in virtual time.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Number of its stream.
    pub stream: u32,
    /// Whether it is a call of MPI.
    pub call: bool,
    /// The function, or the place of the computation.
    pub name: &'a str,
    /// Where a call is.
    pub at: &'a str,
    /// From when on, seconds.
    pub begin: f64,
    /// Until when, seconds.
    pub end: f64,
    /// For how long it waited, for which rank, and in which wait state.
    pub wait: Option<(f64, u32, &'a str)>,
    /// The messages that it sends, or whose receive ends in it.
    pub messages: &'a [MessageEnd],
}

/// An end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEnd {
    /// Number of the message.
    pub message: u64,
    /// Whether it is the receive.
    pub receives: bool,
}

/// Where an arrow begins or ends: its track, and when, nanoseconds. `None` in a slice that is left out.
type Point = Option<((u32, u32), u64)>;

/// A timeline that is being written.
#[allow(missing_debug_implementations, reason = "a writer has none")]
pub struct Simulated<'a> {
    events: Events<'a>,
    /// Process and thread by stream.
    tracks: Vec<(u32, u32)>,
    /// Messages of which one end was seen.
    open: FxHashMap<u64, Point>,
}

impl<'a> Simulated<'a> {
    /// Begins a timeline. `streams` are rank and thread of each, sorted.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn begin(
        out: &'a mut (dyn Write + Send),
        program: &str,
        streams: &[(u32, u32)],
    ) -> io::Result<Self> {
        let about = json!({
            "program": program,
            "time": "virtual",
            "exporter": concat!("headwater ", env!("CARGO_PKG_VERSION")),
        });
        let mut events = Events::begin(out, &about)?;
        // As in Perfetto's own numbering, 0 is no process, and a process's first thread has its number.
        let mut next = streams.iter().map(|s| s.0 + 1).max().unwrap_or(0);
        let mut named = BTreeSet::new();
        let mut tracks = Vec::new();
        for (rank, thread) in streams {
            let first = named.insert(*rank);
            let tid = match first {
                true => rank + 1,
                false => {
                    next += 1;
                    next
                }
            };
            let track = (rank + 1, tid);
            let about = |name: &'static str| Event::new("M", track, "", name);
            if first {
                let name = json!(format!("rank {rank}"));
                events.add(&about("process_name").with("name", name))?;
                events.add(&about("process_sort_index").with("sort_index", json!(rank)))?;
            }
            let name = json!(format!("rank {rank} thread {thread}"));
            events.add(&about("thread_name").with("name", name))?;
            tracks.push(track);
        }
        Ok(Self {
            events,
            tracks,
            open: FxHashMap::default(),
        })
    }

    /// Adds a slice.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let Some(track) = self.tracks.get(slice.stream as usize).copied() else {
            return Ok(());
        };
        // Conversions saturate.
        let nanos = |seconds: f64| (seconds * 1e9).round() as u64;
        let category = if slice.call { "mpi" } else { "computation" };
        let time = nanos(slice.begin)..nanos(slice.end);
        let mut event = Event::slice(track, category, slice.name, time.clone());
        if !slice.at.is_empty() {
            event = event.with("at", json!(slice.at));
        }
        self.events.add(&event)?;
        let mut received = time.start;
        if let Some((seconds, rank, state)) = slice.wait {
            let name = format!("waiting for rank {rank}");
            let until = nanos(slice.begin + seconds).min(time.end);
            let event = Event::slice(track, "waiting", &name, time.start..until);
            self.events.add(&event.with("state", json!(state)))?;
            received = until;
        }
        // An arrow ends where a slice begins, and no earlier than its send; see `perfetto`.
        if received > time.start && slice.messages.iter().any(|m| m.receives) {
            let rest = received..time.end.max(received + 1);
            let event = Event::slice(track, "receiving", "receiving", rest);
            self.events.add(&event)?;
        }
        for end in slice.messages {
            let at = if end.receives { received } else { time.start };
            self.end_of(end, Some((track, at)))?;
        }
        Ok(())
    }

    /// Messages of a slice that is not added get no arrow.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn leave_out(&mut self, messages: &[MessageEnd]) -> io::Result<()> {
        for end in messages {
            self.end_of(end, None)?;
        }
        Ok(())
    }

    /// Writes the arrow of a message when both of its ends are known.
    fn end_of(&mut self, end: &MessageEnd, point: Point) -> io::Result<()> {
        let Some(other) = self.open.remove(&end.message) else {
            self.open.insert(end.message, point);
            return Ok(());
        };
        let (Some(mine), Some(other)) = (point, other) else {
            return Ok(());
        };
        let (send, receive) = match end.receives {
            true => (other, mine),
            false => (mine, other),
        };
        self.events.arrow(end.message, send, receive)
    }

    /// Ends the timeline.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn end(self) -> io::Result<()> {
        self.events.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_its_slices_in_microseconds() {
        let mut out = Vec::new();
        let end = |message, receives| MessageEnd { message, receives };
        let (sent, receive) = (|message| end(message, false), |message| end(message, true));
        let streams = [(0, 0), (1, 0), (1, 7)];
        let mut timeline = Simulated::begin(&mut out, "app", &streams).expect("begins");
        let slice = Slice {
            stream: 2,
            call: true,
            name: "MPI_Recv",
            at: "app.c:7",
            begin: 1e-6,
            end: 3e-6,
            wait: Some((1e-6, 0, "late sender")),
            messages: &[receive(1), receive(2)],
        };
        timeline.add(&slice).expect("adds");
        let send = Slice {
            stream: 0,
            begin: 2e-6,
            wait: None,
            messages: &[sent(1)],
            ..slice
        };
        timeline.add(&send).expect("adds");
        timeline.leave_out(&[sent(2)]).expect("leaves out");
        timeline.end().expect("ends");
        let all: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let events = all["traceEvents"].as_array().expect("events");
        let [call, wait, rest, _, begin, end] = &events[events.len() - 6..] else {
            panic!("four slices and an arrow");
        };
        assert_eq!((&rest["ts"], &rest["dur"]), (&json!(2.0), &json!(1.0)));
        assert_eq!((&begin["ph"], &begin["tid"]), (&json!("s"), &json!(1)));
        assert_eq!((&end["ph"], &end["tid"]), (&json!("f"), &json!(3)));
        assert_eq!((&begin["ts"], &end["ts"]), (&json!(2.0), &json!(2.0)));
        assert_eq!((&call["pid"], &call["tid"]), (&json!(2), &json!(3)));
        assert_eq!((&call["ts"], &call["dur"]), (&json!(1.0), &json!(2.0)));
        assert_eq!(
            (&wait["dur"], &wait["cat"]),
            (&json!(1.0), &json!("waiting"))
        );
    }
}
