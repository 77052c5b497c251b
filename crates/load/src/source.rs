//! Source lines from the file system.
//!
//! Debug information comes with a program or a run, and can name any file: one that only the reader of the report may
//! read, a device, a pipe. So what is shown lies near the program, in the current directory, with the system's headers, or
//! where the user says, and is a regular file of a source file's length.

use headwater_model::excerpt::Excerpt;
use headwater_structure::is_python;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Bytes of a source file at the most.
const LONGEST: u64 = 1 << 24;

/// Where headers and sources of installed libraries are.
const INSTALLED: &str = "/usr";

/// Where no sources are, but what a system keeps for itself.
const PRIVATE: [&str; 6] = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];

/// Names in a path that a directory and a program must have in common for it to be theirs: all homes have one.
const COMMON: usize = 2;

/// Which source files may be shown.
#[derive(Clone, Debug, Default)]
pub enum Sources {
    /// Those near the program, below the current directory, or installed.
    #[default]
    Usual,
    /// Those below these directories.
    Below(Vec<PathBuf>),
    /// None.
    Nowhere,
}

/// When a file was last changed.
fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// Whether a file lies below a directory, and in none that is hidden there.
fn is_below(file: &Path, root: &Path) -> bool {
    let hidden = |c: Component<'_>| c.as_os_str().as_encoded_bytes().starts_with(b".");
    let inside = file.strip_prefix(root);
    inside.is_ok_and(|inside| !inside.components().any(hidden))
}

/// The innermost directory that holds both.
fn around(a: &Path, b: &Path) -> PathBuf {
    let both = a.components().zip(b.components());
    both.take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}

impl Sources {
    /// Lines `first..=last` of a source file as it is now, as far as there are any, and whether it was changed after
    /// `module`, the executable or library, was built.
    pub fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt {
        if matches!(self, Self::Nowhere) {
            return Excerpt::Unwanted;
        }
        let Ok(path) = Path::new(file).canonicalize() else {
            return Excerpt::Gone;
        };
        if !self.allow(Path::new(module), &path) {
            return Excerpt::Withheld;
        }
        let Ok(bytes) = headwater_files::read(&path, LONGEST) else {
            return Excerpt::Gone;
        };
        let text = String::from_utf8_lossy(&bytes);
        let skip = first.saturating_sub(1) as usize;
        let take = last.saturating_sub(first) as usize + 1;
        let lines = text.lines().skip(skip).take(take);
        let newer = changed(&path).zip(changed(Path::new(module)));
        Excerpt::Lines {
            lines: lines.map(str::to_string).collect(),
            newer: newer.is_some_and(|(file, module)| file > module),
        }
    }

    /// Whether a file, by its path without links, may be shown.
    fn allow(&self, module: &Path, file: &Path) -> bool {
        if let Self::Below(roots) = self {
            let mut roots = roots.iter().filter_map(|r| r.canonicalize().ok());
            return roots.any(|r| is_below(file, &r));
        }
        let own = module.canonicalize().ok().and_then(|m| match m == file {
            // A file of Python is a module itself.
            true => Some(file.parent().filter(|_| is_python(file))?.to_path_buf()),
            false => Some(around(&m, file)),
        });
        let own = own.filter(|r| r.components().skip(1).count() >= COMMON);
        let here = std::env::current_dir().and_then(|d| d.canonicalize());
        let here = here.ok().filter(|d| d.parent().is_some());
        let roots = [own, here, Some(PathBuf::from(INSTALLED))];
        !PRIVATE.iter().any(|p| file.starts_with(p))
            && roots.iter().flatten().any(|r| is_below(file, r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn source_is_compared_with_the_module_that_holds_the_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = |name: &str, age: u64| {
            let path = dir.path().join(name);
            std::fs::write(&path, "one\ntwo\n").unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(start + Duration::from_secs(age)).unwrap();
            path.display().to_string()
        };
        let (program, library, source) = (file("app", 30), file("lib.so", 10), file("lib.c", 20));
        let below = Sources::Below(vec![dir.path().to_path_buf()]);
        let lines = |module: &str| below.lines(module, &source, 2, 2);
        let two = |newer| Excerpt::Lines {
            lines: vec!["two".to_string()],
            newer,
        };
        assert_eq!(lines(&library), two(true));
        assert_eq!(lines(&program), two(false));
        // What cannot be compared is not accused.
        assert_eq!(lines("gone"), two(false));
        assert_eq!(below.lines(&program, "gone", 1, 1), Excerpt::Gone);
        assert_eq!(
            Sources::Nowhere.lines(&program, &source, 1, 1),
            Excerpt::Unwanted
        );
    }

    #[test]
    fn only_what_lies_with_the_program_is_shown() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let base = dir.path().canonicalize().expect("a path");
        let put = |name: &str| {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "line\n").unwrap();
            path.display().to_string()
        };
        let program = put("code/build/app");
        let shown = |file: &str| {
            let found = Sources::Usual.lines(&program, file, 1, 1);
            matches!(found, Excerpt::Lines { .. })
        };
        assert!(shown(&put("code/src/a.c")));
        assert!(!shown(&put("code/.ssh/id")));
        let link = base.join("code/src/link.c");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        for file in ["/etc/passwd", "/proc/self/environ", "/dev/zero"] {
            assert_eq!(
                Sources::Usual.lines(&program, file, 1, 1),
                Excerpt::Withheld,
                "{file}"
            );
        }
        assert!(!shown(&link.display().to_string()));
        // Even where the program says that it lies there.
        let found = Sources::Usual.lines("/etc/app", "/etc/passwd", 1, 1);
        assert_eq!(found, Excerpt::Withheld);
        // What the user names is shown, and nothing else is.
        let below = Sources::Below(vec![base.join("code/src")]);
        let lines = |file: &str| below.lines(&program, file, 1, 1);
        assert!(matches!(lines(&put("code/src/a.c")), Excerpt::Lines { .. }));
        assert_eq!(lines(&put("code/other/b.c")), Excerpt::Withheld);
    }

    #[test]
    fn what_is_no_file_of_lines_is_not_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let below = Sources::Below(vec![dir.path().to_path_buf(), "/dev".into()]);
        let pipe = dir.path().join("pipe.c");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        let long = dir.path().join("long.c");
        let file = std::fs::File::create(&long).expect("a file");
        file.set_len(LONGEST + 1).expect("a hole");
        for path in [pipe.as_path(), long.as_path(), Path::new("/dev/zero")] {
            let found = below.lines("app", &path.display().to_string(), 1, 1);
            assert_eq!(found, Excerpt::Gone, "{}", path.display());
        }
    }
}
