//! `run`: record at several scales, then diagnose.

use super::record::{Recorded, Unnamed};
use super::{Failure, Outcome, diagnose, page, record};
use crate::args::RunArgs;
use crate::exit;
use crate::output::{eprint_line, print, quoted};
use crate::progress::Progress;
use headwater_dataflow::run::threads;
use headwater_launch::{
    Between, Ended, LaunchError, Plan, ProgramKind, brings_launcher, command_for, kind_of,
    program_in_path, recognise, with_place_for_ranks,
};
use headwater_model::run::Run;
use headwater_model::words;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{IsTerminal, Stdin};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// `headwater run`.
pub fn run(args: &RunArgs, quiet: bool) -> Outcome {
    let sorted = |all: &[u32]| {
        let mut all = all.to_vec();
        all.sort_unstable();
        all.dedup();
        all
    };
    let wanted = grid(&sorted(&args.ranks), &sorted(&args.threads));
    let mut plans = Vec::new();
    let mut lines = String::new();
    // All scales, then all again: what changes on the machine in the meantime meets every scale.
    for repetition in 1..=args.repeat {
        for scale in &wanted {
            let (command, environment) = plan(&args.program, *scale)?;
            lines += &record::planned(&command, &environment, &args.recording)?;
            plans.push((command, environment, *scale, repetition));
        }
    }
    if args.recording.dry_run {
        return print(&lines);
    }
    let below = args.output.as_deref().unwrap_or(Path::new("."));
    let (mut runs, mut dirs) = (Vec::new(), Vec::new());
    let done = Done::of(plans.len(), below);
    let mut between = done.named_at_a_signal();
    let input = Input::new(plans.len())?;
    let progress = Progress::new(quiet, args.analysis.is_for_programs());
    let page = page::Target::of(&args.analysis)?;
    for (i, (command, environment, scale, repetition)) in plans.iter().enumerate() {
        progress.say(&format!(
            "recording on {} ({} of {}): {}",
            scale.words(),
            i + 1,
            plans.len(),
            command.join(" ")
        ));
        input.begin_anew();
        let unnamed = Unnamed {
            below: Some(below),
            repetition: (args.repeat > 1).then_some(*repetition),
            threads: scale.threads,
        };
        let recorded = record::record(
            command,
            environment,
            None,
            unnamed,
            &args.recording,
            progress,
            Some(&mut between),
        );
        let recorded = recorded.and_then(|recorded| {
            let checked = check(&recorded, *scale);
            if checked.is_ok() {
                done.add(&recorded.dir);
            }
            progress.say(&record::summary(&recorded));
            checked.map(|()| recorded)
        });
        let recorded = recorded.map_err(|failure| done.last_words(failure))?;
        runs.push(recorded.run);
        dirs.push(recorded.dir);
        follows(&runs, &args.program).map_err(|what| done.last_words(what.into()))?;
    }
    if let Some(note) = other_threads(&runs) {
        eprint_line(&note);
    }
    let page = page.map(|target| (target, &dirs[..]));
    diagnose::report(runs, &args.analysis, page, progress)
}

/// A scale that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    /// Ranks; `None` for a program that is started without a launcher.
    ranks: Option<u32>,
    /// Threads of each rank, if they are asked for.
    threads: Option<u32>,
}

impl Wanted {
    /// The scale in words.
    fn words(self) -> String {
        words::scale(self.ranks.unwrap_or(1), self.threads)
    }
}

/// All pairs of numbers of ranks and of threads, small ones first.
fn grid(ranks: &[u32], threads: &[u32]) -> Vec<Wanted> {
    let or_none = |all: &[u32]| match all {
        [] => vec![None],
        all => all.iter().copied().map(Some).collect(),
    };
    let threads = or_none(threads);
    let pairs = or_none(ranks).into_iter().flat_map(|ranks| {
        let of_ranks = threads.iter().map(move |threads| Wanted {
            ranks,
            threads: *threads,
        });
        of_ranks.collect::<Vec<_>>()
    });
    pairs.collect()
}

/// Threads that each run was asked for and those it ran with, of the runs that were asked for some.
fn asked_and_seen(runs: &[Run]) -> Vec<(u32, u32)> {
    let of = |run: &Run| Some((run.header.threads_asked?, threads::seen(run)));
    runs.iter().filter_map(of).collect()
}

/// How many threads share the computation of a run: all of it over that of the busiest thread. So it does not matter how long
/// they sleep or wait for cores.
fn at_work(run: &Run) -> f64 {
    let each = run.threads.iter().map(|t| t.cpu_ns);
    let most = each.clone().max().unwrap_or(0).max(1);
    each.sum::<u64>() as f64 / most as f64
}

/// Whether more threads compute the more are asked for, although as many exist: some programs make threads that then have
/// nothing to do. Runs on as many ranks as the first one are compared.
fn more_work(runs: &[Run]) -> bool {
    const MORE: f64 = 1.2;
    let ranks = runs.first().map(|run| run.header.ranks);
    let asked = runs.iter().filter(|run| Some(run.header.ranks) == ranks);
    let asked = asked.filter_map(|run| Some((run.header.threads_asked?, at_work(run))));
    let least = asked.clone().min_by_key(|run| run.0);
    let most = asked.max_by_key(|run| run.0);
    let ends = least.zip(most);
    ends.is_some_and(|(least, most)| least.0 < most.0 && most.1 > MORE * least.1)
}

/// Checks that the program follows the number of threads that it is asked for, as far as the runs until now show it.
///
/// # Errors
/// It ran with as many threads whatever it was asked for, or with more than are recorded.
fn follows(runs: &[Run], program: &[String]) -> Result<(), String> {
    let name = program.first().map_or("the program", String::as_str);
    if let Some(run) = runs.last()
        && !run.header.threads_lost.is_empty()
        && let Some(asked) = run.header.threads_asked
    {
        return Err(format!(
            "{name} ran with more threads than are recorded, at {}, so nothing can be said of that scale; give fewer threads to each process",
            words::scale(run.header.ranks, Some(asked)),
        ));
    }
    // A first thread that computes, but much less than those that it made, is in the second number alone.
    let of = |run: &Run| {
        let working = threads::concurrent(run).into_iter().max();
        Some((run.header.threads_asked?, (threads::seen(run), working)))
    };
    let all: Vec<_> = runs.iter().filter_map(of).collect();
    let Some((asked, seen)) = all.first() else {
        return Ok(());
    };
    if all.iter().all(|(a, _)| a == asked) || all.iter().any(|(_, s)| s != seen) || more_work(runs)
    {
        return Ok(());
    }
    let ran = words::scale(1, Some(seen.0));
    Err(if program.iter().any(|w| w.contains("{threads}")) {
        format!(
            "{name} ran with {ran} whatever it was asked for, by OMP_NUM_THREADS and on its command line; check that the number reaches it, and that it makes threads: of processes that it starts, nothing is recorded"
        )
    } else {
        format!(
            "{name} ran with {ran} whatever it was asked for, so it does not follow OMP_NUM_THREADS; if it takes the number as an argument, write {{threads}} in its place: headwater run --threads 1,2,4 -- {} {{threads}}",
            program.first().map_or("./app", String::as_str),
        )
    })
}

/// The sentence about scales at which the program ran with another number of threads than it was asked for.
fn other_threads(runs: &[Run]) -> Option<String> {
    let mut others = asked_and_seen(runs);
    others.retain(|(asked, seen)| asked != seen);
    let (asked, seen) = others.iter().max()?;
    let more = match others.len() {
        1 => "",
        _ => ", and with another number than asked for at other scales as well",
    };
    Some(format!(
        "the program was asked for {} and ran with {seen}{more}; scales are compared by what was asked for: check what limits or adds threads (OMP_DYNAMIC, OMP_THREAD_LIMIT, threads of a library)",
        words::scale(1, Some(*asked)),
    ))
}

/// Checks that the program ran to its end on so many ranks, and that all of it was recorded.
fn check(recorded: &Recorded, scale: Wanted) -> Result<(), Failure> {
    let Ended { code, asked_to_end } = recorded.ended;
    let (wanted, got) = (scale.words(), recorded.run.header.ranks);
    let dir = recorded.dir.display();
    let message = if let Some(signal) = asked_to_end {
        format!(
            "signal {signal} ended the recording on {wanted}, and nothing more is recorded; the data recorded until then are in {dir}"
        )
    } else if code != 0 {
        format!(
            "the program failed on {wanted}, and nothing more is recorded; the data recorded until then are in {dir}"
        )
    } else if scale.ranks.is_some_and(|ranks| got != ranks) {
        format!(
            "asked for {wanted} and got {got}, in {dir}; check that the launcher is given the number of ranks ({{np}}), and that it belongs to the program's MPI library"
        )
    } else if let Some(why) = record::not_all(recorded, None) {
        why
    } else {
        return Ok(());
    };
    Err(Failure {
        code: if code == 0 { exit::BAD_USE } else { code },
        message,
        asked_to_end,
    })
}

/// The runs that are finished, which the last words of this command name.
#[derive(Clone)]
struct Done {
    /// As they are typed in a shell.
    runs: Arc<Mutex<Vec<String>>>,
    /// How many are planned.
    planned: usize,
    /// Where a run is until it is finished.
    unfinished: PathBuf,
}

impl Done {
    /// None yet of the `planned` runs, which go `below` a directory.
    fn of(planned: usize, below: &Path) -> Self {
        Self {
            runs: Arc::default(),
            planned,
            unfinished: below.join(record::temporary_name()),
        }
    }

    /// One more is finished.
    fn add(&self, dir: &Path) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push(quoted(&dir.display().to_string()));
    }

    /// Ends this process at a signal that comes while no program runs, and says what is recorded.
    fn named_at_a_signal(&self) -> Between {
        let done = self.clone();
        Between::new(move |signal| {
            let mut message = format!("signal {signal} ended headwater run");
            if done.unfinished.exists() {
                message += &format!(
                    ", which was reading the last recording; that one is in {0}; to finish it, type: headwater diagnose {0}",
                    quoted(&done.unfinished.display().to_string())
                );
            }
            let failure = done.last_words(Failure {
                code: exit::BAD_USE,
                message,
                asked_to_end: u8::try_from(signal).ok(),
            });
            eprint_line(&failure.message);
            std::process::exit(i32::from(failure.code));
        })
    }

    /// The error that ends the whole command, after one of the runs was not recorded as it should be. It names the
    /// runs that are finished. A signal gives the exit code, as in a shell.
    fn last_words(&self, failure: Failure) -> Failure {
        let signal = failure.asked_to_end;
        let mut message = failure.message;
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if !runs.is_empty() {
            message += &format!(
                "; runs recorded before it: {} of {}; to diagnose them, type: headwater diagnose {}",
                runs.len(),
                self.planned,
                runs.join(" ")
            );
        }
        Failure {
            code: signal.map_or(failure.code, |signal| 128 + signal),
            message,
            asked_to_end: signal,
        }
    }
}

/// The command for one scale, `{np}` filled in everywhere: the user's own where it brings its launcher,
/// otherwise with that of the program's MPI library.
fn plan(program: &[String], scale: Wanted) -> Result<Plan, String> {
    let (command, mut environment) = launching(program, scale)?;
    let threads = scale.threads.map(|n| ("OMP_NUM_THREADS", n.to_string()));
    environment.extend(threads);
    Ok((command, environment))
}

/// The command, and the environment of its launcher.
fn launching(program: &[String], scale: Wanted) -> Result<Plan, String> {
    let threads = scale.threads.unwrap_or(1).to_string();
    let has_placeholder = program.iter().any(|w| w.contains("{np}"));
    let with_threads = |w: &String| match scale.threads {
        Some(_) => w.replace("{threads}", &threads),
        None => w.clone(),
    };
    let Some(ranks) = scale.ranks else {
        let filled: Vec<String> = program.iter().map(with_threads).collect();
        let first = filled.first().map_or("", String::as_str);
        if recognise(first).is_some() || has_placeholder {
            let line = with_place_for_ranks(program).unwrap_or_else(|| program.to_vec());
            return Err(format!(
                "--threads alone is for a program without a launcher; say on how many ranks, too, and write {{np}} in its place: headwater run -n 2 --threads {threads},… -- {}",
                line.join(" ")
            ));
        }
        let kind = program_in_path(first).map(|path| kind_of(&path));
        return match kind {
            Some(ProgramKind::Mpi) => Err(format!(
                "{first} uses MPI or is started by a launcher: say on how many ranks, too: headwater run -n 2 --threads {threads},… -- {}",
                program.join(" ")
            )),
            _ => Ok((filled, Vec::new())),
        };
    };
    let fill = |w: &String| with_threads(w).replace("{np}", &ranks.to_string());
    let filled: Vec<String> = program.iter().map(fill).collect();
    if has_placeholder && brings_launcher(&filled) {
        return Ok((filled, Vec::new()));
    }
    if program
        .first()
        .is_some_and(|first| recognise(first).is_some())
    {
        let line = with_place_for_ranks(program).map(|words| words.join(" "));
        let line = line.unwrap_or_else(|| "mpirun -n {np} ./app".to_string());
        return Err(format!(
            "each scale has another number of ranks; write {{np}} in its place: headwater run -n {ranks},… -- {line}"
        ));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    command_for(&filled, ranks, scale.threads, cores).map_err(|e| match e {
        // As an interpreter, whose script opens it.
        LaunchError::NoMpi(name) => format!(
            "{name} does not use MPI by itself: it is not linked to an MPI library; to record its threads, leave out -n: headwater run --threads 1,2,4 -- {name}; if it loads one while it runs, as Python does, name the launcher: headwater run -n {ranks},… -- mpirun -n {{np}} {}",
            program.join(" ")
        ),
        e => e.to_string(),
    })
}

/// What to do about standard input that cannot be read twice.
const GIVE_A_FILE: &str =
    "give a file, which each run reads from its start: headwater run … < file";

/// Standard input, which each scale is to find as the first one does.
enum Input {
    /// A file, and where it begins.
    File(u64),
    /// Nothing that could be read twice.
    Other,
}

impl Input {
    /// For so many runs.
    ///
    /// # Errors
    /// Something waits to be read that only one of them could have.
    fn new(runs: usize) -> Result<Self, String> {
        let stdin = std::io::stdin();
        if let Ok(begin) = rustix::fs::tell(&stdin) {
            return Ok(Self::File(begin));
        }
        if runs > 1 && !stdin.is_terminal() {
            match pipe(&stdin) {
                Pipe::Full => {
                    return Err(format!(
                        "standard input is a pipe, and only one of the runs could read it; {GIVE_A_FILE}"
                    ));
                }
                // Batch systems give such a pipe to programs that do not read it.
                Pipe::Open => eprint_line(&format!(
                    "standard input is an open pipe, and only the first of the runs can read what comes through it; if the program reads it, {GIVE_A_FILE}"
                )),
                Pipe::Ended => {}
            }
        }
        Ok(Self::Other)
    }

    /// The next run begins.
    fn begin_anew(&self) {
        if let Self::File(begin) = self {
            // A device, which has no begin, is as it was.
            let _ = rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Start(*begin));
        }
    }
}

/// What can be read from a pipe or socket.
enum Pipe {
    /// Bytes wait.
    Full,
    /// None yet, but somebody can still write some.
    Open,
    /// None, and there will be none.
    Ended,
}

/// What can be read from standard input, which is a pipe or socket; does not wait for it.
fn pipe(stdin: &Stdin) -> Pipe {
    let mut asked = [PollFd::new(stdin, PollFlags::IN)];
    // In this order: bytes that come in between are seen.
    let ready = poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
    let waiting = rustix::io::ioctl_fionread(stdin).unwrap_or(0);
    match (ready, waiting) {
        // Ready without bytes is the end.
        (true, 0) => Pipe::Ended,
        (false, 0) => Pipe::Open,
        _ => Pipe::Full,
    }
}
