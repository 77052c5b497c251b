//! Source lines from the file system, for reports.

use crate::args::Analysis;
use headwater_load::Sources;
use headwater_report::{Excerpt, SourceLines};
use std::path::PathBuf;

/// Source files as they are now, as far as they may be shown.
pub struct Files(Sources);

impl Files {
    /// Those that the command line allows.
    pub fn allowed(analysis: &Analysis) -> Self {
        Self::of(analysis.no_source, &analysis.source)
    }

    /// None, those in some directories, or the usual ones.
    pub fn of(none: bool, below: &[PathBuf]) -> Self {
        Self(match (none, below) {
            (true, _) => Sources::Nowhere,
            (false, []) => Sources::Usual,
            (false, below) => Sources::Below(below.to_vec()),
        })
    }
}

impl SourceLines for Files {
    fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt {
        self.0.lines(module, file, first, last)
    }
}
