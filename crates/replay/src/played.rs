//! What a replay did, gathered from all ranks.

use crate::library::Mpi;
use crate::player::left_out;
use headwater_mpi_abi::id_of;
use headwater_trace::trace::Trace;
use rustc_hash::FxHashMap;

/// A replay that has ended. Rank 0 knows about all ranks, the others about themselves.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Rank of this process.
    pub rank: u32,
    /// What the library calls itself.
    pub library: String,
    /// By rank.
    pub ranks: Vec<OfRank>,
    /// Polls that found nothing, of all ranks. They were left out.
    pub idle_polls: u64,
    /// Functions that were left out.
    pub left_out: Vec<LeftOut>,
}

/// What one rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfRank {
    /// Run time between `MPI_Init` and `MPI_Finalize`, seconds.
    pub seconds: f64,
    /// The same in the recording, without the overhead of recording: the sum of all times, each the mean over the ranks,
    /// seconds.
    pub recorded: f64,
    /// Calls that were made.
    pub calls: u64,
    /// Those of them that returned an error.
    pub failed: u64,
}

/// A function that was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub function: &'static str,
    /// Calls of all ranks.
    pub calls: u64,
}

impl Played {
    /// Run time of the slowest rank, seconds.
    pub fn seconds(&self) -> f64 {
        self.ranks.iter().map(|r| r.seconds).fold(0.0, f64::max)
    }

    /// The same in the recording, seconds.
    pub fn recorded(&self) -> f64 {
        self.ranks.iter().map(|r| r.recorded).fold(0.0, f64::max)
    }

    /// Calls that all ranks made.
    pub fn calls(&self) -> u64 {
        self.ranks.iter().map(|r| r.calls).sum()
    }

    /// Those of them that returned an error.
    pub fn failed(&self) -> u64 {
        self.ranks.iter().map(|r| r.failed).sum()
    }
}

/// Words of [`OfRank`].
const WORDS: usize = 4;

/// Gathers what all ranks did; they call it together. `skipped` has the calls that were left out, by function.
pub(crate) fn gather(
    mpi: &Mpi,
    trace: &Trace,
    own: OfRank,
    idle_polls: u64,
    skipped: &FxHashMap<u16, u64>,
) -> Played {
    let names = left_out(trace);
    let calls = names.iter().map(|name| {
        let id = id_of(name).map_or(u16::MAX, |id| id.0);
        skipped.get(&id).copied().unwrap_or(0)
    });
    let times = [own.seconds, own.recorded].map(f64::to_bits);
    let words = times.into_iter().chain([own.calls, own.failed, idle_polls]);
    let mut words: Vec<u64> = words.chain(calls).collect();
    let all = mpi.gather(&mut words);
    let (rank, _) = mpi.world();
    let all = if rank == 0 { all } else { words.clone() };
    let rows = || all.chunks_exact(words.len());
    let sum = |at: usize| rows().filter_map(|row| row.get(at)).sum::<u64>();
    let left_out = names.into_iter().zip(WORDS + 1..);
    Played {
        rank,
        library: mpi.name.clone(),
        ranks: rows().filter_map(of_rank).collect(),
        idle_polls: sum(WORDS),
        left_out: left_out
            .map(|(function, at)| LeftOut {
                function,
                calls: sum(at),
            })
            .collect(),
    }
}

fn of_rank(words: &[u64]) -> Option<OfRank> {
    let [seconds, recorded, calls, failed] = *words.first_chunk::<WORDS>()?;
    Some(OfRank {
        seconds: f64::from_bits(seconds),
        recorded: f64::from_bits(recorded),
        calls,
        failed,
    })
}
