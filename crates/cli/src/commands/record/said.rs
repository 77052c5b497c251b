//! What is said of a recorded run in one line.

use super::Recorded;
use crate::args::MOST_TRACE_MEMORY;
use headwater_format::run_bytes;
use headwater_model::run::{Header, Run};
use headwater_model::{RankSet, words};
use headwater_trace::trace::Loss;
use std::collections::BTreeMap;
use std::path::Path;

/// The memory that is proposed for a whole trace is so many times what the recorded calls suggest.
const MORE: f64 = 1.25;

/// An exit code above this one is that of a program that a signal ended.
const SIGNALS: u8 = 128;

/// Characters in which ranks are named.
const WHO: usize = 40;

/// Ranks of which there are no data at all.
fn gone(run: &Run) -> RankSet {
    let known: RankSet = run.ranks.iter().map(|r| r.rank).collect();
    let gone = run
        .header
        .incomplete
        .iter()
        .filter(|r| !known.contains(**r));
    gone.copied().collect()
}

/// Says that the disk was full and which ranks lost records; `None` if no rank did.
fn disk_full(run: &Run) -> Option<String> {
    let ranks: RankSet = run.header.disk_full.iter().copied().collect();
    (!ranks.is_empty()).then(|| words::disk_full(&ranks, run.header.ranks, WHO))
}

/// Why a run that ended well is not all there; `None` where it is. `asked` is the number of ranks that the launcher was
/// asked for, if that is known.
pub fn not_all(recorded: &Recorded, asked: Option<u32>) -> Option<String> {
    if recorded.ended.code != 0 {
        return None;
    }
    if let Some(asked) = asked.filter(|n| *n > 1 && recorded.run.header.ranks == 1) {
        return Some(format!(
            "{asked} ranks were asked for, and each process ran by itself, as under the launcher of another MPI library: this program's is {}; one of these processes is in {}",
            recorded.run.header.mpi_library,
            recorded.dir.display()
        ));
    }
    let gone = gone(&recorded.run);
    if gone.is_empty() {
        let why = disk_full(&recorded.run)?;
        return Some(format!(
            "the program ended well, but {why}; the rest is in {}; free space on the disk, or give a place on another one with -o",
            recorded.dir.display()
        ));
    }
    let who = words::ranks(&gone, recorded.run.header.ranks, WHO);
    Some(format!(
        "the program ended well, but nothing was recorded of {who}: on their nodes, {} could not be written or had no room; the data of the other ranks are kept",
        recorded.dir.display()
    ))
}

/// One line about a recorded run.
pub fn summary(recorded: &Recorded) -> String {
    let h = &recorded.run.header;
    let mut line = format!("recorded {}", figures(&recorded.dir, h));
    let gone = gone(&recorded.run);
    let cut_off = h.incomplete.iter().filter(|r| !gone.contains(**r));
    let cut_off: RankSet = cut_off.copied().collect();
    if !cut_off.is_empty() && !h.uses_mpi() {
        line += match recorded.ended.code > SIGNALS {
            true => "; a signal ended the program",
            false => "; the program ended in a way that the collector does not see",
        };
        line += ", so what is known of it stops at its last sample";
    } else if !cut_off.is_empty() {
        let who = words::ranks(&cut_off, h.ranks, WHO);
        line +=
            &format!("; {who} did not reach MPI_Finalize, so what is known of them stops early");
    }
    if !gone.is_empty() {
        let who = words::ranks(&gone, h.ranks, WHO);
        line += &format!("; nothing was recorded of {who}");
    }
    if let Some(process) = h.went_on {
        line += &format!(
            "; process {process}, which the program had started, goes on, and nothing of it is recorded: if it is a daemon, start it with the option that keeps it in the foreground"
        );
    }
    if let Some(why) = disk_full(&recorded.run) {
        line += &format!("; {why}");
    }
    if let Some(why) = trace_ends_early(&recorded.losses, h.ranks, recorded.trace_memory) {
        line += &format!("; {why}");
    }
    if recorded.ended.code != 0 && recorded.ended.asked_to_end.is_none() {
        line += &format!("; the program ended with exit code {}", recorded.ended.code);
    }
    line
}

/// Says that memory for the trace, of so many MiB, ran out on some of `size` ranks, how many calls are missing, and how
/// much memory they would need; `None` if nothing is missing.
fn trace_ends_early(losses: &[Loss], size: u32, mebibytes: u32) -> Option<String> {
    let mut by_rank: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for loss in losses.iter().filter(|loss| loss.lost > 0) {
        let (kept, lost) = by_rank.entry(loss.rank).or_default();
        *kept = kept.saturating_add(loss.kept);
        *lost = lost.saturating_add(loss.lost);
    }
    let ranks: RankSet = by_rank.keys().copied().collect();
    if ranks.is_empty() {
        return None;
    }
    let who = words::ranks(&ranks, size, WHO);
    let lost = by_rank.values().map(|(_, lost)| *lost);
    let all_lost = lost.fold(0, u64::saturating_add);
    let mut line = format!(
        "memory for the trace ran out on {who}, so it ends early: {all_lost} later calls are missing"
    );
    // A rank of which nothing could be recorded says nothing about memory.
    let known = by_rank.values().filter(|(kept, _)| *kept > 0);
    let factors = known.map(|(kept, lost)| 1.0 + *lost as f64 / *kept as f64);
    if let Some(factor) = factors.reduce(f64::max) {
        let whole = (factor * f64::from(mebibytes) * MORE).ceil();
        if whole <= f64::from(MOST_TRACE_MEMORY) {
            line += &format!(
                "; if these are like the earlier ones, --trace-memory {whole} (MiB in each process) should be enough"
            );
        }
    }
    Some(line)
}

/// What people want to know first of a run that has come into being: where, on how many ranks, how long, how large.
pub fn figures(dir: &Path, header: &Header) -> String {
    format!(
        "{}: {}, {:.2} s, {:.1} KiB",
        dir.display(),
        scale(header),
        header.wall_seconds,
        run_bytes(dir) as f64 / 1024.0
    )
}

/// The scale of a run in words.
fn scale(header: &Header) -> String {
    match header.threads_asked {
        None if header.ranks == 1 && !header.uses_mpi() => "one process without MPI".to_string(),
        threads => words::scale(header.ranks, threads),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_ends_early_is_reported() {
        let loss = |rank, kept, lost| Loss {
            rank,
            thread: 0,
            kept,
            lost,
        };
        // A rank that ended without MPI_Finalize has not run out of memory.
        assert_eq!(trace_ends_early(&[loss(0, 3, 0)], 2, 7), None);
        let said = trace_ends_early(&[loss(0, 30, 0), loss(1, 30, 90)], 2, 7);
        let said = said.expect("a sentence");
        for words in ["rank 1,", "90 later calls", "--trace-memory 35 "] {
            assert!(said.contains(words), "{said}");
        }
        // Nothing shows how much memory they need, or it is more than may be asked for.
        for loss in [loss(1, 0, 90), loss(1, 1, 90_000)] {
            let said = trace_ends_early(&[loss], 2, 7).expect("a sentence");
            assert!(said.ends_with("later calls are missing"), "{said}");
        }
    }
}
