//! Compares the plain logs of a run with its trace, event by event and parameter by parameter.
//!
//! A trace folds recursion in call paths, so the log's are folded in the same way before they are compared. Times are
//! compared as far as a trace keeps them: number, sum, minimum and maximum for each event and the event before it.

use super::log::{Log, Value};
use headwater_trace::likeness::without_recursion;
use headwater_trace::open::ENDING;
use headwater_trace::times::{Histogram, Times};
use headwater_trace::trace::{BEGIN, Body, Frame, Kind, Node, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What was compared.
#[derive(Default)]
pub struct Compared {
    /// Events in the logs.
    pub events: u64,
    /// Events that the trace says it has lost.
    pub lost: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
    /// Bytes of the traces.
    pub trace_bytes: u64,
    /// Whether there is a trace at all.
    pub traced: bool,
    /// The first difference of each stream that differs.
    pub differences: Vec<String>,
}

/// A function and its folded call path.
type Key = (String, Vec<Frame>);

/// By event, and the event before it: number, sum, minimum and maximum of the three times.
type Sums = BTreeMap<(Option<Key>, Key), [[u64; 4]; 3]>;

/// Compares what was written into a directory.
pub fn compare(directory: &Path) -> Result<Compared, String> {
    let mut compared = Compared::default();
    let mut traces = Vec::new();
    for path in files(directory, "whole.trace")? {
        // What a rank was in when it was killed is no trace.
        if path.to_string_lossy().ends_with(ENDING) {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
        compared.trace_bytes += bytes.len() as u64;
        match Trace::from_bytes(&bytes) {
            Ok(trace) => traces.push(trace),
            Err(e) => compared
                .differences
                .push(format!("{}: {e}", path.display())),
        }
    }
    compared.traced = compared.trace_bytes > 0;
    let mut logged = Sums::new();
    let mut streams = BTreeSet::new();
    for path in files(directory, "plain.")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut numbers = name
            .split('.')
            .skip(2)
            .map(|n| n.parse().unwrap_or(u32::MAX));
        let (Some(rank), Some(thread)) = (numbers.next(), numbers.next()) else {
            continue;
        };
        streams.insert((rank, thread));
        let log = Log::open(&path)?;
        compared.log_bytes += log.length();
        let what = format!("rank {rank} thread {thread}");
        let of_rank = || traces.iter().filter(|t| t.ranks.contains(rank));
        if of_rank().next().is_none() {
            let (events, _) = stream(log, None, &mut logged);
            compared.events += events;
            compared
                .differences
                .push(format!("{what}: no trace of {events} events"));
            continue;
        }
        // Programs that were started later have ranks of the same numbers, and traces of their own.
        let mut first = None;
        for trace in of_rank() {
            let mut sums = Sums::new();
            let (events, difference) =
                stream(Log::open(&path)?, Some((trace, rank, thread)), &mut sums);
            let lost = trace
                .losses
                .iter()
                .filter(|l| (l.rank, l.thread) == (rank, thread));
            let result = (events, lost.map(|l| l.lost).sum::<u64>(), sums, difference);
            let same = result.3.is_none();
            if same || first.is_none() {
                first = Some(result);
            }
            if same {
                break;
            }
        }
        if let Some((events, lost, sums, difference)) = first {
            compared.events += events;
            compared.lost += lost;
            merge(&mut logged, sums);
            compared
                .differences
                .extend(difference.map(|d| format!("{what}, {d}")));
        }
    }
    let mut traced = Sums::new();
    for trace in &traces {
        for rank in trace.ranks.to_vec() {
            for thread in trace.streams.keys() {
                let there = streams.contains(&(rank, *thread));
                if !there && trace.events(rank, *thread).next().is_some() {
                    compared
                        .differences
                        .push(format!("rank {rank} thread {thread}: no log"));
                }
            }
        }
        for row in trace.streams.values() {
            times(trace, row, &mut traced);
        }
    }
    if compared.differences.is_empty() && compared.lost == 0 && logged != traced {
        let other = logged
            .iter()
            .find(|(key, sums)| traced.get(key) != Some(sums));
        compared.differences.push(match other {
            Some((key, sums)) => {
                format!(
                    "times of {key:?}: {sums:?} in the log, {:?} in the trace",
                    traced.get(key)
                )
            }
            None => "times of events that are not in the log".into(),
        });
    }
    Ok(compared)
}

fn files(directory: &Path, beginning: &str) -> Result<Vec<PathBuf>, String> {
    let all = std::fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut files: Vec<PathBuf> = all
        .flatten()
        .filter(|f| f.file_name().to_string_lossy().starts_with(beginning))
        .map(|f| f.path())
        .collect();
    files.sort();
    Ok(files)
}

/// Reads a log beside the stream of a trace, if there is one. Returns the number of events and the first difference.
fn stream(mut log: Log, of: Option<(&Trace, u32, u32)>, sums: &mut Sums) -> (u64, Option<String>) {
    let mut events = of.map(|(trace, rank, thread)| trace.events(rank, thread));
    let kept = of.and_then(|(trace, rank, thread)| {
        let mut losses = trace.losses.iter();
        losses
            .find(|l| (l.rank, l.thread) == (rank, thread))
            .map(|l| (l.kept, l.lost))
    });
    let mut keys: Vec<Key> = Vec::new();
    let mut by_number: BTreeMap<(Option<usize>, usize), [[u64; 4]; 3]> = BTreeMap::new();
    let (mut count, mut before, mut difference) = (0_u64, None, None);
    let cut = loop {
        let event = match log.next() {
            Ok(Some(event)) => event,
            end => break end.err(),
        };
        for signature in log.signatures.iter().skip(keys.len()) {
            keys.push((
                signature.function.clone(),
                without_recursion(&signature.frames),
            ));
        }
        let sum = by_number.entry((before, event.signature)).or_insert(NONE);
        for (sum, time) in sum.iter_mut().zip(event.times) {
            add(sum, [1, time, time, time]);
        }
        before = Some(event.signature);
        count += 1;
        if difference.is_some() || kept.is_some_and(|(kept, _)| count > kept) {
            continue;
        }
        let (Some(events), Some((trace, ..))) = (&mut events, of) else {
            continue;
        };
        let (function, frames) = &keys[event.signature];
        let here = |what: String| format!("event {count}, {function}: {what}");
        let Some(traced) = events.next() else {
            difference = Some(here("the trace has ended".into()));
            continue;
        };
        if traced.signature.function != *function {
            difference = Some(here(format!("the trace has {}", traced.signature.function)));
        } else if traced.signature.frames != *frames {
            let theirs = &traced.signature.frames;
            difference = Some(here(format!(
                "call path {frames:x?}, in the trace {theirs:x?}"
            )));
        } else if traced.values.len() != event.values.len() {
            difference = Some(here(format!(
                "{} values of {}",
                traced.values.len(),
                event.values.len()
            )));
        }
        let kinds = &traced.signature.kinds;
        for (i, ((mine, theirs), kind)) in event
            .values
            .iter()
            .zip(traced.values)
            .zip(kinds)
            .enumerate()
        {
            let theirs = value(trace, *kind, *theirs);
            if *mine != theirs && difference.is_none() {
                difference = Some(here(format!(
                    "value {i} ({kind:?}) is {mine:?}, in the trace {theirs:?}"
                )));
            }
        }
    };
    difference = difference.or(cut);
    let more = events
        .filter(|_| difference.is_none())
        .is_some_and(|mut events| events.next().is_some());
    if more {
        difference = Some(format!("after {count} events: the trace has more"));
    }
    if let Some((kept, lost)) = kept.filter(|(kept, lost)| kept + lost != count) {
        difference = difference.or(Some(format!(
            "{count} events, and the trace says {kept} and {lost} lost"
        )));
    }
    let key = |at: usize| keys[at].clone();
    let keyed = by_number
        .into_iter()
        .map(|((before, at), sums)| ((before.map(key), key(at)), sums));
    keyed.for_each(|one| merge(sums, Sums::from([one])));
    (count, difference)
}

fn value(trace: &Trace, kind: Kind, value: i64) -> Value {
    let list = || trace.lists.get(&value).map(|list| list.iter().collect());
    let text = || {
        trace
            .texts
            .get(&value)
            .map(|t| t.iter().map(|b| i64::from(*b)).collect())
    };
    let members = match kind {
        Kind::List => list(),
        Kind::Text => text(),
        _ => None,
    };
    members.map_or(Value::Number(value), Value::Members)
}

/// Number, sum, minimum and maximum of nothing.
const NONE: [[u64; 4]; 3] = [[0, 0, u64::MAX, 0]; 3];

fn add(sum: &mut [u64; 4], [count, total, min, max]: [u64; 4]) {
    *sum = [
        sum[0] + count,
        sum[1].saturating_add(total),
        sum[2].min(min),
        sum[3].max(max),
    ];
}

fn merge(all: &mut Sums, more: Sums) {
    for (key, three) in more {
        let mine = all.entry(key).or_insert(NONE);
        mine.iter_mut()
            .zip(three)
            .for_each(|(mine, one)| add(mine, one));
    }
}

fn times(trace: &Trace, row: &[Node], sums: &mut Sums) {
    let key = |identity: u64| {
        let signature = trace.signatures.get(&identity)?;
        Some((signature.function.clone(), signature.frames.clone()))
    };
    let figures = |h: &Histogram| [h.count, h.sum, h.min, h.max];
    for node in row {
        match &node.body {
            Body::Loop(row) => times(trace, row, sums),
            Body::Event(event) => {
                let Some(here) = key(event.signature) else {
                    continue;
                };
                for (before, times) in &event.times {
                    let Times { wall, cpu, call } = times.as_ref();
                    let before = Some(*before).filter(|b| *b != BEGIN).and_then(key);
                    let three = [wall, cpu, call].map(figures);
                    merge(sums, Sums::from([((before, here.clone()), three)]));
                }
            }
        }
    }
}
