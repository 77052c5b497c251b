//! Source lines from the file system, for reports.

use headwater_load::source_lines;
use headwater_report::{Excerpt, SourceLines};

/// Source files as they are now, compared with when the executable or library was built.
pub struct Files;

impl SourceLines for Files {
    fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt {
        match source_lines(module, file, first, last) {
            Some((lines, newer)) => Excerpt::Lines { lines, newer },
            None => Excerpt::Gone,
        }
    }
}
