//! Source lines from the file system.

use std::time::SystemTime;

/// When a file was last changed.
fn changed(path: &str) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// Lines `first..=last` of a source file as it is now, as far as there are any, and whether it was changed after
/// `module`, the executable or library, was built; `None` if the file is not there.
pub fn source_lines(
    module: &str,
    file: &str,
    first: u32,
    last: u32,
) -> Option<(Vec<String>, bool)> {
    let text = std::fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    let skip = first.saturating_sub(1) as usize;
    let take = (last.saturating_sub(first) + 1) as usize;
    let lines = text.lines().skip(skip).take(take);
    let newer = changed(file).zip(changed(module));
    let newer = newer.is_some_and(|(file, module)| file > module);
    Some((lines.map(str::to_string).collect(), newer))
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
        let two = vec!["two".to_string()];
        let lines = |module: &str| source_lines(module, &source, 2, 2);
        assert_eq!(lines(&library), Some((two.clone(), true)));
        assert_eq!(lines(&program), Some((two.clone(), false)));
        let unknown = lines("gone");
        assert_eq!(
            unknown,
            Some((two, false)),
            "what cannot be compared is not accused"
        );
        assert_eq!(source_lines(&program, "gone", 1, 1), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
