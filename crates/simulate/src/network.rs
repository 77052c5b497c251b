//! Networks: what a message costs.
//!
//! LogGP (Alexandrov, Ionescu, Schauser, Scheiman: *LogGP: incorporating long messages into the LogP model*, SPAA 1995)
//! with the threshold S of a rendezvous, as in LogGPS (Ino, Fujimoto, Hagihara, PPoPP 2001) and LogGOPSim (Hoefler,
//! Schneider, Lumsdaine, HPDC 2010). The gap is kept where messages enter the network, at the sender; messages that
//! meet at a receiver do not delay each other there, but each costs its processor the overhead. Every time is thereby a
//! maximum of sums of other times, and the order in which ranks are simulated has no effect.

/// A network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Network {
    /// A message is there when it is sent, a collective ends when the last rank arrived that a member needs, and no
    /// standard send waits for its receive: POP's ideal network.
    #[default]
    Ideal,
    /// A LogGP network.
    LogGp(LogGp),
}

impl Network {
    /// The parameters of the network; those of the ideal one are zero.
    pub fn parameters(&self) -> LogGp {
        match self {
            Self::Ideal => LogGp::IDEAL,
            Self::LogGp(p) => *p,
        }
    }
}

/// The parameters of a LogGP network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGp {
    /// L: how long the first byte is on its way, seconds.
    pub latency: f64,
    /// o: how long a processor is busy with sending or with receiving a message, seconds.
    pub overhead: f64,
    /// g: time from the end of a message to the start of the sender's next one, seconds.
    pub gap: f64,
    /// G: time for each byte after the first, seconds.
    pub per_byte: f64,
    /// S: longer messages wait for their receive, bytes.
    pub rendezvous_above: u64,
}

impl LogGp {
    /// Everything is free.
    pub const IDEAL: Self = Self {
        latency: 0.0,
        overhead: 0.0,
        gap: 0.0,
        per_byte: 0.0,
        rendezvous_above: u64::MAX,
    };

    /// The longest times of a network, seconds.
    pub const LONGEST: f64 = 1000.0;

    /// Name, value and largest value of the first time that is negative, too long or no number.
    pub fn outside(&self) -> Option<(&'static str, f64, f64)> {
        let most = Self::LONGEST;
        let all = [
            ("latency", self.latency, most),
            ("overhead", self.overhead, most),
            ("gap", self.gap, most),
            ("per_byte", self.per_byte, most),
        ];
        let mut all = all.into_iter();
        all.find(|(_, value, most)| !(0.0..=*most).contains(value))
    }

    /// Whether no time is negative, too long or no number.
    pub fn is_valid(&self) -> bool {
        self.outside().is_none()
    }

    /// How long a message of this length flows into the network, seconds.
    pub(crate) fn flow(&self, bytes: u64) -> f64 {
        bytes.saturating_sub(1) as f64 * self.per_byte
    }

    /// From the start of an eager send to the end of its receive if nothing else happens, seconds: 2o + L + (k - 1)G.
    pub fn message(&self, bytes: u64) -> f64 {
        2.0 * self.overhead + self.latency + self.flow(bytes)
    }

    /// When an exchange by rendezvous happens whose ends were posted at `send` and `receive`, and whose data may enter
    /// the network from `begin` on. The request goes to the receiver, its answer comes back, then the data flow.
    pub(crate) fn rendezvous(&self, send: f64, receive: f64, begin: f64, bytes: u64) -> Exchange {
        let asked = send + self.overhead + self.latency;
        let late_receiver = receive > asked && receive + self.latency > begin;
        let start = (asked.max(receive) + self.latency).max(begin);
        let sent = start + self.flow(bytes);
        Exchange {
            sent,
            there: sent + self.latency,
            late_receiver,
        }
    }
}

/// A message by rendezvous.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exchange {
    /// When the sender is done.
    pub sent: f64,
    /// When all of it is at the receiver.
    pub there: f64,
    /// Whether the receive, rather than the send, decides when it happens.
    pub late_receiver: bool,
}
