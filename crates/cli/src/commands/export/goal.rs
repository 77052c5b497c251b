//! Writes the schedule of a whole-run trace: one file, or standard output.

use super::{Target, finish};
use crate::commands::{Outcome, show};
use crate::exit;
use crate::progress::Progress;
use headwater_export::whole::goal::Goal;
use headwater_virtual_run::Recorded;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Exports the trace of a run.
pub fn command(run: &Path, output: &Path, quiet: bool) -> Outcome {
    // A schedule may be longer than memory, so what goes to standard output goes there at once. It has no words from
    // outside.
    let target = match output.as_os_str() == "-" {
        true => None,
        false => Some(Target::new(output, ("goal", "goal", true))?),
    };
    let progress = Progress::new(quiet, false);
    let trace = show::read(run)?;
    let in_run = |e: &dyn std::fmt::Display| format!("{}: {e}", run.display());
    let recorded = Recorded::of(&trace).map_err(|e| in_run(&e))?;
    let stage = progress.stage("reading ranks", 2 * recorded.size() as usize);
    let all = Goal::new(&recorded, || stage.step());
    drop(stage);
    let mut all = all.map_err(|e| in_run(&e))?;
    let stage = progress.stage("writing ranks", recorded.size() as usize);
    let mut write = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let written = all.write(&mut out, || stage.step());
        finish(written.and_then(|()| Ok(out.flush()?)))
    };
    match target {
        Some(target) => target.write(|out| write(out))?,
        None => write(&mut io::stdout().lock())?,
    };
    drop(stage);
    for note in all.notes() {
        progress.say(&format!("note: {note}"));
    }
    drop(all);
    for (note, count) in recorded.notes().iter() {
        progress.say(&format!("note: {} ({count} times)", note.text()));
    }
    Ok(exit::DONE)
}
