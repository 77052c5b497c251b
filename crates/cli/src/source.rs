//! Source lines from the file system.

use headwater_report::{Excerpt, SourceLines};
use std::time::SystemTime;

/// Source files as they are now, compared with when the program was built.
pub struct Files {
    /// When the program was last changed.
    pub built: Option<SystemTime>,
}

impl SourceLines for Files {
    fn lines(&self, file: &str, first: u32, last: u32) -> Excerpt {
        let Ok(text) = std::fs::read(file) else {
            return Excerpt::Gone;
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        let skip = first.saturating_sub(1) as usize;
        let take = (last.saturating_sub(first) + 1) as usize;
        let lines = text
            .lines()
            .skip(skip)
            .take(take)
            .map(str::to_string)
            .collect();
        let changed = std::fs::metadata(file).and_then(|m| m.modified()).ok();
        Excerpt::Lines {
            lines,
            newer: changed.zip(self.built).is_some_and(|(c, b)| c > b),
        }
    }
}
