//! `stop`: ends the recording of a program that goes on.

use super::Outcome;
use crate::exit;
use crate::output::quoted;
use crate::progress::Progress;
use headwater_format::spool::Recorder;
use headwater_format::{FormatError, is_finished, is_run, recorders_of};
use headwater_model::RankSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two looks whether the processes have done as asked, and how often they are looked at: a process that computes
/// takes a sample several times a second.
const BETWEEN: Duration = Duration::from_millis(50);
const LOOKS: u32 = 40;

/// Characters in which ranks are named.
const WHO: usize = 40;

/// `headwater stop`.
pub fn command(named: &[PathBuf], quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, false);
    for dir in named {
        let runs = match is_run(dir) {
            true => vec![dir.clone()],
            false => being_recorded(dir),
        };
        if runs.is_empty() {
            return Err(nothing_to_stop(dir).into());
        }
        for run in runs {
            progress.say(&stop(&run)?);
        }
    }
    Ok(exit::DONE)
}

/// The unfinished runs in a directory.
fn being_recorded(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut runs: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    // One that is no live run of this user's is no reason to leave the others running. A link may be somebody else's.
    let is_live = |run: &PathBuf| recorders_of(run).is_ok_and(|all| !all.is_empty());
    runs.retain(|run| !run.is_symlink() && is_run(run) && !is_finished(run) && is_live(run));
    runs.sort();
    runs
}

/// Ends the recording of one run, and says what came of it.
fn stop(run: &Path) -> Result<String, String> {
    let recorders = || recorders_of(run).map_err(|e: FormatError| e.to_string());
    let asked = recorders()?;
    if asked.is_empty() {
        return Err(nothing_to_stop(run));
    }
    for recorder in &asked {
        recorder.ask_to_stop().map_err(|e| e.to_string())?;
    }
    let mut now = recorders()?;
    for _ in 0..LOOKS {
        if now.iter().all(|r| r.has_stopped) {
            break;
        }
        std::thread::sleep(BETWEEN);
        now = recorders()?;
    }
    let goes_on = match now.is_empty() {
        true => "and the program has ended, too",
        false => "and the program goes on",
    };
    let left: Vec<Recorder> = now.into_iter().filter(|r| !r.has_stopped).collect();
    let shown = run.display().to_string();
    let then = format!(
        "to see what is there, type: headwater diagnose {}",
        quoted(&shown)
    );
    if left.is_empty() {
        return Ok(format!(
            "{shown}: recording has ended ({}), {goes_on}; {then}",
            match asked.len() {
                1 => "1 process".to_string(),
                n => format!("{n} processes"),
            }
        ));
    }
    let ranks: RankSet = left.iter().map(|r| r.rank).collect();
    let who = left
        .first()
        .map_or_else(String::new, |r| r.subject.who(&ranks, r.size, WHO));
    Ok(match left.iter().find(|r| !r.is_here) {
        Some(far) => format!(
            "{shown}: {who} did not answer yet; if the file system does not pass the request on to node {}, type this command there",
            far.host
        ),
        None => format!(
            "{shown}: {who} did not answer yet, probably because it sleeps; recording ends when it computes again, and nothing is recorded until then; {then}"
        ),
    })
}

fn nothing_to_stop(dir: &Path) -> String {
    format!(
        "nothing is being recorded in {}: its program has ended, or has not begun; give the directory of a run that is being recorded",
        dir.display()
    )
}
