//! Files of ScalAna: a directory with one for each scale, which is there whole or not at all.

use super::whole::Directory;
use crate::args::ExportArgs;
use crate::commands::{Outcome, diagnose};
use crate::exit;
use crate::progress::Progress;
use headwater_export::{ExportError, Recorded, Wanted, scalana};
use headwater_load::Meant;
use std::collections::BTreeSet;

/// Exports runs as ScalAna's files.
pub fn command(args: &ExportArgs, wanted: &Wanted, quiet: bool) -> Outcome {
    scalana::check(wanted).map_err(|e| e.to_string())?;
    let target = Directory::of(scalana::NAME, &args.output)?;
    let progress = Progress::new(quiet, false);
    let runs = diagnose::open_those(Meant::by(&args.runs), progress)?;
    let structures = diagnose::structures(&runs, args.max_loop_depth, progress);
    let stage = progress.stage("writing", 0);
    let recorded = Recorded::join(runs, structures).map_err(|e| e.to_string())?;
    let mut made: BTreeSet<String> = BTreeSet::new();
    let written = scalana::write(&recorded, wanted, &mut |path, bytes| {
        // A directory comes before the files in it.
        for (at, _) in path.match_indices('/') {
            let dir = path.get(..at).unwrap_or_default();
            if made.insert(dir.to_string()) {
                target.make(dir)?;
            }
        }
        Ok(target.append(path, bytes)?)
    });
    written.map_err(|e| match e {
        ExportError::Write(e) => format!("cannot write {}: {e}", args.output.display()),
        e => e.to_string(),
    })?;
    target.keep()?;
    drop(stage);
    let scales = made.iter().filter(|d| !d.contains('/'));
    let scales: Vec<&str> = scales.map(String::as_str).collect();
    let shown = args.output.display();
    progress.say(&format!("wrote {shown}: scales {}", scales.join(", ")));
    Ok(exit::DONE)
}
