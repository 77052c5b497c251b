//! The page of a diagnosis as a file.

use super::export::{folder, new_file};
use super::{Failure, Outcome};
use crate::args::Analysis;
use crate::exit;
use crate::output::{Place, place};
use crate::source::Files;
use headwater_diagnosis::Diagnosed;
use headwater_viewer::{Amounts, Subject, document};
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
    pub fn write(&self, diagnosed: Diagnosed, source: &Files) -> Outcome {
        let mut subject = Subject::new(diagnosed, Amounts::USUAL);
        let html = document::file(&mut subject, source, document::MOST);
        let file = new_file(folder(&self.0)).map_err(|e| self.failed(&e))?;
        let written = file.as_file().write_all(html.as_bytes());
        written.map_err(|e| self.failed(&e))?;
        file.persist_noclobber(&self.0)
            .map_err(|e| self.failed(&e.error))?;
        Ok(exit::DONE)
    }
}
