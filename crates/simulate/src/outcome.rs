//! What a simulation gives: each call as it ends, and totals.

use crate::op::{Kind, Op};

/// The cause of a wait: the call in which another stream did what was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its stream.
    pub stream: u32,
    /// Its rank.
    pub rank: u32,
    /// The number of its call, see [`Done::call`].
    pub call: u64,
    /// Its place.
    pub place: u32,
    /// What is waited for.
    pub state: WaitState,
}

/// Wait states by Scalasca's names (Geimer et al., 2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitState {
    /// A message is not sent.
    LateSender,
    /// A message's receive is not posted.
    LateReceiver,
    /// A rank has not come to the barrier.
    WaitAtBarrier,
    /// A rank has not come to a collective that needs all.
    WaitAtNxN,
    /// The root has not come.
    LateBroadcast,
    /// The root waits for the data of a rank. Scalasca's state ends with the first of them.
    EarlyReduce,
    /// A lower rank has not come.
    EarlyScan,
}

impl WaitState {
    /// Its name, as in a diagnosis.
    pub fn name(self) -> &'static str {
        match self {
            Self::LateSender => "late sender",
            Self::LateReceiver => "late receiver",
            Self::WaitAtBarrier => "wait at barrier",
            Self::WaitAtNxN => "wait at n-to-n",
            Self::LateBroadcast => "late broadcast",
            Self::EarlyReduce => "early reduce",
            Self::EarlyScan => "early scan",
        }
    }

    /// Of a collective.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Barrier => Self::WaitAtBarrier,
            Kind::AllReduce | Kind::AllGather | Kind::AllToAll | Kind::ReduceScatter => {
                Self::WaitAtNxN
            }
            Kind::Broadcast | Kind::Scatter => Self::LateBroadcast,
            Kind::Reduce | Kind::Gather => Self::EarlyReduce,
            Kind::Scan => Self::EarlyScan,
        }
    }
}

/// A call or a computation that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// The stream.
    pub stream: u32,
    /// Its rank.
    pub rank: u32,
    /// Where.
    pub place: u32,
    /// The number of the call in its stream, from 0; for a computation, that of the next call.
    pub call: u64,
    /// What was done; the last step of a call that has several.
    pub op: Op,
    /// When it began, seconds.
    pub enter: f64,
    /// When it ended, seconds.
    pub leave: f64,
    /// How long nobody whom it needed had come, seconds. The rest of a call is the network's.
    pub wait: f64,
    /// Who made it end when it did, if that was not the stream itself; of several waits, the last.
    pub waited_for: Option<Cause>,
}

impl Done {
    /// Whether it is a computation, not a call.
    pub fn is_compute(&self) -> bool {
        matches!(self.op, Op::Compute { .. })
    }
}

/// Sees all that ends: in order for each stream, but not by time among streams. When a wait ends, its cause has been seen
/// up to the call before.
pub trait Visitor {
    /// A call or a computation has ended.
    fn done(&mut self, done: &Done);
}

/// Sees nothing.
impl Visitor for () {
    #[inline]
    fn done(&mut self, _: &Done) {}
}

impl<F: FnMut(&Done)> Visitor for F {
    #[inline]
    fn done(&mut self, done: &Done) {
        self(done);
    }
}

/// What a stream spent its time on, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// The rank.
    pub rank: u32,
    /// Computing.
    pub compute: f64,
    /// Waiting for others.
    pub wait: f64,
    /// In calls, without waiting for others: the network.
    pub transfer: f64,
    /// When it ended.
    pub end: f64,
    /// How many calls it made.
    pub calls: u64,
}

/// What a place adds to the critical path, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnPath {
    /// The place.
    pub place: u32,
    /// By computing.
    pub compute: f64,
    /// By the network, in calls at the place.
    pub network: f64,
}

impl OnPath {
    /// Both together.
    pub fn seconds(&self) -> f64 {
        self.compute + self.network
    }
}

/// The result of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The run time: when the last stream ended, seconds.
    pub seconds: f64,
    /// By stream.
    pub streams: Vec<Spent>,
    /// The critical path by place, in the order of places; its sum is the run time. Empty if it was not asked for.
    pub path: Vec<OnPath>,
    /// How many messages nobody received.
    pub unreceived: u64,
    /// How many steps were simulated.
    pub steps: u64,
}

impl Outcome {
    /// The place with the longest part of the critical path; of equal ones the first.
    pub fn longest(&self) -> Option<OnPath> {
        let longer = |a: &OnPath, b: &OnPath| {
            a.seconds()
                .total_cmp(&b.seconds())
                .then(b.place.cmp(&a.place))
        };
        self.path.iter().copied().max_by(longer)
    }

    /// Computation of each rank, over its streams, seconds.
    pub fn compute_of_ranks(&self) -> Vec<f64> {
        let mut out = Vec::new();
        for s in &self.streams {
            let rank = s.rank as usize;
            if out.len() <= rank {
                out.resize(rank + 1, 0.0);
            }
            out[rank] += s.compute;
        }
        out
    }

    /// The POP efficiencies. `ideal` is the run time of the same program on the ideal network.
    pub fn efficiencies(&self, ideal: Option<f64>) -> Option<Efficiencies> {
        let count = self.streams.len() as f64;
        let computing = self.streams.iter().map(|s| s.compute);
        let (sum, most) = computing.fold((0.0f64, 0.0f64), |(s, m), c| (s + c, m.max(c)));
        if self.seconds <= 0.0 || most <= 0.0 {
            return None;
        }
        let mean = sum / count;
        let ideal = ideal.filter(|i| *i > 0.0);
        Some(Efficiencies {
            parallel: mean / self.seconds,
            load_balance: mean / most,
            communication: most / self.seconds,
            serialisation: ideal.map(|i| most / i),
            transfer: ideal.map(|i| i / self.seconds),
        })
    }
}

/// The efficiencies of POP's methodology, of the streams: parallel = load balance × communication, and communication =
/// serialisation × transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiencies {
    /// Mean computation by run time.
    pub parallel: f64,
    /// Mean computation by the longest.
    pub load_balance: f64,
    /// The longest computation by run time.
    pub communication: f64,
    /// The longest computation by run time on the ideal network, if that is known.
    pub serialisation: Option<f64>,
    /// Run time on the ideal network by run time, if the former is known.
    pub transfer: Option<f64>,
}
