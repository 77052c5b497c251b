//! Issues the communication of a whole-run trace again, on any MPI library.
//!
//! *Comes in*: a [`Trace`]; *goes out*: the same calls of MPI with the same parameters, and how long they took
//! ([`Played`]). The method is that of ScalaReplay II (Wu and Mueller, HPDC 2013, section 3.5).
//!
//! The MPI library is opened at run time and recognised by its symbols, so one program serves all of them
//! ([`library::Mpi`]). There are no wrappers: the table of MPI functions says how each argument is made of the values of
//! an event, and one loop makes all calls ([`player`]).
//!
//! What was decided at run time is decided again as it was ([`resolve`]). Data are zeros, buffers have their true sizes,
//! and files are scratch files. Threads that called MPI are
//! threads again ([`threads`]).
//!
//! The same means measure a network for simulations ([`ping_pong()`]).
//!
//! This crate prints nothing. Unsafe code is in [`library`] (opening the library and calling it) alone.

pub mod check;
pub mod compare;
mod computation;
mod draws;
mod error;
mod files;
mod handles;
pub mod library;
mod memory;
mod mixed;
mod ping_pong;
mod plan;
mod play;
mod played;
pub mod player;
pub mod probabilistic;
pub mod resolve;
mod sizes;
mod standard;
mod strata;
mod threads;

pub use computation::{Compute, Pace};
pub use error::Error;
pub use ping_pong::{PingPong, Time, ping_pong};
pub use played::{LeftOut, OfRank, Played};

use headwater_trace::trace::Trace;
use library::Mpi;
use probabilistic::Agreement;
use std::path::Path;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The MPI library; by default the one that belongs to the launcher.
    pub mpi: Option<&'a Path>,
    /// What computation is replaced by.
    pub compute: Compute,
    /// How long it takes.
    pub pace: Pace,
    /// What the values of a lossy trace are drawn by.
    pub seed: u64,
}

/// A process that is ready to be one of the ranks of a trace.
#[derive(Debug)]
pub struct Ready<'a> {
    mpi: Mpi,
    trace: &'a Trace,
    options: Options<'a>,
    /// The rank.
    pub rank: u32,
    /// Of a lossy trace: what this rank will receive.
    agreement: Option<Agreement>,
}

/// Makes ready to replay a trace: this process becomes one of its ranks.
///
/// # Errors
/// There is no launcher or no MPI library, the trace has another number of ranks, or some of its calls cannot be made
/// again. All of these are found before anything is communicated.
pub fn prepare<'a>(
    trace: &'a Trace,
    launched: bool,
    options: Options<'a>,
) -> Result<Ready<'a>, Error> {
    check::trace(trace)?;
    probabilistic::check(trace)?;
    if !launched && trace.size != 1 {
        return Err(Error::NoLauncher(trace.size));
    }
    let mpi = Mpi::open(options.mpi)?;
    check::library(trace, &mpi)?;
    mpi.init(trace.streams.len() > 1)?;
    let (rank, size) = mpi.world();
    if size != trace.size {
        mpi.finalize();
        return Err(Error::Size {
            trace: trace.size,
            here: size,
        });
    }
    let agreement = match trace.is_lossy() {
        true => Some(probabilistic::agree(trace, rank, options.seed)),
        false => None,
    };
    let agreement = agreement.transpose().inspect_err(|_| mpi.finalize())?;
    Ok(Ready {
        mpi,
        trace,
        options,
        rank,
        agreement,
    })
}

impl Ready<'_> {
    /// Replays the trace. If this rank cannot go on, `report` is given the error, and all ranks end with exit code 2.
    pub fn run(self, report: &(dyn Fn(&Error) + Sync)) -> Played {
        let played = self.play(report);
        played.unwrap_or_else(|why| {
            match why {
                Error::Elsewhere(_) => self.mpi.barrier(),
                _ => report(&why),
            }
            self.mpi.abort(BAD);
            Played::default()
        })
    }
}

/// The exit code of a replay that cannot go on.
const BAD: u32 = 2;
