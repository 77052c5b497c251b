//! The page of a diagnosis as a file.

use super::export::{folder, new_file};
use super::{Failure, Outcome, diagnose};
use crate::args::Analysis;
use crate::exit;
use crate::output::{Place, place};
use crate::progress::Progress;
use crate::source::Files;
use headwater_dataflow::Recorded;
use headwater_dataflow::run::same_program;
use headwater_diagnosis::Diagnosed;
use headwater_model::run::Run;
use headwater_viewer::{Amounts, Besides, Subject, document};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file for the page. It gets its name when the page is whole.
#[derive(Debug)]
pub struct Target(PathBuf);

impl Target {
    /// The file that is wanted, if there is one.
    ///
    /// # Errors
    /// If it, or the file for SARIF, cannot be written; this is said before anything long begins.
    pub fn of(analysis: &Analysis) -> Result<Option<Self>, Failure> {
        if let Some(path) = analysis.sarif.as_deref().filter(|p| p.as_os_str() != "-") {
            place(path, "--sarif")?;
        }
        let path = analysis.html.as_deref();
        path.map(Self::new).transpose()
    }

    fn new(path: &Path) -> Result<Self, Failure> {
        match place(path, "--html")? {
            Place::New => Self(path.into()).checked(),
            Place::Stream => {
                let shown = path.display();
                Err(format!("cannot write {shown}: it is no regular file").into())
            }
        }
    }

    /// Whether a file can be made beside it.
    fn checked(self) -> Result<Self, Failure> {
        new_file(folder(&self.0)).map_err(|e| self.failed(&e))?;
        Ok(self)
    }

    fn failed(&self, e: &dyn std::fmt::Display) -> Failure {
        format!("cannot write {}: {e}", self.0.display()).into()
    }

    /// Writes the page of a diagnosis beside it, and renames that.
    pub fn write(&self, diagnosed: Diagnosed, besides: Besides, source: &Files) -> Outcome {
        let mut subject = Subject::new(diagnosed, besides, Amounts::USUAL);
        let html = document::file(&mut subject, source, document::MOST);
        let file = new_file(folder(&self.0)).map_err(|e| self.failed(&e))?;
        let written = file.as_file().write_all(html.as_bytes());
        written.map_err(|e| self.failed(&e))?;
        file.persist_noclobber(&self.0)
            .map_err(|e| self.failed(&e.error))?;
        Ok(exit::DONE)
    }
}

/// The whole-run traces of runs in some directories, and the runs in `against`, which are of other builds of the first
/// run's program.
pub fn besides(
    (dirs, first): (&[PathBuf], Option<&Run>),
    against: &[PathBuf],
    max_loop_depth: usize,
    progress: Progress,
) -> Result<Besides, String> {
    let (traces, unread) = headwater_load::traces(dirs);
    for why in unread {
        progress.say(&format!("note: a whole run is not in the page: {why}"));
    }
    if against.is_empty() {
        return Ok(Besides {
            traces,
            ..Besides::default()
        });
    }
    let others = diagnose::open(against, progress)?;
    let mut joined = Vec::new();
    // Each by itself: their builds may differ.
    for run in others {
        if let Some(first) = first {
            same_program(&first.header, &run.header).map_err(|e| e.to_string())?;
        }
        let run = vec![run];
        let structures = diagnose::structures(&run, max_loop_depth, progress);
        let run = Recorded::join_computing(run, structures).map_err(|e| e.to_string())?;
        joined.extend(run);
    }
    Ok(Besides {
        traces,
        against: joined,
    })
}
