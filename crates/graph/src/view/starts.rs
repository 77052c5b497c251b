//! In which direction the messages of persistent requests go, and how many a call starts.
//!
//! A call that starts requests is recorded with its bytes. If it starts one request, its partner and tag are recorded
//! as well; the calls that made requests with this partner and tag show whether that request sends. For a call that
//! starts several requests only the bytes are known: the part that it sends is taken from its sampled messages.

use super::waits::At;
use crate::pag::RunView;
use headwater_model::run::{MpiCalls, Run, peer};
use headwater_mpi_abi::{self as abi, Class, Mode, Role};
use rustc_hash::FxHashMap;

/// What each call of a row starts, for calls that start requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// One message.
    One,
    /// Several requests; their number is unknown.
    Several,
    /// A collective.
    Collective,
}

/// What the rows of a function start; `None` for functions that start nothing.
pub(crate) fn started(run: &Run, row: &MpiCalls) -> Option<Started> {
    let function = abi::by_name(run.function(row.func)).filter(|f| f.class == Class::Start)?;
    Some(match (row.peer, function.position(Role::N)) {
        (peer::NONE, Some(_)) => Started::Several,
        (peer::NONE, None) => Started::Collective,
        _ => Started::One,
    })
}

/// An amount that is sent, and an amount that is received.
type Amounts = (u64, u64);

/// Partner and tag of a rank's requests: rank, communicator, partner, tag.
type Key = (u32, u16, i32, i32);

fn key(row: &MpiCalls) -> Key {
    (row.rank, row.comm, row.peer, row.tag)
}

fn add(sum: &mut Amounts, out: bool, n: u64) {
    let part = if out { &mut sum.0 } else { &mut sum.1 };
    *part = part.saturating_add(n);
}

/// In which direction started messages go.
pub(crate) struct Starts {
    made: FxHashMap<Key, Amounts>,
    of_rank: FxHashMap<u32, Amounts>,
    /// Bytes of sampled messages, by the call that starts them.
    sampled: FxHashMap<At, Amounts>,
}

impl Starts {
    pub(crate) fn new(run: &Run, view: &RunView) -> Self {
        let mut this = Self {
            made: FxHashMap::default(),
            of_rank: FxHashMap::default(),
            sampled: FxHashMap::default(),
        };
        for row in &run.calls {
            let Some(function) = abi::by_name(run.function(row.func)) else {
                continue;
            };
            let makes = function.mode == Mode::Persistent && !function.is_collective();
            if makes && row.peer != peer::PROC_NULL {
                let out = function.position(Role::Dest).is_some();
                add(this.made.entry(key(row)).or_default(), out, row.count);
                add(this.of_rank.entry(row.rank).or_default(), out, row.count);
            }
        }
        for m in &view.parallel.messages {
            for (at, out) in [((m.send, m.src), true), ((m.post, m.dst), false)] {
                // Empty messages count too.
                let weight = m.bytes.saturating_add(m.count);
                add(this.sampled.entry(at).or_default(), out, weight);
            }
        }
        this
    }

    /// The part of a row's messages that its rank sends; the calls of the row are at `at` and start requests.
    pub(crate) fn sent_part(&self, row: &MpiCalls, at: At) -> f64 {
        let known = [
            self.made.get(&key(row)),
            self.sampled.get(&at),
            self.of_rank.get(&row.rank),
        ];
        let amounts = known.into_iter().flatten().find(|w| w.0 > 0 || w.1 > 0);
        amounts.map_or(0.0, |(out, into)| {
            *out as f64 / (*out as f64 + *into as f64)
        })
    }
}
