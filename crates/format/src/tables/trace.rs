//! The trace of a run: every call of MPI, compressed (the crate `trace`).
//!
//! The collector leaves it in the spool. A finished run has it as [`TRACE_NAME`], packed.

use super::run::SPOOL;
use crate::FormatError;
use headwater_model::words::capitalised;
use headwater_trace::file::{Error, Whose, is_unknown_job, job_and_whose};
use headwater_trace::open;
use headwater_trace::trace::{Loss, Signature, Trace};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the trace in the directory of a run.
pub const TRACE_NAME: &str = "trace.hwtr";

/// The largest trace that is read, bytes: of a thousand ranks that each have some MiB of calls of their own.
const LARGEST: u64 = 1 << 34;

/// Reads the trace at `path`: a file, or a run that has one, finished or not.
///
/// # Errors
/// There is none, or it is damaged or of another version.
pub fn read_trace(path: &Path) -> Result<Trace, FormatError> {
    if !path.is_dir() {
        return read(path);
    }
    let finished = path.join(TRACE_NAME);
    if finished.exists() {
        return read(&finished);
    }
    for spool in [path.to_path_buf(), path.join(SPOOL)] {
        let found = Found::in_spool(&spool);
        match (found.trace, found.unread) {
            (Some(trace), _) => return Ok(trace),
            (None, Some(error)) => return Err(error),
            (None, None) => {}
        }
    }
    Err(FormatError::NoTrace(path.to_path_buf()))
}

fn read(file: &Path) -> Result<Trace, FormatError> {
    let bytes = headwater_files::read(file, LARGEST).map_err(FormatError::io("read", file))?;
    Trace::from_bytes(&bytes).map_err(|source| FormatError::Trace {
        path: file.to_path_buf(),
        source,
    })
}

/// What became of the traces in a spool.
pub(super) struct Taken {
    /// Sentences about what is missing.
    pub missing: Vec<String>,
    /// What the streams of the trace have lost.
    pub losses: Vec<Loss>,
    /// Whether some remain in the spool, because they are not in the trace of the run.
    pub some_remain: bool,
    /// Files that are in the trace of the run.
    used: Vec<PathBuf>,
}

impl Taken {
    /// Removes the files that are in the trace of the run, which is complete.
    pub fn forget(&self) {
        for part in &self.used {
            let _ = std::fs::remove_file(part);
        }
    }
}

/// Writes a file that is there whole or not at all.
fn write(file: &Path, bytes: &[u8]) -> Result<(), FormatError> {
    let part = file.with_extension("part");
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&part);
        FormatError::io("write", file)(e)
    })
}

/// Makes the trace of the run in `dir` of what is in its spool: the trace of all ranks, and those of ranks that are not in
/// it. The files remain until [`Taken::forget`].
pub(super) fn take(spool: &Path, dir: &Path) -> Result<Taken, FormatError> {
    let mut found = Found::in_spool(spool);
    if let Some(trace) = &mut found.trace {
        found
            .missing
            .extend(trace.losses.iter().map(|loss| sentence(loss, trace)));
        trace.round_times();
        trace.drop_small_outliers();
        write(&dir.join(TRACE_NAME), &trace.to_packed_bytes())?;
    }
    Ok(Taken {
        missing: found.missing,
        losses: found.trace.map_or_else(Vec::new, |trace| trace.losses),
        some_remain: found.some_remain,
        used: found.used,
    })
}

/// A file of a spool with a trace: of all ranks of a job, of one, or of a thread.
struct Part {
    path: PathBuf,
    /// Whether it has no trace, but the call that the thread is in.
    is_call: bool,
    /// The number of the job: several programs may use one spool.
    job: u64,
    whose: Whose,
}

impl Part {
    fn of(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let call = name.strip_suffix(open::ENDING);
        let (job, whose) = job_and_whose(call.unwrap_or(name))?;
        Some(Self {
            is_call: call.is_some(),
            path,
            job,
            whose,
        })
    }

    fn read(&self) -> Result<Trace, FormatError> {
        if !self.is_call {
            return read(&self.path);
        }
        let bytes = headwater_files::read(&self.path, open::LARGEST);
        let bytes = bytes.map_err(FormatError::io("read", &self.path))?;
        open::read(&bytes).ok_or_else(|| FormatError::Trace {
            path: self.path.clone(),
            source: Error::NotATrace,
        })
    }

    /// When it was written.
    fn age(&self) -> Option<std::time::SystemTime> {
        std::fs::metadata(&self.path).ok()?.modified().ok()
    }
}

/// All traces of the spool's job that is the run. If there are several jobs, it is the one that ended last.
#[derive(Default)]
struct Found {
    trace: Option<Trace>,
    /// Whether the trace has one rank only, of a process that does not know which job it belongs to.
    is_lone: bool,
    /// Files that are in it.
    used: Vec<PathBuf>,
    missing: Vec<String>,
    some_remain: bool,
    /// Why the first file that could not be read was not.
    unread: Option<FormatError>,
}

impl Found {
    fn in_spool(spool: &Path) -> Self {
        let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
        let mut jobs: BTreeMap<u64, Vec<Part>> = BTreeMap::new();
        for part in entries.filter_map(|e| Part::of(e.path())) {
            jobs.entry(part.job).or_default().push(part);
        }
        let mut jobs: Vec<(u64, Vec<Part>)> = jobs.into_iter().collect();
        for (_, parts) in &mut jobs {
            parts.sort_by_key(|part| (part.whose.rank(), part.is_call, part.whose));
        }
        // Those that reached the end first, and of these the last.
        jobs.sort_by_cached_key(|(job, parts)| {
            let first = parts.first();
            let ended = first.is_some_and(|part| part.whose == Whose::All);
            let age = first.and_then(Part::age);
            // A job that ended may have files of ranks that are not in its trace. Their number says nothing.
            let ranks = parts.chunk_by(|a, b| a.whose.rank() == b.whose.rank());
            let ranks = if ended { 1 } else { ranks.count() };
            (Reverse(ended), Reverse(ranks), Reverse(age), *job)
        });
        let mut found = Self::default();
        for (i, (_, parts)) in jobs.into_iter().enumerate() {
            found.add_job(parts, i == 0);
        }
        found
    }

    /// Adds the files of a job. The first one is the run, also if its files cannot be read.
    fn add_job(&mut self, parts: Vec<Part>, is_first: bool) {
        // Processes that exchange no messages of ours, because they use sessions alone, may not know their job.
        let rank = parts.first().and_then(|part| part.whose.rank());
        let is_of_it = |p: &Part| p.whose.rank() == rank && is_unknown_job(p.job);
        let is_lone = rank.is_some() && parts.iter().all(is_of_it);
        let mut others = Vec::new();
        for of_rank in parts.chunk_by(|a, b| a.whose.rank() == b.whose.rank()) {
            let Some((paths, trace)) = self.with_threads(of_rank) else {
                continue;
            };
            match is_first || (is_lone && self.is_lone) {
                true => self.add(paths, trace, is_lone),
                false => others.extend(paths),
            }
        }
        if is_first {
            self.is_lone = is_lone;
        }
        if let [first, more @ ..] = &*others {
            let more = match more.len() {
                0 => String::new(),
                n => format!(" and {n} more files"),
            };
            self.remains(format!(
                "Another program has left traces in the same directory: {}{more}. They are not in the trace of this run.",
                first.display()
            ));
        }
    }

    /// The trace of a rank with that of its threads, and the files that are in it. `None` if none can be read.
    fn with_threads(&mut self, parts: &[Part]) -> Option<(Vec<PathBuf>, Trace)> {
        let mut all: Option<(Vec<PathBuf>, Trace)> = None;
        for part in parts {
            let path = part.path.clone();
            match (part.read(), &mut all) {
                (Err(error), _) => self.not_read(error),
                (Ok(mut trace), None) => {
                    // The process ended before a file was due.
                    if part.is_call && let Some(rank) = part.whose.rank() {
                        trace.losses.push(Loss {
                            rank,
                            thread: 0,
                            kept: 0,
                            lost: 0,
                        });
                    }
                    all = Some((vec![path], trace));
                }
                (Ok(trace), Some((paths, whole))) => match whole.add_threads(trace) {
                    true => paths.push(path),
                    false => self.remains(format!(
                        "{} is the trace of a thread that is in the trace of its rank already; it was not added.",
                        path.display()
                    )),
                },
            }
        }
        all
    }

    fn add(&mut self, paths: Vec<PathBuf>, trace: Trace, is_lone: bool) {
        let Some(whole) = &mut self.trace else {
            self.trace = Some(trace);
            return self.used.extend(paths);
        };
        let Some(name) = paths.first().map(|path| path.display()) else {
            return;
        };
        if trace.size != whole.size {
            let (own, others) = (trace.size, whole.size);
            return self.remains(format!(
                "{name} is the trace of a program with {own} ranks, the others are of one with {others}; it is not in the trace of this run."
            ));
        }
        if !whole.ranks.overlaps(&trace.ranks) {
            whole.merge(trace);
            return self.used.extend(paths);
        }
        if is_lone || !whole.ranks.contains_all(&trace.ranks) {
            return self.remains(format!(
                "{name} is the trace of ranks of which some are in the trace of this run already; it was not added."
            ));
        }
        self.used.extend(paths);
    }

    fn not_read(&mut self, error: FormatError) {
        self.remains(capitalised(&format!(
            "{error}; its ranks are not in the trace."
        )));
        self.unread.get_or_insert(error);
    }

    fn remains(&mut self, sentence: String) {
        self.some_remain = true;
        self.missing.push(sentence);
    }
}

fn sentence(loss: &Loss, trace: &Trace) -> String {
    let mut open = trace.open.iter();
    let open = open.find(|call| (call.rank, call.thread) == (loss.rank, loss.thread));
    let open = open.filter(|call| loss.lost == 0 && call.missing(loss.kept) == Some(0));
    let open = open.and_then(|call| trace.signatures.get(&call.signature));
    let Loss {
        rank,
        thread,
        kept,
        lost,
    } = loss;
    match lost {
        _ if let Some(Signature { function, .. }) = open => {
            let whose = match thread {
                0 => String::new(),
                thread => format!("of its thread {thread} "),
            };
            format!(
                "Rank {rank} ended without MPI_Finalize, in {function}. The trace {whose}has all {kept} calls before it."
            )
        }
        0 if *thread > 0 => format!(
            "Rank {rank} ended without MPI_Finalize: the trace of its thread {thread} has the first {kept} calls, and later ones may be missing."
        ),
        0 => format!(
            "Rank {rank} ended without MPI_Finalize: its trace has its first {kept} calls, and later ones may be missing."
        ),
        _ => format!(
            "The trace of rank {rank} ends early: it has the first {kept} calls of a thread, and {lost} later ones are missing."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_trace::file;
    use headwater_trace::likeness::Slack;
    use headwater_trace::recorder::Recorder;
    use headwater_trace::times::Delta;

    fn spooled_name(job: u64, rank: Option<u32>) -> String {
        file::spooled_name(job, rank.map_or(Whose::All, Whose::Rank))
    }

    /// A spool with traces: of each the job, the name's rank, the ranks and the number of ranks.
    fn spool(traces: &[(u64, Option<u32>, &[u32], u32)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join(SPOOL)).expect("a spool");
        for (job, rank, ranks, size) in traces {
            let mut trace = Trace::of_rank(ranks[0], *size);
            let others = &ranks[1..];
            others
                .iter()
                .for_each(|r| trace.merge(Trace::of_rank(*r, *size)));
            let file = dir.path().join(SPOOL).join(spooled_name(*job, *rank));
            std::fs::write(file, trace.to_bytes()).expect("writes");
        }
        dir
    }

    /// The ranks of the trace, the sentences, and the names that remain.
    fn taken(dir: &Path) -> (Vec<u32>, Vec<String>, Vec<String>) {
        let spool = dir.join(SPOOL);
        let before = read_trace(dir).expect("a trace of a run that is not finished");
        let taken = take(&spool, dir).expect("takes");
        taken.forget();
        let trace = read_trace(dir).expect("a trace");
        assert_eq!(before.ranks, trace.ranks);
        let left = std::fs::read_dir(spool).expect("a spool").flatten();
        let mut left: Vec<String> = left
            .map(|e| e.file_name().into_string().expect("UTF-8"))
            .collect();
        left.sort();
        assert_eq!(taken.some_remain, !left.is_empty());
        (trace.ranks.to_vec(), taken.missing, left)
    }

    #[test]
    fn a_rank_that_is_in_no_other_trace_is_added() {
        let dir = spool(&[
            (7, None, &[0, 1, 2], 4),
            (7, Some(1), &[1], 4),
            (7, Some(3), &[3], 4),
        ]);
        assert_eq!(taken(dir.path()), (vec![0, 1, 2, 3], vec![], vec![]));
    }

    #[test]
    fn what_cannot_be_read_remains_and_is_named() {
        let dir = spool(&[(7, None, &[0, 1], 3)]);
        let name = spooled_name(7, Some(2));
        std::fs::write(dir.path().join(SPOOL).join(&name), "HWTR").expect("writes");
        let (ranks, missing, left) = taken(dir.path());
        assert_eq!((ranks, &left), (vec![0, 1], &vec![name.clone()]));
        assert!(
            missing.len() == 1 && missing[0].contains(&name),
            "{missing:?}"
        );
    }

    #[test]
    fn ranks_that_are_there_in_part_are_not_dropped_in_silence() {
        let dir = spool(&[(7, None, &[0, 1], 4), (7, Some(1), &[1, 2], 4)]);
        let (ranks, missing, left) = taken(dir.path());
        assert_eq!((ranks, left), (vec![0, 1], vec![spooled_name(7, Some(1))]));
        assert!(missing[0].contains("some are in the trace"), "{missing:?}");
    }

    #[test]
    fn threads_of_a_rank_are_one_trace_with_it() {
        let dir = spool(&[(2, Some(0), &[0], 2), (2, Some(1), &[1], 2)]);
        let of_thread = |rank, thread| {
            let mut trace = Trace::of_rank(rank, 2);
            let mut recorder = Recorder::new(1 << 20, Slack::default());
            let send = recorder.signature("MPI_Send", &[], &[]);
            recorder.event(send, &[], Delta::default());
            recorder.finish(&mut trace, rank, thread);
            let name = file::spooled_name(2, Whose::Thread(rank, thread));
            let file = dir.path().join(SPOOL).join(name);
            std::fs::write(file, trace.to_bytes()).expect("writes");
        };
        of_thread(0, 1);
        of_thread(1, 1);
        of_thread(1, 2);
        let trace = read_trace(dir.path()).expect("a trace");
        let threads: Vec<u32> = trace.streams.keys().copied().collect();
        let found = Found::in_spool(&dir.path().join(SPOOL));
        assert_eq!(found.missing, [""; 0]);
        assert_eq!((trace.ranks.to_vec(), threads), (vec![0, 1], vec![1, 2]));
        assert_eq!(taken(dir.path()), (vec![0, 1], vec![], vec![]));
    }

    #[test]
    fn the_call_that_a_killed_rank_was_in_is_part_of_its_trace() {
        let dir = spool(&[(2, Some(0), &[0], 2)]);
        let write = |rank: u32, current: u32| {
            let head = open::Head {
                magic: open::MAGIC,
                current,
                rank,
                size: 2,
                ..open::Head::default()
            };
            let words = [head.current, 1, head.rank, head.size, 0, 48, 0, 0, 0, 0];
            let mut bytes = head.magic.to_ne_bytes().to_vec();
            bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
            // The name is behind the signature; no values, no frames.
            bytes.extend([0; 8]);
            bytes.extend(b"MPI_Barrier");
            bytes.extend([0; 512]);
            let name = file::spooled_name(2, Whose::Rank(rank)) + open::ENDING;
            std::fs::write(dir.path().join(SPOOL).join(name), bytes).expect("writes");
        };
        // Rank 0 was in no call, and rank 1 was killed before it wrote its events.
        write(0, 0);
        write(1, 1);
        let trace = read_trace(dir.path()).expect("a trace");
        let [call] = &*trace.open else {
            panic!("{:?}", trace.open);
        };
        assert_eq!((call.rank, &*call.values), (1, &[][..]));
        assert_eq!(trace.signatures[&call.signature].function, "MPI_Barrier");
        let (ranks, missing, left) = taken(dir.path());
        assert_eq!((ranks, left.len()), (vec![0, 1], 0));
        let sentence = "Rank 1 ended without MPI_Finalize, in MPI_Barrier. The trace has all 0 calls before it.";
        assert_eq!(missing, [sentence]);
    }

    #[test]
    fn a_part_of_a_program_with_other_ranks_is_refused() {
        let dir = spool(&[(7, None, &[0, 1], 4), (7, Some(2), &[2], 8)]);
        let (ranks, missing, left) = taken(dir.path());
        assert_eq!((ranks, left), (vec![0, 1], vec![spooled_name(7, Some(2))]));
        assert!(missing[0].contains("8 ranks"), "{missing:?}");
    }

    #[test]
    fn two_jobs_in_one_spool_are_not_mixed() {
        // The first one was killed, the second one ended.
        let dir = spool(&[
            (1, Some(0), &[0], 3),
            (1, Some(2), &[2], 3),
            (2, None, &[0, 1], 3),
        ]);
        let (ranks, missing, left) = taken(dir.path());
        assert_eq!((ranks, left.len()), (vec![0, 1], 2));
        let sentence = format!("{} and 1 more", spooled_name(1, Some(0)));
        assert!(
            missing.len() == 1 && missing[0].contains(&sentence),
            "{missing:?}"
        );
    }

    #[test]
    fn of_jobs_that_ended_the_last_one_is_the_run() {
        let dir = spool(&[
            (1, None, &[0], 2),
            (1, Some(1), &[1], 2),
            (2, None, &[0, 1], 2),
        ]);
        let last = dir.path().join(SPOOL).join(spooled_name(2, None));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        let file = std::fs::File::options().append(true).open(last);
        file.and_then(|f| f.set_modified(later)).expect("a time");
        let (_, missing, left) = taken(dir.path());
        assert_eq!(left, [spooled_name(1, None), spooled_name(1, Some(1))]);
        assert!(missing[0].contains(&left[0]), "{missing:?}");
    }

    #[test]
    fn the_trace_of_another_job_is_not_taken_for_that_of_the_run() {
        let dir = spool(&[(1, Some(0), &[0], 2)]);
        let last = dir.path().join(SPOOL).join(spooled_name(2, None));
        std::fs::write(last, "HWTR").expect("writes");
        let taken = take(&dir.path().join(SPOOL), dir.path()).expect("takes");
        assert!(taken.some_remain && read_trace(dir.path()).is_err());
        assert_eq!(taken.missing.len(), 2, "{:?}", taken.missing);
    }

    #[test]
    fn processes_that_know_no_others_are_one_run() {
        let dir = spool(&[(1, Some(0), &[0], 2), (3, Some(1), &[1], 2)]);
        assert_eq!(taken(dir.path()), (vec![0, 1], vec![], vec![]));
    }

    #[test]
    fn two_jobs_that_were_killed_are_not_one_run_although_each_left_one_rank() {
        for (one, other) in [(2, 4), (2, 5)] {
            let dir = spool(&[(one, Some(0), &[0], 2), (other, Some(1), &[1], 2)]);
            let (ranks, missing, left) = taken(dir.path());
            assert_eq!((ranks.len(), left.len()), (1, 1));
            assert!(missing[0].contains("Another program"), "{missing:?}");
        }
    }
}
