//! What is shown of a trace, as a tree.

use super::Names;
use super::histograms::{self, LossyEvent};
use super::notation::{self, Values};
use crate::elastic::{Elastic, Form, Part, Place};
use crate::ranks::Ranks;
use crate::times::Histogram;
use crate::trace::{Body, Event, Frame, Kind, Loss, Node, OpenCall, Signature, Trace};
use crate::vector::{Term, Vector};
use rustc_hash::FxHashMap;
use std::fmt;

/// A trace, or one rank's part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Ranks of the program.
    pub size: u32,
    /// The rank that is shown; all if there is none.
    pub rank: Option<u32>,
    /// Ranks that are not in the trace; empty if all are.
    pub missing: String,
    /// Streams that are not whole.
    pub losses: Vec<Loss>,
    /// Communicators that the program made.
    pub communicators: Vec<Members>,
    /// Calls that did not end.
    pub open: Vec<Open>,
    /// Events whose parameters are histograms, of all ranks.
    pub lossy: Vec<LossyEvent>,
    /// The streams.
    pub streams: Vec<Stream>,
}

/// Who is in a communicator. Ranks that made different ones at the same time have one number for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    /// Its number.
    pub number: i64,
    /// How many members it has, by ranks of the program.
    pub sizes: Vec<Group>,
    /// The rank in it, by ranks of the program: `3`, `+1` for the one after the rank in the program, `^4`.
    pub own: Vec<Group>,
    /// Whether all ranks are in it, in their order.
    pub is_all: bool,
}

/// A call that did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// Its rank.
    pub rank: u32,
    /// Its thread.
    pub thread: u32,
    /// The function.
    pub function: String,
    /// Names and values of its parameters, ranks as the call had them.
    pub fields: Vec<(String, String)>,
    /// The call path, outermost first.
    pub path: Vec<String>,
    /// How many events are missing between those of its thread and this call; `None` if that is not known.
    pub missing: Option<u32>,
}

/// What the threads of one number did.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Number of the thread.
    pub thread: u32,
    /// Events of all ranks that are shown.
    pub events: u64,
    /// In the order in which they ran.
    pub row: Vec<Described>,
}

/// A loop or an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Its ranks, if these are not all of those around it.
    pub ranks: Option<String>,
    /// How often it ran, by ranks.
    pub trips: Vec<Group>,
    /// What ran.
    pub what: What,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A loop.
    Loop {
        /// What it repeats.
        row: Vec<Described>,
    },
    /// An event.
    Event {
        /// The function.
        function: String,
        /// Its values.
        fields: Vec<Field>,
        /// The call path, outermost first.
        path: Vec<String>,
        /// Computation before the call, wall time.
        computation: Duration,
        /// Computation before the call, CPU time.
        cpu: Duration,
        /// The call itself.
        call: Duration,
    },
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// By ranks.
    pub values: Vec<Group>,
}

/// Values of some ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The ranks.
    pub ranks: String,
    /// The values.
    pub values: String,
}

/// Durations, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Duration {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
}

impl Duration {
    fn of<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Self {
        let mut all = Histogram::default();
        histograms.for_each(|one| all.merge(one));
        Self {
            count: all.count,
            sum: all.sum,
            min: all.min.min(all.max),
            max: all.max,
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [min, max] = [self.min, self.max].map(|n| notation::duration(n as f64));
        f.write_str(&notation::duration(
            self.sum as f64 / self.count.max(1) as f64,
        ))?;
        if min != max {
            write!(f, " ({min}–{max})")?;
        }
        Ok(())
    }
}

/// What is shown of a trace. With a rank, only its own, with ranks as the calls had them; times are always those of all
/// ranks, as a trace has them.
pub fn describe(trace: &Trace, names: &dyn Names, rank: Option<u32>) -> View {
    let describing = Describing { trace, names, rank };
    let streams = trace.streams.iter().map(|(thread, row)| {
        let runs = row.iter().map(|node| describing.events(node));
        Stream {
            thread: *thread,
            events: runs.fold(0, u64::saturating_add),
            row: describing.row(row, trace.ranks.len()),
        }
    });
    let losses = trace.losses.iter();
    View {
        size: trace.size,
        rank,
        missing: missing(trace),
        losses: losses
            .filter(|loss| rank.is_none_or(|rank| loss.rank == rank))
            .copied()
            .collect(),
        communicators: describing.communicators(),
        open: open_calls(trace, names, rank),
        lossy: histograms::lossy(trace, names),
        streams: streams.collect(),
    }
}

fn open_calls(trace: &Trace, names: &dyn Names, rank: Option<u32>) -> Vec<Open> {
    let calls = trace.open.iter();
    let calls = calls.filter(|call| rank.is_none_or(|rank| call.rank == rank));
    let each = calls.filter_map(|call| {
        let signature = trace.signatures.get(&call.signature)?;
        Some(Open {
            rank: call.rank,
            thread: call.thread,
            function: signature.function.clone(),
            fields: fields_of(trace, names, signature, &call.values),
            path: path(trace, names, signature),
            missing: call.missing(kept(trace, call)),
        })
    });
    each.collect()
}

/// How many events of its thread were recorded before a call that did not end.
fn kept(trace: &Trace, call: &OpenCall) -> u64 {
    let losses = trace.losses.iter();
    let own = |loss: &&Loss| (loss.rank, loss.thread) == (call.rank, call.thread);
    losses.filter(own).map(|loss| loss.kept).sum()
}

/// Names and values of one call's parameters, without those that say nothing.
pub(super) fn fields_of(
    trace: &Trace,
    names: &dyn Names,
    signature: &Signature,
    values: &[i64],
) -> Vec<(String, String)> {
    let each = values.iter().enumerate().map(|(position, value)| {
        let kind = signature.kinds.get(position).copied();
        let kind = kind.unwrap_or(Kind::Plain);
        let name = field_name(names, &signature.function, position, kind);
        let function = &signature.function;
        let values = Values {
            trace,
            names,
            function,
            position,
            kind,
            form: Form::Absolute,
            members: None,
        };
        (name, values.value(*value))
    });
    each.filter(|(_, value)| !value.is_empty()).collect()
}

/// Ranks that are not in the trace.
fn missing(trace: &Trace) -> String {
    /// So many rows of them are shown.
    const MOST: usize = 16;
    /// The ranks of larger traces are only counted.
    const LARGEST: u64 = 1 << 22;
    let missing = u64::from(trace.size).saturating_sub(trace.ranks.len());
    if missing == 0 {
        return String::new();
    }
    if trace.ranks.len() > LARGEST {
        return format!("{missing} ranks");
    }
    let mut rows: Vec<String> = Vec::new();
    let mut next = 0;
    let there = trace.ranks.to_vec();
    for rank in there.into_iter().chain([trace.size]) {
        match rank.saturating_sub(next) {
            0 => {}
            1 => rows.push(next.to_string()),
            _ => rows.push(format!("{next}-{}", rank - 1)),
        }
        next = rank.saturating_add(1);
    }
    if rows.len() > MOST {
        rows.truncate(MOST);
        rows.push("…".to_owned());
    }
    rows.join(",")
}

/// The name of a value of a function.
pub(super) fn field_name(names: &dyn Names, function: &str, at: usize, kind: Kind) -> String {
    names.field(function, at).unwrap_or_else(|| {
        let kind = match kind {
            Kind::Plain => "value",
            Kind::Peer => "peer",
            Kind::Comm => "comm",
            Kind::List => "list",
            Kind::Text => "text",
        };
        format!("{kind}{at}")
    })
}

/// The places of a call path, outermost first. Innermost ones that belong to their callers are left out.
pub(super) fn path(trace: &Trace, names: &dyn Names, signature: &Signature) -> Vec<String> {
    let module = |frame: &Frame| trace.modules.get(&frame.module).map_or("?", String::as_str);
    let own = |frame: &Frame| !names.belongs_to_caller(module(frame));
    let all = &signature.frames;
    let end = all.iter().rposition(own).map_or(all.len(), |at| at + 1);
    let frames = all.iter().take(end).map(|frame| {
        let module = module(frame);
        names.place(module, *frame).unwrap_or_else(|| {
            let name = module.rsplit('/').next().unwrap_or(module);
            format!("{name}+{:#x}", frame.offset)
        })
    });
    frames.collect()
}

/// What is written alike is one group.
fn grouped<'a>(parts: impl Iterator<Item = (&'a Ranks, String)>) -> Vec<Group> {
    let mut groups: Vec<(Ranks, String)> = Vec::new();
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    for (ranks, values) in parts {
        match numbers.get(&values).and_then(|at| groups.get_mut(*at)) {
            Some((all, _)) => all.unite(ranks),
            None => {
                numbers.insert(values.clone(), groups.len());
                groups.push((ranks.clone(), values));
            }
        }
    }
    let groups = groups.into_iter();
    groups
        .map(|(ranks, values)| Group {
            ranks: notation::ranks(&ranks),
            values,
        })
        .collect()
}

struct Describing<'a> {
    trace: &'a Trace,
    names: &'a dyn Names,
    rank: Option<u32>,
}

impl Describing<'_> {
    /// The parts that are shown.
    fn parts<'e>(&self, elastic: &'e Elastic) -> impl Iterator<Item = &'e Part> + use<'e> {
        let rank = self.rank;
        let parts = elastic.parts.iter();
        parts.filter(move |part| rank.is_none_or(|rank| part.ranks.contains(rank)))
    }

    /// Communicators without a name of their own.
    fn communicators(&self) -> Vec<Members> {
        let made = self.trace.communicators.iter();
        let made = made.filter(|(number, _)| self.names.communicator(**number).is_none());
        let made = made.map(|(number, communicator)| {
            let is = |part: &Part, value| part.values.last() == Some(value);
            let is_whole = |part: &Part| is(part, i64::from(self.trace.size));
            // One rank alone has no value that is relative.
            let is_own = |part: &Part| match part.form {
                Form::Relative => is(part, 0),
                _ => {
                    part.ranks.len() == 1
                        && part.ranks.contains(part.values.last().unwrap_or(0) as u32)
                }
            };
            Members {
                number: *number,
                sizes: self.numbers_of(&communicator.size),
                own: self.numbers_of(&communicator.me),
                is_all: self.parts(&communicator.size).all(is_whole)
                    && self.parts(&communicator.me).all(is_own),
            }
        });
        made.filter(|made| !made.own.is_empty()).collect()
    }

    /// Values that are one for each rank. Of one rank alone, its own.
    fn numbers_of(&self, elastic: &Elastic) -> Vec<Group> {
        let world = |rank| Place {
            me: i64::from(rank),
            size: i64::from(self.trace.size),
        };
        let parts = self.parts(elastic).map(|part| {
            let value = part.values.last().unwrap_or(0);
            let text = match (self.rank, part.form) {
                (Some(rank), form) => form.rank(value, world(rank)).to_string(),
                (None, form) => notation::peer(value, form, Some(world(0).size)),
            };
            (&part.ranks, text)
        });
        grouped(parts)
    }

    fn runs(&self, node: &Node) -> u64 {
        self.parts(&node.trips).fold(0, |sum: u64, part| {
            let ranks = self.rank.map_or(part.ranks.len(), |_| 1);
            let runs = part.values.sum().max(0) as u64;
            sum.saturating_add(runs.saturating_mul(ranks))
        })
    }

    /// Events that a node executed, on all ranks that are shown.
    fn events(&self, node: &Node) -> u64 {
        match &node.body {
            Body::Event(_) => self.runs(node),
            Body::Loop(row) => row
                .iter()
                .map(|node| self.events(node))
                .fold(0, u64::saturating_add),
        }
    }

    /// A row; `around` is how many ranks run it.
    fn row(&self, row: &[Node], around: u64) -> Vec<Described> {
        let shown = row.iter().filter(|node| self.runs(node) > 0);
        shown.map(|node| self.node(node, around)).collect()
    }

    fn node(&self, node: &Node, around: u64) -> Described {
        let parts: Vec<&Part> = self.parts(&node.trips).collect();
        let ranks = parts.iter().map(|part| part.ranks.len());
        let here = ranks.fold(0, u64::saturating_add);
        let all = parts.iter().map(|part| notation::ranks(&part.ranks));
        let all: Vec<String> = all.collect();
        let trips = parts
            .iter()
            .map(|part| (&part.ranks, notation::numbers(&part.values)));
        Described {
            ranks: (self.rank.is_none() && here != around).then(|| all.join(",")),
            trips: grouped(trips),
            what: match &node.body {
                Body::Loop(row) => What::Loop {
                    row: self.row(row, here),
                },
                Body::Event(event) => self.event(event),
            },
        }
    }

    fn event(&self, event: &Event) -> What {
        let unknown = Signature {
            function: "unknown function".to_owned(),
            kinds: Vec::new(),
            frames: Vec::new(),
        };
        let signature = self.trace.signatures.get(&event.signature);
        let signature = signature.unwrap_or(&unknown);
        let communicator = signature.communicator().and_then(|at| event.values.get(at));
        let fields = event.values.iter().enumerate().filter_map(|(i, column)| {
            let kind = signature.kinds.get(i).copied().unwrap_or(Kind::Plain);
            let parts = self.parts(column).filter(|part| !part.values.is_empty());
            let values = grouped(parts.map(|part| {
                let values = match histograms::is_lost(&part.values) {
                    true => histograms::drawn(self.trace, event.signature, signature, i),
                    false => self.values(part, &signature.function, i, kind, communicator),
                };
                (&part.ranks, values)
            }));
            let is_there = values.iter().any(|group| !group.values.is_empty());
            is_there.then(|| Field {
                name: field_name(self.names, &signature.function, i, kind),
                values,
            })
        });
        let times = || event.times.values();
        What::Event {
            fields: fields.collect(),
            function: signature.function.clone(),
            path: path(self.trace, self.names, signature),
            computation: Duration::of(times().map(|times| &times.wall)),
            cpu: Duration::of(times().map(|times| &times.cpu)),
            call: Duration::of(times().map(|times| &times.call)),
        }
    }

    fn values(
        &self,
        part: &Part,
        function: &str,
        position: usize,
        kind: Kind,
        communicator: Option<&Elastic>,
    ) -> String {
        let rank = self.rank.or_else(|| {
            let first = part.ranks.blocks().first();
            first.map(|block| block.start)
        });
        // Only if all executions are on one communicator.
        let place = rank.zip(communicator).and_then(|(rank, communicator)| {
            match *communicator.part(rank)?.values.terms() {
                [
                    Term::Run {
                        first, stride: 0, ..
                    },
                ] => self.trace.place(first, rank),
                _ => None,
            }
        });
        let mut values = Values {
            trace: self.trace,
            names: self.names,
            function,
            position,
            kind,
            form: part.form,
            members: place.map(|place| place.size),
        };
        match (self.rank, place) {
            (Some(_), Some(place)) if part.form != Form::Absolute && is_short(&part.values) => {
                values.form = Form::Absolute;
                values.row(&part.values.map(|value| part.form.rank(value, place)))
            }
            _ => values.row(&part.values),
        }
    }
}

/// Whether changing each value takes no time worth mentioning.
fn is_short(values: &Vector) -> bool {
    fn steps(terms: &[Term]) -> u64 {
        let one = |term: &Term| match term {
            Term::Run { stride: 0, .. } => 1,
            Term::Run { count, .. } => *count,
            Term::Loop { body, .. } => steps(body),
        };
        terms.iter().map(one).fold(0, u64::saturating_add)
    }
    steps(values.terms()) <= 1 << 20
}
