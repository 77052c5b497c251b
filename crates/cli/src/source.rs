//! Source lines from the file system, for reports.

use crate::args::Analysis;
use headwater_load::Sources;
use headwater_report::{Excerpt, SourceLines};

/// Source files as they are now, as far as they may be shown.
pub struct Files(Sources);

impl Files {
    /// Those that the command line allows.
    pub fn allowed(analysis: &Analysis) -> Self {
        Self(match (analysis.no_source, analysis.source.as_slice()) {
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
