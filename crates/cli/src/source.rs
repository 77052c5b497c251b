//! Source lines from the file system.

use headwater_report::{Excerpt, SourceLines};
use std::time::SystemTime;

/// Source files as they are now, compared with when the executable or library was built.
pub struct Files;

/// When a file was last changed.
fn changed(path: &str) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}

impl SourceLines for Files {
    fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt {
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
        Excerpt::Lines {
            lines,
            newer: changed(file)
                .zip(changed(module))
                .is_some_and(|(c, b)| c > b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn source_is_compared_with_the_module_that_holds_the_line() {
        let dir = std::env::temp_dir().join(format!("headwater-source-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = |name: &str, age: u64| {
            let path = dir.join(name);
            std::fs::write(&path, "one\ntwo\n").unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(start + Duration::from_secs(age)).unwrap();
            path.display().to_string()
        };
        let (program, library, source) = (file("app", 30), file("lib.so", 10), file("lib.c", 20));
        let newer = |module: &str| match Files.lines(module, &source, 2, 2) {
            Excerpt::Lines { newer, lines } => (newer, lines),
            Excerpt::Gone => panic!("the file is there"),
        };
        assert_eq!(newer(&library), (true, vec!["two".to_string()]));
        assert!(!newer(&program).0);
        assert!(!newer("gone").0, "what cannot be compared is not accused");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
