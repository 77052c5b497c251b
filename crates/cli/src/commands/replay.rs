//! `replay`: the communication of a trace, issued again by the ranks that a launcher has started.

use super::Outcome;
use crate::args::{Computing, ReplayArgs};
use crate::exit;
use crate::output::{SCHEMA, eprint_line, print};
use crate::progress::Progress;
use headwater_format::read_trace;
use headwater_replay::{Compute, Options, Pace, Played, player, prepare};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// What `headwater replay --json` prints on rank 0.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replay {
    /// Version of this format.
    schema: u32,
    /// The trace.
    trace: String,
    /// What the MPI library calls itself.
    library: String,
    /// Run time between MPI_Init and MPI_Finalize of the slowest rank, seconds.
    seconds: f64,
    /// The same in the recording, without the overhead of recording, seconds.
    recorded_seconds: f64,
    /// Calls that all ranks made.
    calls: u64,
    /// Those of them that returned an error.
    failed: u64,
    /// Polls of all ranks that found nothing in the recording; they were left out.
    idle_polls: u64,
    /// Functions that were left out, because nothing depends on them.
    left_out: Vec<LeftOut>,
    /// The same by rank.
    ranks: Vec<OfRank>,
}

/// A function that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    function: String,
    /// Calls of all ranks.
    calls: u64,
}

/// What one rank did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfRank {
    /// Run time between MPI_Init and MPI_Finalize, seconds.
    seconds: f64,
    /// The same in the recording: the sum of its computation and calls, each the mean over the ranks that share it, seconds.
    recorded_seconds: f64,
    /// Calls that it made.
    calls: u64,
    /// Those of them that returned an error.
    failed: u64,
}

/// `headwater replay`.
pub fn command(args: &ReplayArgs, quiet: bool) -> Outcome {
    let rank = headwater_launch::rank();
    let is_first = rank.unwrap_or(0) == 0;
    let of_rank = |number: Option<u32>, why: &str| {
        let place = number.map_or(String::new(), |rank| format!(" on rank {rank}"));
        format!("cannot replay {}{place}: {why}", args.trace.display())
    };
    match args.json.check() {
        Ok(()) => {}
        Err(why) if is_first => return Err(why.into()),
        Err(_) => {
            std::thread::sleep(ALONE);
            return Ok(exit::BAD_USE);
        }
    }
    let trace = match read_trace(&args.trace) {
        Ok(trace) => trace,
        Err(why) if is_first => return Err(why.to_string().into()),
        Err(why) => {
            std::thread::sleep(ALONE);
            return match is_first_of_node() {
                true => Err(of_rank(rank, &why.to_string()).into()),
                false => Ok(exit::BAD_USE),
            };
        }
    };
    let options = Options {
        mpi: args.mpi.as_deref(),
        seed: args.seed.unwrap_or(0),
        compute: match args.compute {
            Computing::Spin | Computing::Mean => Compute::Spin,
            Computing::Sleep => Compute::Sleep,
            Computing::None => Compute::None,
        },
        pace: match args.compute {
            Computing::Mean => Pace::Mean,
            _ => Pace::Drawn,
        },
    };
    let ready = match prepare(&trace, rank.is_some(), options) {
        Ok(ready) => ready,
        // All ranks find the same; one of them reports it, which the launcher may not prevent.
        Err(why) if why.is_common() && is_first => {
            return Err(of_rank(None, &why.to_string()).into());
        }
        Err(why) if why.is_common() => {
            std::thread::sleep(ALONE);
            return Ok(exit::BAD_USE);
        }
        Err(why) => return Err(of_rank(rank, &why.to_string()).into()),
    };
    let number = ready.rank;
    if trace.is_lossy() && number == 0 {
        let seed = options.seed;
        Progress::new(quiet, args.json.wanted()).say(&format!(
            "the trace is lossy: partners, tags and counts in histograms are drawn, with seed {seed}"
        ));
    }
    let left_out = player::left_out(&trace);
    if !left_out.is_empty() && number == 0 {
        let names = left_out.join(", ");
        Progress::new(quiet, args.json.wanted())
            .say(&format!("left out, as nothing depends on it: {names}"));
    }
    let played = ready.run(&|why| eprint_line(&of_rank(Some(number), &why.to_string())));
    match args.json.wanted() {
        _ if number != 0 => Ok(exit::DONE),
        true => args.json.give_value(&document(args, &played)),
        false => print(&summary(&played, args.compute != Computing::None)),
    }
}

/// So long other ranks wait before they end because of what the first rank may also have found: the launcher ends all
/// ranks where one has ended, and the first one has to report why.
const ALONE: Duration = Duration::from_secs(1);

/// Whether a launcher has started this process as the first one of its node, which may have other files.
fn is_first_of_node() -> bool {
    let names = [
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "SLURM_LOCALID",
    ];
    let said = names.iter().find_map(|name| std::env::var(name).ok());
    said.is_none_or(|said| said == "0")
}

fn document(args: &ReplayArgs, played: &Played) -> Replay {
    let ranks = played.ranks.iter().map(|rank| OfRank {
        seconds: rank.seconds,
        recorded_seconds: rank.recorded,
        calls: rank.calls,
        failed: rank.failed,
    });
    let left_out = played.left_out.iter().map(|one| LeftOut {
        function: one.function.to_owned(),
        calls: one.calls,
    });
    Replay {
        schema: SCHEMA,
        trace: args.trace.display().to_string(),
        library: played.library.clone(),
        seconds: played.seconds(),
        recorded_seconds: played.recorded(),
        calls: played.calls(),
        failed: played.failed(),
        idle_polls: played.idle_polls,
        left_out: left_out.collect(),
        ranks: ranks.collect(),
    }
}

/// The text; without computation, run times cannot be compared.
fn summary(played: &Played, computes: bool) -> String {
    let (calls, failed, ranks) = (played.calls(), played.failed(), played.ranks.len());
    let (seconds, recorded) = (played.seconds(), played.recorded());
    let share = match computes && recorded > 0.0 {
        true => format!(" ({:.3} times as long)", seconds / recorded),
        false => String::new(),
    };
    let library = &played.library;
    let mut text = format!(
        "replayed {calls} calls of {ranks} ranks on {library}\nrun time {seconds:.4} s, recorded {recorded:.4} s{share}\n"
    );
    if played.idle_polls > 0 {
        text += &format!(
            "left out: {} polls that found nothing in the recording\n",
            played.idle_polls
        );
    }
    if failed > 0 {
        text += &format!("{failed} calls returned an error\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_counts_idle_polls_and_compares_only_run_times_with_computation() {
        let rank = headwater_replay::OfRank {
            seconds: 1.0,
            recorded: 2.0,
            ..Default::default()
        };
        let played = Played {
            ranks: vec![rank],
            idle_polls: 15,
            ..Default::default()
        };
        let text = summary(&played, true);
        assert!(text.contains("(0.500 times as long)"), "{text}");
        assert!(text.contains("left out: 15 polls"), "{text}");
        let text = summary(&played, false);
        assert!(!text.contains("times as long"), "{text}");
    }
}
