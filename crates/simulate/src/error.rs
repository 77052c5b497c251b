//! Why a program cannot be simulated to its end.

use std::fmt;

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Nobody can go on.
    #[error("deadlock: {}", list(.0))]
    Deadlock(Vec<Blocked>),
    /// A rank names a rank that is not in the program.
    #[error("rank {rank} names rank {other}, which is not in the program")]
    NoRank {
        /// Who.
        rank: u32,
        /// Whom.
        other: u32,
    },
    /// A rank names a communicator that is not known.
    #[error("rank {rank} uses communicator {comm}, which is not known")]
    NoCommunicator {
        /// Who.
        rank: u32,
        /// Which.
        comm: u32,
    },
    /// A rank, or the root that it names, is no member of the communicator.
    #[error("rank {other} is not in communicator {comm}, as rank {rank} takes it to be")]
    NoMember {
        /// The rank that calls.
        rank: u32,
        /// The rank that is no member.
        other: u32,
        /// The communicator.
        comm: u32,
    },
    /// Members of a communicator call different collectives.
    #[error(
        "rank {rank} calls {found:?} as collective {number} of communicator {comm}, others {expected:?}"
    )]
    OtherCollective {
        /// Who.
        rank: u32,
        /// Communicator.
        comm: u32,
        /// The how manieth in this communicator, from 0.
        number: u64,
        /// What the others call.
        expected: crate::op::Kind,
        /// What it calls.
        found: crate::op::Kind,
    },
    /// Members of a communicator name different roots.
    #[error(
        "rank {rank} names another root than others in collective {number} of communicator {comm}"
    )]
    OtherRoot {
        /// Who.
        rank: u32,
        /// Communicator.
        comm: u32,
        /// The how manieth in this communicator, from 0.
        number: u64,
    },
    /// A rank waits for a request that is not active.
    #[error("rank {rank} waits for request {request}, which is not active")]
    NoRequest {
        /// Who.
        rank: u32,
        /// Its number.
        request: u32,
    },
    /// A rank uses a request that is still active, or whose number is too large.
    #[error(
        "rank {rank} uses request {request} again before it is complete, or its number is too large"
    )]
    RequestInUse {
        /// Who.
        rank: u32,
        /// Its number.
        request: u32,
    },
    /// A computation takes no time that there is.
    #[error("rank {rank} computes for {seconds} seconds")]
    Time {
        /// Who.
        rank: u32,
        /// How long.
        seconds: f64,
    },
    /// Parameters of the network are negative or not finite.
    #[error("a parameter of the network is negative or not finite")]
    Network,
    /// There are more streams or ranks than numbers for them, or none.
    #[error("the program has no streams, or too many")]
    Streams,
}

/// Who waits in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The rank.
    pub rank: u32,
    /// The stream.
    pub stream: u32,
    /// The number of the stream's call, from 0.
    pub call: u64,
    /// Where it waits.
    pub place: u32,
    /// For what.
    pub waits_for: WaitsFor,
}

/// What is waited for in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A message.
    Message {
        /// From whom.
        from: u32,
        /// With which tag.
        tag: i32,
        /// In which communicator.
        comm: u32,
        /// Whether all streams of that rank are at their end.
        ended: bool,
    },
    /// A receive of its message.
    Receive {
        /// By whom.
        by: u32,
        /// With which tag.
        tag: i32,
        /// In which communicator.
        comm: u32,
        /// Whether all streams of that rank are at their end.
        ended: bool,
    },
    /// Members of a collective.
    Members {
        /// Communicator.
        comm: u32,
        /// The how manieth in this communicator, from 0.
        number: u64,
        /// The first members that have not arrived, at most [`WaitsFor::MISSING`].
        missing: Vec<u32>,
        /// How many have not.
        count: u32,
    },
}

impl WaitsFor {
    /// So many missing members are named.
    pub const MISSING: usize = 4;
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |ended: &bool| if *ended { ", which has ended" } else { "" };
        match self {
            Self::Message {
                from,
                tag,
                comm,
                ended,
            } => {
                let end = end(ended);
                write!(
                    f,
                    "a message with tag {tag} in communicator {comm} from rank {from}{end}"
                )
            }
            Self::Receive {
                by,
                tag,
                comm,
                ended,
            } => {
                let end = end(ended);
                write!(
                    f,
                    "a receive with tag {tag} in communicator {comm} by rank {by}{end}"
                )
            }
            Self::Members {
                comm,
                number,
                missing,
                count,
            } => {
                let names: Vec<String> = missing.iter().map(u32::to_string).collect();
                let names = names.join(", ");
                let others = (*count as usize).saturating_sub(missing.len());
                let others = if others > 0 {
                    format!(" and {others} others")
                } else {
                    String::new()
                };
                write!(
                    f,
                    "rank {names}{others} in collective {number} of communicator {comm}"
                )
            }
        }
    }
}

/// The first of those who wait, as a message has them.
fn list(all: &[Blocked]) -> String {
    const SHOWN: usize = 4;
    let of = |b: &Blocked| {
        format!(
            "rank {} waits in its call {} for {}",
            b.rank, b.call, b.waits_for
        )
    };
    let mut text: Vec<String> = all.iter().take(SHOWN).map(of).collect();
    if all.len() > SHOWN {
        text.push(format!("{} more wait", all.len() - SHOWN));
    }
    text.join("; ")
}
