//! What `headwater show --json` gives.

use crate::output::SCHEMA;
use headwater_trace::text::{self, Described, Group, View, What};
use schemars::JsonSchema;
use serde::Serialize;

/// What `headwater show --json` gives.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Trace")]
pub struct Shown {
    /// Version of this format.
    schema: u32,
    /// Ranks of the program.
    ranks: u32,
    /// The rank that is shown; null if all are.
    rank: Option<u32>,
    /// Ranks that are not in the trace, as `3,8-11`; empty if all are.
    missing: String,
    /// Streams whose later events are missing.
    losses: Vec<Loss>,
    /// Communicators that the program made.
    communicators: Vec<Communicator>,
    /// Calls that did not end: what a rank was in when its recording ended.
    open: Vec<Open>,
    /// Events whose parameters are histograms, without the order of their values; of all ranks.
    lossy: Vec<LossyEvent>,
    /// What the threads did.
    streams: Vec<Stream>,
}

/// A stream whose later events are missing.
#[derive(Debug, Serialize, JsonSchema)]
struct Loss {
    /// Rank.
    rank: u32,
    /// Number of the thread.
    thread: u32,
    /// Events in the trace.
    kept: u64,
    /// Events that are missing.
    lost: u64,
}

/// A communicator. Ranks that made different ones at the same time have one number for them.
#[derive(Debug, Serialize, JsonSchema)]
struct Communicator {
    /// Its number, as in the parameters.
    number: i64,
    /// How many members it has, by ranks of the program.
    members: Vec<Values>,
    /// The rank in it, by ranks of the program, in the notation of the text.
    rank: Vec<Values>,
    /// Whether all ranks are in it, in their order.
    is_all: bool,
}

/// A call that did not end.
#[derive(Debug, Serialize, JsonSchema)]
struct Open {
    /// Rank.
    rank: u32,
    /// Number of the thread.
    thread: u32,
    /// The MPI function.
    function: String,
    /// Its parameters.
    parameters: Vec<Given>,
    /// The call path, outermost first.
    path: Vec<String>,
    /// How many events of the thread are missing before it; null if that is not known.
    missing: Option<u32>,
}

/// A parameter of one call.
#[derive(Debug, Serialize, JsonSchema)]
struct Given {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
}

/// An event whose parameters are histograms.
#[derive(Debug, Serialize, JsonSchema)]
struct LossyEvent {
    /// The MPI function.
    function: String,
    /// The call path, outermost first.
    path: Vec<String>,
    /// Names of the parameters.
    parameters: Vec<String>,
}

/// What the threads of one number did.
#[derive(Debug, Serialize, JsonSchema)]
struct Stream {
    /// Number of the thread.
    thread: u32,
    /// Events of all ranks that are shown.
    events: u64,
    /// In the order in which they ran.
    nodes: Vec<Node>,
}

/// A loop or an event.
#[derive(Debug, Serialize, JsonSchema)]
struct Node {
    /// How often it ran, for each run of what is around it.
    trips: Vec<Values>,
    /// What ran.
    #[serde(flatten)]
    what: Kind,
}

/// What ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    /// A loop.
    Loop {
        /// What it repeats.
        nodes: Vec<Node>,
    },
    /// An event.
    Event {
        /// The MPI function.
        function: String,
        /// Its parameters.
        parameters: Vec<Parameter>,
        /// The call path, outermost first.
        path: Vec<String>,
        /// Computation before the call, wall time; of all ranks.
        computation: Duration,
        /// Computation before the call, CPU time; of all ranks.
        computation_cpu: Duration,
        /// The call itself; of all ranks.
        call: Duration,
    },
}

/// A parameter of an event.
#[derive(Debug, Serialize, JsonSchema)]
struct Parameter {
    /// Its name.
    name: String,
    /// Its values.
    values: Vec<Values>,
}

/// Values of some ranks, in the notation of the text (docs/TRACE.md).
#[derive(Debug, Serialize, JsonSchema)]
struct Values {
    /// The ranks, as `0-14:2,15`.
    ranks: String,
    /// One value, or all in order, as `[1 2]×50 3`.
    values: String,
}

/// Durations.
#[derive(Debug, Serialize, JsonSchema)]
struct Duration {
    /// How many.
    count: u64,
    /// Their sum.
    sum_ns: u64,
    /// The shortest.
    min_ns: u64,
    /// The longest.
    max_ns: u64,
}

impl From<View> for Shown {
    fn from(view: View) -> Self {
        let losses = view.losses.into_iter().map(|loss| Loss {
            rank: loss.rank,
            thread: loss.thread,
            kept: loss.kept,
            lost: loss.lost,
        });
        let communicators = view.communicators.into_iter().map(|made| Communicator {
            number: made.number,
            members: values(made.sizes),
            rank: values(made.own),
            is_all: made.is_all,
        });
        let given = |(name, value)| Given { name, value };
        let open = view.open.into_iter().map(|open| Open {
            rank: open.rank,
            thread: open.thread,
            function: open.function,
            parameters: open.fields.into_iter().map(given).collect(),
            path: open.path,
            missing: open.missing,
        });
        let lossy = view.lossy.into_iter().map(|event| LossyEvent {
            function: event.function,
            path: event.path,
            parameters: event.parameters,
        });
        let streams = view.streams.into_iter().map(|stream| Stream {
            thread: stream.thread,
            events: stream.events,
            nodes: nodes(stream.row),
        });
        Self {
            schema: SCHEMA,
            ranks: view.size,
            rank: view.rank,
            missing: view.missing,
            losses: losses.collect(),
            communicators: communicators.collect(),
            open: open.collect(),
            lossy: lossy.collect(),
            streams: streams.collect(),
        }
    }
}

fn nodes(row: Vec<Described>) -> Vec<Node> {
    let row = row.into_iter().map(|node| Node {
        trips: values(node.trips),
        what: match node.what {
            What::Loop { row } => Kind::Loop { nodes: nodes(row) },
            What::Event {
                function,
                fields,
                path,
                computation,
                cpu,
                call,
            } => {
                let parameters = fields.into_iter().map(|field| Parameter {
                    name: field.name,
                    values: values(field.values),
                });
                Kind::Event {
                    function,
                    parameters: parameters.collect(),
                    path,
                    computation: duration(computation),
                    computation_cpu: duration(cpu),
                    call: duration(call),
                }
            }
        },
    });
    row.collect()
}

fn values(groups: Vec<Group>) -> Vec<Values> {
    let groups = groups.into_iter().map(|group| Values {
        ranks: group.ranks,
        values: group.values,
    });
    groups.collect()
}

fn duration(of: text::Duration) -> Duration {
    Duration {
        count: of.count,
        sum_ns: of.sum,
        min_ns: of.min,
        max_ns: of.max,
    }
}
