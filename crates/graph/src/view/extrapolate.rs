//! How many messages and collectives there were for each one that was sampled at both ends.
//!
//! Ranks sample at different rates, and a message is joined only if both of its ranks sampled it, so messages are
//! counted by call and partner. The counts of the sender's call come first, because each of its calls names its
//! destination. A receiver may accept messages from any source, and a call that sends and receives names its
//! destination alone. Calls to `MPI_PROC_NULL` move no message, and messages of a rank to itself represent no others.
//! Collectives are counted by call and communicator; a rank that is alone in its communicator waits for nobody and is
//! left out. Where every message and collective was sampled, each represents itself.

use super::starts::{Started, Starts, started};
use super::waits::At;
use crate::pag::RunView;
use crate::parallel::{CollectiveEdge, MessageLink};
use headwater_model::run::{MpiCalls, Run, peer};
use headwater_mpi_abi::{self as abi, Class};
use rustc_hash::FxHashMap;

/// How many messages a row of calls sends and receives.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partners {
    /// Messages that it sends.
    pub(crate) sends: f64,
    /// Messages that it receives, where the call shows that.
    receives: f64,
}

/// How many messages the calls of a row send, and how many they receive.
pub(crate) fn partners(run: &Run, starts: &Starts, row: &MpiCalls, at: At) -> Partners {
    let Some(function) = abi::by_name(run.function(row.func)) else {
        return Partners::default();
    };
    if row.peer == peer::PROC_NULL {
        return Partners::default();
    }
    let count = row.count as f64;
    let (sends, receives) = match (function.class, started(run, row)) {
        (_, Some(Started::One)) => {
            let sent = starts.sent_part(row, at);
            (count * sent, count * (1.0 - sent))
        }
        (_, Some(_)) => (0.0, 0.0),
        // A call that also receives names only its destination.
        (Class::Send | Class::SendRecv, _) => (count, 0.0),
        _ => (0.0, count),
    };
    Partners { sends, receives }
}

/// One direction of messages at a call: the partners, how many messages there were, and how many were sampled.
#[derive(Default)]
struct Way {
    by_partner: FxHashMap<(At, u32), Counts>,
    /// With all partners but the rank itself.
    others: FxHashMap<At, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    /// Of calls that name their partner.
    named: f64,
    /// Of calls that have a partner, but an unknown one.
    vague: f64,
    /// Of calls for which it is unknown whether they have a partner.
    silent: f64,
    sampled: f64,
}

impl Counts {
    fn add(&mut self, partner: i32, n: f64) {
        match partner {
            peer::NONE => self.silent += n,
            peer::ANY | peer::UNKNOWN => self.vague += n,
            _ => self.named += n,
        }
    }

    /// How many there were for each one that was sampled. Silent calls count only where there are no others: in an
    /// imported trace, calls to `MPI_PROC_NULL` are silent too.
    fn factor(&self) -> Option<f64> {
        let known = self.named + self.vague;
        let all = if known > 0.0 { known } else { self.silent };
        (all > 0.0 && self.sampled > 0.0).then(|| all / self.sampled)
    }
}

impl Way {
    fn add(&mut self, at: At, partner: i32, n: f64) {
        if n <= 0.0 {
            return;
        }
        if partner != 0 {
            self.others.entry(at).or_default().add(partner, n);
        }
        let of = i64::from(at.1) + i64::from(partner);
        if let Ok(of) = u32::try_from(of) {
            self.by_partner.entry((at, of)).or_default().named += n;
        }
    }

    fn sampled(&mut self, at: At, partner: u32, n: u64) {
        if partner != at.1 {
            self.others.entry(at).or_default().sampled += n as f64;
        }
        self.by_partner.entry((at, partner)).or_default().sampled += n as f64;
    }

    /// The factor for messages with one partner, where all calls name their partners.
    fn with(&self, at: At, partner: u32) -> Option<f64> {
        let all_named = self.others.get(&at).is_none_or(|o| o.vague == 0.0);
        let counts = self.by_partner.get(&(at, partner));
        counts.filter(|_| all_named)?.factor()
    }

    fn with_others(&self, at: At) -> Option<f64> {
        self.others.get(&at)?.factor()
    }
}

/// How many there were, and how many were sampled.
#[derive(Clone, Copy, Default)]
struct Ratio(u64, u64);

impl Ratio {
    fn factor(self) -> Option<f64> {
        (self.0 > 0 && self.1 > 0).then(|| self.0 as f64 / self.1 as f64)
    }
}

/// How many messages and collectives there were for each one that was sampled.
pub(crate) struct Factors {
    sends: Way,
    receives: Way,
    /// Bytes of calls that start several requests.
    several: FxHashMap<At, Ratio>,
    /// By call and communicator: collectives that the call completes itself.
    collectives: FxHashMap<(At, u16), Ratio>,
    /// By rank, function and communicator: collectives that other calls complete.
    posted: FxHashMap<(u32, u16, u16), Ratio>,
    /// By rank: the same of persistent ones.
    persistent: FxHashMap<u32, Ratio>,
}

/// The mode of a function of the run (blocking, nonblocking or persistent), if it is a collective.
fn mode(run: &Run, func: u16) -> Option<abi::Mode> {
    let function = abi::by_name(run.function(func))?;
    function.is_collective().then_some(function.mode)
}

impl Factors {
    pub(crate) fn new(run: &Run, view: &RunView) -> Self {
        let mut this = Self {
            sends: Way::default(),
            receives: Way::default(),
            several: FxHashMap::default(),
            collectives: FxHashMap::default(),
            posted: FxHashMap::default(),
            persistent: FxHashMap::default(),
        };
        this.count(run, view);
        this.count_sampled(run, view);
        this
    }

    fn count(&mut self, run: &Run, view: &RunView) {
        let starts = Starts::new(run, view);
        let is_alone = |c: &MpiCalls| run.comms.get(c.comm as usize).is_some_and(|c| c.size == 1);
        let add = |ratio: &mut Ratio, n: u64| ratio.0 = ratio.0.saturating_add(n);
        for c in &run.calls {
            let mode = mode(run, c.func);
            if mode.is_some() && is_alone(c) {
                continue;
            }
            if mode == Some(abi::Mode::Nonblocking) {
                let key = (c.rank, c.func, c.comm);
                add(self.posted.entry(key).or_default(), c.count);
            }
            let Some(v) = view.vertex(c.ctx) else {
                continue;
            };
            let at = (v, c.rank);
            match started(run, c) {
                Some(Started::Several) => add(self.several.entry(at).or_default(), c.bytes),
                Some(Started::Collective) if !is_alone(c) => {
                    add(self.persistent.entry(c.rank).or_default(), c.count);
                }
                _ => {}
            }
            if mode.is_some() {
                let key = (at, c.comm);
                add(self.collectives.entry(key).or_default(), c.count);
                continue;
            }
            let of = partners(run, &starts, c, at);
            // The partner that a one-sided call names is not the rank that it waits for.
            let class = abi::by_name(run.function(c.func)).map(|f| f.class);
            let partner = match class {
                Some(Class::Send | Class::Recv | Class::SendRecv | Class::Start) => c.peer,
                _ => peer::UNKNOWN,
            };
            self.sends.add(at, partner, of.sends);
            self.receives.add(at, partner, of.receives);
        }
    }

    fn count_sampled(&mut self, run: &Run, view: &RunView) {
        let add = |ratio: &mut Ratio, n: u64| ratio.1 = ratio.1.saturating_add(n);
        for m in &view.parallel.messages {
            let (send, post) = ((m.send, m.src), (m.post, m.dst));
            self.sends.sampled(send, m.dst, m.count);
            self.receives.sampled(post, m.src, m.count);
            for at in [send, post] {
                if let Some(several) = self.several.get_mut(&at) {
                    add(several, m.bytes);
                }
            }
        }
        for c in &view.parallel.collectives {
            let ratio = match mode(run, c.func) {
                Some(abi::Mode::Nonblocking) => {
                    self.posted.entry((c.rank, c.func, c.comm)).or_default()
                }
                Some(abi::Mode::Persistent) => self.persistent.entry(c.rank).or_default(),
                _ => {
                    let key = ((c.vertex, c.rank), c.comm);
                    self.collectives.entry(key).or_default()
                }
            };
            add(ratio, c.count);
        }
    }

    /// The factor of a message. If a call starts several requests, their number is unknown: then the counts of the
    /// other end are used, or else the bytes.
    pub(crate) fn of_message(&self, m: &MessageLink) -> f64 {
        let (send, post) = ((m.send, m.src), (m.post, m.dst));
        let one = |at: &At| !self.several.contains_key(at);
        let (sender, receiver) = (one(&send), one(&post));
        let by_sender = || self.sends.with(send, m.dst).filter(|_| sender);
        let by_receiver = || self.receives.with(post, m.src).filter(|_| receiver);
        let of_sender = || self.sends.with_others(send).filter(|_| sender);
        let of_receiver = || self.receives.with_others(post).filter(|_| receiver);
        let by_bytes = || self.several.get(&post)?.factor();
        let known = by_sender()
            .or_else(by_receiver)
            .or_else(of_sender)
            .or_else(of_receiver)
            .or_else(by_bytes);
        known.unwrap_or(1.0).max(1.0)
    }

    /// The factor of a collective on one rank.
    pub(crate) fn of_collective(&self, run: &Run, c: &CollectiveEdge) -> f64 {
        let ratio = match mode(run, c.func) {
            Some(abi::Mode::Nonblocking) => self.posted.get(&(c.rank, c.func, c.comm)),
            Some(abi::Mode::Persistent) => self.persistent.get(&c.rank),
            _ => self.collectives.get(&((c.vertex, c.rank), c.comm)),
        };
        let factor = ratio.and_then(|r| r.factor());
        factor.unwrap_or(1.0).max(1.0)
    }
}
